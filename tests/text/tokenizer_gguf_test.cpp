#include "text/tokenizer_gguf.h"

#include <doctest/doctest.h>

#include <random>

#include "base/json.h"
#include "text/byte_alphabet.h"
#include "text/random_text.h"
#include "text/toy_tokenizer.h"

using namespace linnet;
using Ids = std::vector<TokenId>;

namespace {

// All bytes, "ab" with its merge, one control and one user-defined token, one unused id.
GgufVocabulary small_vocabulary() {
  GgufVocabulary source;
  source.name = "m.gguf";
  source.model = "gpt2";
  source.pre = "smaug-bpe";
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    source.tokens.push_back(to_byte_alphabet({&text, 1}));
  }
  source.types.assign(256, 1);
  const auto add = [&](const char* text, int type) {
    source.tokens.emplace_back(text);
    source.types.push_back(type);
  };
  add("\xC4\xA0"
      "b",
      1);  // " b"
  add("<|im_end|>", 3);
  add("<think>", 4);
  add("unused", 5);
  source.merges = {"\xC4\xA0 b"};
  return source;
}

std::string refused(void (*change)(GgufVocabulary&), std::string* message = nullptr) {
  GgufVocabulary source = small_vocabulary();
  change(source);
  return toy::error_of([&] { Tokenizer tokenizer(tokenizer_data_from_gguf(source)); }, message);
}

}  // namespace

TEST_CASE("a GGUF vocabulary: control and user-defined tokens, merges, the unused") {
  const Tokenizer tokenizer(tokenizer_data_from_gguf(small_vocabulary()));
  CHECK(tokenizer.encode("a b<|im_end|><think>") == Ids{'a', 256, 257, 258});
  CHECK(tokenizer.is_special(257));
  CHECK(tokenizer.is_added(258));
  CHECK_FALSE(tokenizer.is_special(258));
  // ignore_merges is on, yet an unused entry is never reached; it can be decoded.
  CHECK(tokenizer.encode("unused") == toy::bytes("unused"));
  CHECK(tokenizer.decode(Ids{259}, false) == "unused");
  CHECK(tokenizer.encode("a", {.add_special_tokens = true}) == Ids{'a'});
}

TEST_CASE("ids around the text come from the flags of the file") {
  GgufVocabulary source = small_vocabulary();
  source.add_bos = source.add_eos = true;
  source.bos = 257;
  source.eos = 258;
  const Tokenizer tokenizer(tokenizer_data_from_gguf(source));
  CHECK(tokenizer.encode("a", {.add_special_tokens = true}) == Ids{257, 'a', 258});
}

TEST_CASE("the name of the pre-tokenizer chooses the split") {
  const auto data_of = [](const char* pre) {
    GgufVocabulary source = small_vocabulary();
    source.pre = pre;
    return tokenizer_data_from_gguf(source);
  };
  CHECK(data_of("llama-bpe").split == SplitRule::llama3);
  CHECK(data_of("llama-bpe").ignore_merges);
  CHECK(data_of("smollm").split == SplitRule::smollm);
  CHECK_FALSE(data_of("smollm").ignore_merges);
  CHECK(data_of("gpt-2").split == SplitRule::gpt2);
  CHECK(data_of("qwen2").split == SplitRule::qwen2);
}

TEST_CASE("other models and pre-tokenizers are refused by name") {
  std::string message;
  // Byte-level pieces under the name of SentencePiece: an error, no crash.
  CHECK(refused([](GgufVocabulary& v) { v.model = "llama"; }, &message) == "unsupported");
  CHECK(message.find("tokenizer.ggml.model is 'llama', expected 'gpt2'") != std::string::npos);
  for (const char* pre : {"", "default", "deepseek-llm"}) {
    GgufVocabulary source = small_vocabulary();
    source.pre = pre;
    CHECK(toy::error_of([&] { tokenizer_data_from_gguf(source); }, &message) == "unsupported");
    CHECK(message.find("'" + source.pre + "'") != std::string::npos);
    CHECK(message.find("'smaug-bpe'") != std::string::npos);
  }
}

TEST_CASE("absurd vocabularies are corrupt files") {
  using V = GgufVocabulary;
  CHECK(refused([](V&) {}) == "no error");
  CHECK(refused([](V& v) {
          v.tokens.clear();
          v.types.clear();
        }) == "corrupt_file");
  CHECK(refused([](V& v) { v.types.pop_back(); }) == "corrupt_file");
  CHECK(refused([](V& v) { v.types[3] = 0; }) == "corrupt_file");
  CHECK(refused([](V& v) { v.types[3] = -2147483647; }) == "corrupt_file");
  CHECK(refused([](V& v) { v.tokens[1] = v.tokens[0]; }) == "corrupt_file");
  CHECK(refused([](V& v) { v.tokens[257] = v.tokens[258]; }) == "corrupt_file");
  CHECK(refused([](V& v) { v.tokens[257] = "\xFF\xFE"; }) == "corrupt_file");
  CHECK(refused([](V& v) { v.merges.push_back("a"); }) == "corrupt_file");
  CHECK(refused([](V& v) { v.merges.push_back("a b c"); }) == "corrupt_file");
  CHECK(refused([](V& v) { v.merges.push_back(" b"); }) == "corrupt_file");
  CHECK(refused([](V& v) { v.merges.push_back("zz b"); }) == "corrupt_file");
  CHECK(refused([](V& v) { v.merges.push_back("a b"); }) == "corrupt_file");
  CHECK(refused([](V& v) { v.add_bos = true; }) == "corrupt_file");
  CHECK(refused([](V& v) {
          v.add_bos = true;
          v.bos = 260;
        }) == "corrupt_file");
  // Bytes that are no UTF-8 and text outside of the alphabet: decoded, never reached.
  CHECK(refused([](V& v) { v.tokens[259] = "\xC4"; }) == "no error");
  CHECK(refused([](V& v) {
          v.tokens.push_back("two words");
          v.types.push_back(1);
        }) == "no error");
}

TEST_CASE("the same vocabulary from GGUF and from tokenizer.json gives the same ids") {
  const std::string path =
      std::string(LINNET_SOURCE_DIR) + "/tests/golden/text/tokenizer/tiny2k_tokenizer.json";
  const Json file = Json::parse_file(path);
  GgufVocabulary source;
  source.model = "gpt2";
  source.pre = "llama-bpe";
  const auto put = [&](std::int64_t id, const std::string& text, int type) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= source.tokens.size()) {
      source.tokens.resize(index + 1);
      source.types.resize(index + 1, 1);
    }
    source.tokens[index] = text;
    source.types[index] = type;
  };
  for (const auto& [text, id] : file.at("model").at("vocab").as_object()) put(id.as_int(), text, 1);
  for (const Json& token : file.at("added_tokens").as_array()) {
    put(token.at("id").as_int(), token.at("content").as_string(),
        token.at("special").as_bool() ? 3 : 4);
  }
  for (const Json& merge : file.at("model").at("merges").as_array()) {
    source.merges.push_back(merge.as_array().at(0).as_string() + " " +
                            merge.as_array().at(1).as_string());
  }
  const Tokenizer from_gguf(tokenizer_data_from_gguf(source));
  const auto from_json = load_tokenizer_json(path);
  REQUIRE(from_gguf.size() == from_json->size());
  std::mt19937 random(31);
  for (int round = 0; round < 500; ++round) {
    const std::string text = toy::random_text(random, random() % 50) + "<|im_end|>the<think>" +
                             toy::random_text(random, 9);
    for (const auto parsing :
         {SpecialParsing::all, SpecialParsing::not_special, SpecialParsing::none}) {
      REQUIRE(from_gguf.encode(text, {.parsing = parsing}) ==
              from_json->encode(text, {.parsing = parsing}));
    }
  }
}
