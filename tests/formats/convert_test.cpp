#include "formats/convert.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "formats/fault.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "formats/temp_folder.h"
#include "formats/tied_head.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

const fs::path kModels = fs::path(LINNET_SOURCE_DIR) / "tests/golden/models";
const fs::path kTiny = fs::path(LINNET_SOURCE_DIR) / "models/tiny-smollm3-chat";

ConvertReport convert(const fs::path& source, const fs::path& target,
                      const ConvertOptions& options = {}) {
  return convert_model(open_model_files(source), target, options);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

std::vector<std::string> sorted_names(const ModelFiles& files) {
  std::vector<std::string> names = files.tensor_names();
  std::sort(names.begin(), names.end());
  return names;
}

// Bit for bit, or, where blocks were decoded on the way, value for value.
void check_same_tensors(const ModelFiles& a, const ModelFiles& b, bool bits = true) {
  REQUIRE(sorted_names(a) == sorted_names(b));
  for (const std::string& name : a.tensor_names()) {
    CAPTURE(name);
    if (bits) {
      CHECK(same_bytes(a.tensor(name), b.tensor(name)));
    } else {
      CHECK(a.tensor(name).to_floats() == b.tensor(name).to_floats());
    }
  }
}

// Arrays and strings of the metadata, byte for byte.
void check_same_texts(const GgufFile& a, const GgufFile& b) {
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
    CAPTURE(key);
    CHECK(a.at(key).as_strings() == b.at(key).as_strings());
  }
  CHECK(a.at("tokenizer.ggml.token_type").as_ints() == b.at("tokenizer.ggml.token_type").as_ints());
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.pre"}) {
    CHECK(a.at(key).as_string() == b.at(key).as_string());
  }
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                          "tokenizer.ggml.padding_token_id"}) {
    CHECK(a.at(key).as_int() == b.at(key).as_int());
  }
}

constexpr std::array kTexts = {"Hello, world!  12345 tokens\r\n\tand\n\n more",
                               "<|im_start|>user\nhi<|im_end|>",
                               "naïve Ünïcode 日本語 😸",
                               "<bos>a<eos> [PAD7]",
                               "",
                               "I'll we've   x"};

void check_same_ids(const ModelFiles& a, const ModelFiles& b) {
  const auto one = a.load_tokenizer(), two = b.load_tokenizer();
  for (const char* text : kTexts) {
    CAPTURE(text);
    CHECK(one->encode(text) == two->encode(text));
    CHECK(one->encode(text, {.add_special_tokens = true}) ==
          two->encode(text, {.add_special_tokens = true}));
  }
}

}  // namespace

TEST_CASE("GGUF to safetensors to GGUF keeps every tensor and every token") {
  for (const char* name : {"base-gqa-f16.gguf", "llama-arch-f32.gguf"}) {
    CAPTURE(name);
    const TempFolder folder;
    convert(kModels / "gguf" / name, folder / "hf");
    convert(folder / "hf", folder / "again.gguf");
    const ModelFiles first = open_model_files(kModels / "gguf" / name);
    const ModelFiles hf = open_model_files(folder / "hf");
    const ModelFiles again = open_model_files(folder / "again.gguf");
    // In between vectors take the type of the matrices only where that changes no value.
    check_same_tensors(first, hf, false);
    check_same_tensors(first, again);
    CHECK(again.config == first.config);
    CHECK(again.generation_config == first.generation_config);
    CHECK(again.tokenizer_config == first.tokenizer_config);
    if (first.gguf->find("tokenizer.ggml.tokens") == nullptr) continue;
    check_same_texts(*first.gguf, *again.gguf);
    check_same_ids(first, hf);
    check_same_ids(first, again);
  }
}

TEST_CASE("blocks are decoded on their way into safetensors, to their exact values") {
  for (const char* name : {"base-gqa-q8_0.gguf", "base-gqa-q4_0.gguf"}) {
    CAPTURE(name);
    const TempFolder folder;
    const ConvertReport report = convert(kModels / "gguf" / name, folder / "hf");
    CHECK(report.notes.size() == 1);
    const ModelFiles first = open_model_files(kModels / "gguf" / name);
    const ModelFiles hf = open_model_files(folder / "hf");
    check_same_tensors(first, hf, false);
    CHECK(hf.tensor("model.embed_tokens.weight").dtype() == DType::f32);
    CHECK(hf.config.at("torch_dtype") == Json("float32"));

    ConvertOptions options;
    options.dtype = DType::bf16;
    convert(kModels / "gguf" / name, folder / "bf16", options);
    const ModelFiles half = open_model_files(folder / "bf16");
    CHECK(half.tensor("model.norm.weight").dtype() == DType::bf16);
    CHECK(half.config.at("torch_dtype") == Json("bfloat16"));
  }
}

TEST_CASE("GGUF to GGUF as it is copies the blocks") {
  const TempFolder folder;
  const fs::path source = kModels / "gguf/base-gqa-q4_0.gguf";
  const ConvertReport report = convert(source, folder / "copy.gguf");
  CHECK(report.notes.empty());
  const ModelFiles first = open_model_files(source);
  const ModelFiles copy = open_model_files(folder / "copy.gguf");
  check_same_tensors(first, copy);
  check_same_texts(*first.gguf, *copy.gguf);
  CHECK(copy.gguf->at("general.file_type").as_int() == 2);
  CHECK(copy.gguf->at("general.name").as_string() == first.gguf->at("general.name").as_string());
}

TEST_CASE("safetensors to GGUF to safetensors keeps the bits of a bf16 model and all ids") {
  if (!fs::exists(kTiny)) return;
  const TempFolder folder;
  convert(kTiny, folder / "m.gguf");
  convert(folder / "m.gguf", folder / "hf");
  const ModelFiles first = open_model_files(kTiny);
  const ModelFiles gguf = open_model_files(folder / "m.gguf");
  const ModelFiles hf = open_model_files(folder / "hf");
  check_same_tensors(first, hf);
  CHECK(gguf.gguf->at("general.architecture").as_string() == "smollm3");
  CHECK(gguf.gguf->at("general.file_type").as_int() == 32);
  CHECK(gguf.gguf->at("tokenizer.ggml.pre").as_string() == "smaug-bpe");
  CHECK(gguf.gguf->find_tensor("blk.0.attn_norm.weight")->dtype == DType::f32);
  CHECK(gguf.chat_template == first.chat_template);
  CHECK(hf.chat_template == first.chat_template);
  check_same_ids(first, gguf);
  check_same_ids(first, hf);
  const TokenizerData before = first.load_tokenizer_data(), after = hf.load_tokenizer_data();
  CHECK(before.vocab == after.vocab);
  CHECK(before.ignore_merges == after.ignore_merges);
  REQUIRE(before.added.size() == after.added.size());
  for (std::size_t i = 0; i < before.added.size(); ++i) {
    CHECK(before.added[i].content == after.added[i].content);
    CHECK(before.added[i].id == after.added[i].id);
    CHECK(before.added[i].special == after.added[i].special);
  }
}

TEST_CASE("rows of query and key are where llama.cpp looks for them") {
  const TempFolder folder;
  convert(kModels / "base-gqa", folder / "m.gguf");
  const auto ours = GgufFile::open(folder / "m.gguf");
  const auto reference = GgufFile::open(kModels / "gguf/base-gqa-f16.gguf");
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.3.attn_k.weight",
                           "blk.0.attn_v.weight"}) {
    CAPTURE(name);
    std::vector<float> rounded = ours->tensor(name).to_floats();
    for (float& value : rounded) value = f16_to_f32(f32_to_f16(value));
    CHECK(rounded == reference->tensor(name).to_floats());
  }
}

TEST_CASE("quantizing to GGUF leaves vectors f32, and rows that fit no block f16") {
  const TempFolder folder;
  ConvertOptions options;
  options.dtype = DType::q8_0;
  const ConvertReport report = convert(kModels / "base-gqa", folder / "m.gguf", options);
  const auto file = GgufFile::open(folder / "m.gguf");
  CHECK(file->find_tensor("token_embd.weight")->dtype == DType::q8_0);
  CHECK(file->find_tensor("output_norm.weight")->dtype == DType::f32);
  CHECK(file->at("general.file_type").as_int() == 7);
  CHECK(report.notes.empty());

  const ConvertReport odd =
      convert(kModels / "gguf/llama-arch-f32.gguf", folder / "odd.gguf", options);
  CHECK(GgufFile::open(folder / "odd.gguf")->find_tensor("token_embd.weight")->dtype == DType::f16);
  CHECK_FALSE(odd.notes.empty());
}

TEST_CASE("shards, and what a forced conversion replaces") {
  const TempFolder folder;
  ConvertOptions options;
  options.shard_bytes = 40000;
  const fs::path target = folder / "hf";
  convert(kModels / "base-gqa", target, options);
  CHECK(fs::exists(target / "model.safetensors.index.json"));
  check_same_tensors(open_model_files(kModels / "base-gqa"), open_model_files(target));
  std::ofstream(target / "mine.txt") << "keep";

  const auto fault = fault_of([&] { convert(kModels / "base-gqa", target); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::invalid_argument);
  CHECK(fault->mentions("--force"));
  CHECK(fs::exists(target / "model.safetensors.index.json"));

  options.overwrite = true;
  options.shard_bytes = kDefaultShardBytes;
  convert(kModels / "base-gqa", target, options);
  CHECK_FALSE(fs::exists(target / "model.safetensors.index.json"));
  CHECK_FALSE(fs::exists(target / "model-00001-of-00006.safetensors"));
  CHECK(read_text_file(target / "mine.txt") == "keep");
  check_same_tensors(open_model_files(kModels / "base-gqa"), open_model_files(target));
  // Nothing was left beside.
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a target is never the source, within it, or something else than it should be") {
  const TempFolder folder;
  const fs::path source = folder / "hf";
  convert(kModels / "base-gqa", source);
  ConvertOptions force;
  force.overwrite = true;
  const auto refused = [&](const fs::path& target, const std::string& mention) {
    const auto fault = fault_of([&] { convert(source, target, force); });
    REQUIRE(fault);
    CHECK(fault->mentions(mention));
  };
  refused(source, "is the model itself");
  refused(source / ".", "is the model itself");
  refused(source / "sub", "inside");
  refused(source / "m.gguf", "inside");
  fs::create_directory_symlink(source, folder / "link");
  refused(folder / "link", "is the model itself");
  refused(folder / "link" / "m.gguf", "inside");
  fs::create_symlink(folder / "nothing", folder / "dangling.gguf");
  refused(folder / "dangling.gguf", "leads nowhere");
  fs::create_directory(folder / "d.gguf");
  refused(folder / "d.gguf", "not a regular file");
  folder.write("file", "x");
  refused(folder / "file", "not a folder");
  CHECK(fault_of([&] { convert(source, folder / "no/such/place", force); })->code ==
        ErrorCode::not_found);
  // A link to a file is followed, and stays.
  folder.write("real.gguf", "old");
  fs::create_symlink(folder / "real.gguf", folder / "to-real.gguf");
  convert(source, folder / "to-real.gguf", force);
  CHECK(fs::is_symlink(folder / "to-real.gguf"));
  CHECK(GgufFile::open(folder / "real.gguf")->tensors().size() > 0);
}

namespace {

// base-gqa with a changed config: what GGUF makes of it.
std::optional<Fault> gguf_fault_of(const std::vector<std::pair<std::string, Json>>& changes) {
  const TempFolder folder;
  ModelFiles files = open_model_files(kModels / "base-gqa");
  for (const auto& [key, value] : changes) files.config.set(key, value);
  return fault_of([&] { convert_model(files, folder / "m.gguf", {}); });
}

Json flags(std::initializer_list<int> list) {
  Json out = Json::array();
  for (const int flag : list) out.push_back(flag);
  return out;
}

}  // namespace

TEST_CASE("what GGUF cannot say is refused by name") {
  CHECK_FALSE(gguf_fault_of({}));
  struct Change {
    std::string key;
    Json value;
    std::string mention;
  };
  const Change changes[] = {
      {"no_rope_layers", flags({0, 1, 1, 1, 1, 1, 1, 1}), "no_rope_layers"},
      {"hidden_act", "gelu", "hidden_act"},
      {"model_type", "qwen2", "model_type"},
      {"architectures", Json::Array{Json("SmolLM3ForTokenClassification")}, "architectures"},
      {"layer_types", Json::Array{Json("sliding_attention")}, "layer_types"},
      {"rope_parameters",
       Json(Json::Object{{"rope_type", "dynamic"}, {"factor", 2.0}, {"rope_theta", 10000.0}}),
       "dynamic"},
      {"rope_parameters",
       Json(Json::Object{
           {"rope_type", "yarn"}, {"factor", 2.0}, {"mscale", 0.7}, {"rope_theta", 10000.0}}),
       "mscale"},
  };
  for (const Change& change : changes) {
    CAPTURE(change.mention);
    const auto fault = gguf_fault_of({{change.key, change.value}});
    REQUIRE(fault);
    CHECK(fault->code == ErrorCode::unsupported);
    CHECK(fault->mentions(change.mention));
  }
  // Every layer rotates: the same arithmetic as Llama's.
  CHECK_FALSE(gguf_fault_of({{"no_rope_layers", flags({1, 1, 1, 1, 1, 1, 1, 1})}}));
}

TEST_CASE("rotations come back as they were") {
  const TempFolder folder;
  const auto back = [&](const Json& rope) {
    ModelFiles files = open_model_files(kModels / "base-gqa");
    files.config.set("rope_parameters", rope);
    ConvertOptions options;
    options.overwrite = true;
    convert_model(files, folder / "m.gguf", options);
    return open_model_files(folder / "m.gguf").config;
  };
  const Json linear(Json::Object{{"rope_type", "linear"}, {"factor", 2.5}, {"rope_theta", 5e6}});
  CHECK(back(linear).at("rope_scaling").at("factor").as_double() == 2.5);
  CHECK(back(linear).at("rope_theta").as_double() == 5e6);
  const Json yarn(Json::Object{{"rope_type", "yarn"},
                               {"factor", 2.0},
                               {"rope_theta", 1e4},
                               {"original_max_position_embeddings", 64}});
  CHECK(back(yarn).at("rope_scaling").at("rope_type") == Json("yarn"));
  CHECK(back(yarn).at("rope_scaling").at("original_max_position_embeddings").as_int() == 64);
  const Json llama3(Json::Object{{"rope_type", "llama3"},
                                 {"factor", 8.0},
                                 {"rope_theta", 1e4},
                                 {"low_freq_factor", 1.0},
                                 {"high_freq_factor", 4.0},
                                 {"original_max_position_embeddings", 64}});
  const Json factors = back(llama3).at("rope_scaling").at("long_factor");
  CHECK(factors.size() == 12);  // head_dim 24
  CHECK(factors.as_array()[0].as_double() == 1.0);
  CHECK(factors.as_array()[11].as_double() == 8.0);
}

TEST_CASE("the output matrix and the config must agree") {
  const TempFolder folder;
  const ModelFiles base = open_model_files(kModels / "base-gqa");
  const auto with_head = [&](const Tensor& head) {
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const std::string& name : base.tensor_names()) {
      tensors.emplace_back(name, base.tensor(name));
    }
    tensors.emplace_back("lm_head.weight", head);
    write_safetensors(folder / "model.safetensors", tensors);
    folder.write("config.json", base.config.dump());
    return open_model_files(folder.path());
  };
  const TempFolder out;
  CHECK(find_own_head(base) == OwnHead::absent);
  const Tensor embedding = base.tensor("model.embed_tokens.weight");
  const ModelFiles equal = with_head(embedding);
  CHECK(find_own_head(equal) == OwnHead::equal);
  CHECK(
      convert_model(equal, out / "equal.gguf", {}).notes[0].starts_with("lm_head.weight left out"));
  CHECK(GgufFile::open(out / "equal.gguf")->find_tensor("output.weight") == nullptr);

  ModelFiles other = with_head(Tensor::zeros(DType::f32, embedding.shape()));
  CHECK(find_own_head(other) == OwnHead::different);
  const auto fault = fault_of([&] { convert_model(other, out / "other.gguf", {}); });
  REQUIRE(fault);
  CHECK(fault->mentions("tie_word_embeddings is true"));
  other.config.set("tie_word_embeddings", false);
  convert_model(other, out / "other.gguf", {});
  CHECK(GgufFile::open(out / "other.gguf")->find_tensor("output.weight") != nullptr);

  ModelFiles none = base;
  none.config.set("tie_word_embeddings", false);
  const auto missing = fault_of([&] { convert_model(none, out / "none.gguf", {}); });
  REQUIRE(missing);
  CHECK(missing->mentions("lm_head.weight"));
  CHECK_FALSE(fs::exists(out / "none.gguf"));
}

}  // namespace linnet
