// Damaged files of both formats: cut at every length, every byte and bit of the header changed.
// Each must load or end in Error, never in another exception or a crash (run under the sanitizers).
#include <doctest/doctest.h>

#include <cstring>

#include "formats/fault.h"
#include "formats/gguf_builder.h"
#include "formats/gguf_model.h"
#include "formats/safetensors.h"
#include "formats/temp_folder.h"

namespace linnet {
namespace {

// The bytes are in a block of exactly their size, so that reading past them is seen.
std::shared_ptr<std::vector<std::byte>> exact_copy(std::string_view content) {
  const Bytes bytes = as_bytes(content);
  return std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
}

void use_safetensors(std::string_view content) {
  auto owner = exact_copy(content);
  const Bytes bytes = *owner;
  const auto file = SafetensorsFile::from_bytes(bytes, "test.safetensors", std::move(owner));
  for (const TensorInfo& info : file->tensors()) {
    const Tensor tensor = file->tensor(info.name);
    if (info.dtype == DType::f32 || info.dtype == DType::bf16) tensor.to_floats();
  }
}

void use_gguf(std::string_view content) {
  auto owner = exact_copy(content);
  const Bytes bytes = *owner;
  const auto file = GgufFile::from_bytes(bytes, "test.gguf", std::move(owner));
  gguf_config(*file);
  gguf_generation_config(*file);
  gguf_tokenizer_config(*file);
  gguf_chat_template(*file);
  if (file->find("tokenizer.ggml.tokens") != nullptr) gguf_tokenizer(*file);
  const auto weights = gguf_weights(file);
  for (const TensorInfo& info : weights->tensors()) weights->tensor(info.name);
}

std::string small_safetensors() {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}} )";
  return raw<std::uint64_t>(header.size()) + header + std::string(22, '\1');
}

std::string small_gguf() {
  GgufBuilder builder;
  builder.text("general.architecture", "llama").number("llama.block_count", 1);
  builder.number("llama.context_length", 8).number("llama.embedding_length", 4);
  builder.number("llama.feed_forward_length", 8).number("llama.attention.head_count", 2);
  builder.real("llama.rope.freq_base", 10000).number("general.alignment", 32);
  builder.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "llama-bpe");
  builder.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<end>"})
      .texts("tokenizer.ggml.merges", {"a b"});
  builder.number("tokenizer.ggml.eos_token_id", 3)
      .key("tokenizer.ggml.add_bos_token", 7, std::string(1, '\0'));
  builder.text("tokenizer.chat_template", "{{ x }}");
  builder.tensor("token_embd.weight", {4, 4}, 0, std::string(64, '\0'));
  builder.tensor("blk.0.attn_q.weight", {4, 4}, 0, std::string(64, '\0'));
  builder.tensor("blk.0.ffn_up.weight", {32, 1}, 2, std::string(18, '\0'));
  return builder.build();
}

template <typename Use>
void cut_everywhere(const std::string& content, Use&& use) {
  REQUIRE_FALSE(fault_of([&] { use(content); }));
  for (std::size_t size = 0; size < content.size(); ++size) {
    CAPTURE(size);
    const auto fault = fault_of([&] { use(std::string_view(content).substr(0, size)); });
    REQUIRE(fault);
    CHECK(fault->message.starts_with("test."));
  }
}

// Returns how many of the changed files were refused.
template <typename Use>
int change_everywhere(const std::string& content, std::size_t end, Use&& use) {
  int refused = 0;
  for (std::size_t place = 0; place < end; ++place) {
    for (int change = 0; change < 10; ++change) {
      std::string changed = content;
      const auto byte = static_cast<unsigned char>(content[place]);
      changed[place] = static_cast<char>(change < 8 ? byte ^ (1 << change) : change == 8 ? 0 : 255);
      refused += fault_of([&] { use(changed); }) ? 1 : 0;
    }
  }
  return refused;
}

}  // namespace

TEST_CASE("a safetensors file cut at any length is refused") {
  cut_everywhere(small_safetensors(), use_safetensors);
}

TEST_CASE("a GGUF file cut at any length is refused") { cut_everywhere(small_gguf(), use_gguf); }

TEST_CASE("a changed byte anywhere in a safetensors header is survived") {
  const std::string content = small_safetensors();
  const std::size_t end = content.size() - 22;
  // Most changes break the syntax or the sizes; those inside of names do not.
  CHECK(change_everywhere(content, end, use_safetensors) > static_cast<int>(end) * 5);
}

TEST_CASE("a changed byte anywhere in a GGUF header is survived") {
  const std::string content = small_gguf();
  const std::size_t end = content.size() - 64 - 64 - 32;
  CHECK(change_everywhere(content, end, use_gguf) > static_cast<int>(end));
}

TEST_CASE("every eight bytes as a huge number are survived") {
  const std::string gguf = small_gguf();
  for (const std::uint64_t number :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 61, std::uint64_t{1} << 32,
        std::uint64_t{0xffffffff}, std::uint64_t{0}}) {
    for (std::size_t place = 0; place + 8 <= gguf.size(); ++place) {
      std::string changed = gguf;
      std::memcpy(changed.data() + place, &number, sizeof(number));
      fault_of([&] { use_gguf(changed); });
    }
  }
}

TEST_CASE("a file cut short on disk is refused when it is opened") {
  const TempFolder folder;
  const std::string content = small_gguf();
  folder.write("cut.gguf", content.substr(0, content.size() - 1));
  for (const FileAccess access : {FileAccess::map, FileAccess::read}) {
    const auto fault = fault_of([&] { GgufFile::open(folder / "cut.gguf", access); });
    REQUIRE(fault);
    CHECK(fault->mentions("not within the file"));
  }
}

}  // namespace linnet
