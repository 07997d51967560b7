// Which lane runs a model, and in what numbers: the choice behind --lane, --weights and --cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "tensor/grouped_rows.h"

namespace linnet {

struct LaneChoice {
  // "reference": plain f32 loops, the oracle. "native": packed weights and fused kernels. "auto":
  // native, and reference for a program that cannot be lowered (event compiler.fallback).
  std::string lane = "auto";
  // Of the native lane: f32, bf16 and f16 (f32 arithmetic on the weights as they are, or rounded to
  // those types); i8, n4 and s6 (integer weights and activations, see tensor/quantized_rows.h;
  // under n4 embedding and head are s6). "auto": each matrix as the files store it where that is
  // one of these, or codes in groups as in GGUF files ("grouped": int8 activations with a scale per
  // group); the others f32, up to 4 GiB of the whole model, else i8.
  std::string weights = "auto";
  std::string cache = "f32";  // of the native lane: f32 or i8
};

std::vector<std::string> lane_names();
std::vector<std::string> weight_names();
std::vector<std::string> cache_names();

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

// Sets LoadOptions::make_lane. Error{invalid_argument} for a name that is none of those above. The
// maker then throws Error{unsupported} when "native" was asked for and the program cannot be
// lowered.
void choose_lane(const LaneChoice& choice, LoadOptions& options);

}  // namespace linnet
