// Which lane runs a model, and in what numbers: the choice behind --lane, --weights and --cache.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "tensor/grouped_rows.h"

namespace linnet {

struct LaneChoice {
  // "reference": plain f32 loops, the oracle. "native": packed weights and fused kernels. "auto":
  // native, and what native_fallback says for a program that cannot be lowered.
  std::string lane = "auto";
  // "reference": such a program runs in the reference lane; the event compiler.fallback (count,
  // key, reason) and one warning for each kind of step tell so. "raise": Error{unsupported} with
  // the step and the reason, as under lane "native".
  std::string native_fallback = "reference";
  // For requests that the native lane cannot serve (head masks, hidden states, attentions).
  // "raise": Error{unsupported}. "silent" and "warn" (each kind and its shapes once): see
  // native/fallback_lane.h; the files' weights then stay in memory beside the packed ones, mapped
  // where the files are.
  std::string request_fallback = "raise";
  // Of the native lane: f32, bf16, f16, mxfp8 and nf4 (f32 arithmetic on the weights as they are,
  // or rounded to those numbers; under nf4 embedding and head are bf16); i8, n4 and s6 (integer
  // weights and activations, see tensor/quantized_rows.h; under n4 embedding and head are s6).
  // "auto": each matrix as the files store it where that is one of these, or codes in groups as in
  // GGUF files ("grouped": int8 activations with a scale per group); the others f32, up to 4 GiB of
  // the whole model, else i8.
  std::string weights = "auto";
  // Of the native lane: f32, f16 or i8. "auto": i8 where any matrix is of whole numbers, whose
  // products round activations to int8 as well; else f32.
  std::string cache = "auto";
  // Of the process, for require_memory; 0: none. set_memory_limit makes it hold for every buffer.
  std::uint64_t memory_limit = 0;
};

std::vector<std::string> lane_names();
std::vector<std::string> weight_names();
std::vector<std::string> cache_names();
std::vector<std::string> native_fallback_names();

// How the files store a weight.
struct StoredType {
  DType dtype = DType::f32;
  std::string_view coding = {};               // of a coded one: "n4"
  std::optional<GroupedFormat> grouped = {};  // of a coded one in groups
};

// What the lane of the choice holds in memory, before anything is loaded. `stored`: of each of the
// program's weights, in its order.
struct LaneMemory {
  std::string lane;              // "native" or "reference"
  std::string format;            // of the copies of the weights
  std::uint64_t weights = 0;     // bytes of those copies; 0 for none
  std::int64_t cache_block = 0;  // bytes of a block of a sequence's cache
};
LaneMemory lane_memory(const LaneChoice& choice, const Program& program,
                       const std::vector<StoredType>& stored);
// The same for weights that were found in their files.
LaneMemory lane_memory(const LaneChoice& choice, const Program& program,
                       const std::vector<Tensor>& weights);

// Bytes beside them for a run of as many rows as a prompt is cut into, at the end of `context`
// positions.
std::uint64_t lane_scratch(const LaneChoice& choice, const Program& program, std::int64_t context);

// What the lane of a choice would hold; none when these weights cannot be had so.
using LaneMemoryOf = std::function<std::optional<LaneMemory>(const LaneChoice&)>;

// Error{out_of_memory} with the arithmetic and what would fit, when weights, the cache of one
// sequence of `context` positions, and scratch do not fit the limit of the choice, beside what is
// in use already. A limit of 0 is none.
void require_memory(const LaneChoice& choice, const Program& program, const LaneMemoryOf& memory_of,
                    std::int64_t context);

// Sets LoadOptions::make_lane, and before_weights under a memory limit. Error{invalid_argument} for
// a name that is none of those above. The maker then throws Error{unsupported} when "native" was
// asked for and the program cannot be lowered.
void choose_lane(const LaneChoice& choice, LoadOptions& options);

}  // namespace linnet
