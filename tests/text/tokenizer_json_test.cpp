#include "text/tokenizer_json.h"

#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "base/file_map.h"
#include "base/json.h"
#include "text/toy_tokenizer.h"

using namespace linnet;
using Ids = std::vector<TokenId>;

namespace {

constexpr const char* kSmall = R"json({
  "added_tokens": [
    {"id": 5, "content": "<x>", "special": true, "lstrip": false, "rstrip": false,
     "single_word": false, "normalized": false},
    {"id": 6, "content": "<y>", "special": false}],
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
  "post_processor": null,
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "dropout": null, "unk_token": null, "byte_fallback": false,
    "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4},
    "merges": [["a", "b"], "Ġ ab"]}})json";

Json small() { return Json::parse(kSmall, "small"); }

Json& part(Json& root, std::initializer_list<const char*> path) {
  Json* at = &root;
  for (const char* key : path) at = at->find(key);
  return *at;
}

std::string load_error(const std::string& text, std::string* message = nullptr) {
  return toy::error_of([&] { Tokenizer tokenizer(tokenizer_data_from_json(text, "t.json")); },
                       message);
}

// The error after one part was changed: "code: message".
std::string after(const std::function<void(Json&)>& change) {
  Json root = small();
  change(root);
  std::string message;
  const std::string code = load_error(root.dump(), &message);
  return code == "no error" ? code : code + ": " + message;
}

std::string after_setting(std::initializer_list<const char*> path, const char* key,
                          const char* value) {
  return after([&](Json& root) { part(root, path).set(key, Json::parse(value, "value")); });
}

bool has(const std::string& text, std::string_view wanted) {
  return text.find(wanted) != std::string::npos;
}

}  // namespace

TEST_CASE("a small tokenizer.json, merges in both spellings") {
  const TokenizerData data = tokenizer_data_from_json(kSmall, "small");
  CHECK(data.split == SplitRule::gpt2);
  CHECK_FALSE(data.ignore_merges);
  const Tokenizer tokenizer(data);
  CHECK(tokenizer.size() == 7);
  CHECK(tokenizer.encode("ab ab<x>a<y>") == Ids{3, 4, 5, 0, 6});
  CHECK(tokenizer.is_special(5));
  CHECK_FALSE(tokenizer.is_special(6));
  CHECK(tokenizer.token_bytes(4) == " ab");
}

TEST_CASE("the known pre-tokenizers") {
  const auto split_of = [](const std::string& pre_tokenizer) {
    Json root = small();
    root.set("pre_tokenizer", Json::parse(pre_tokenizer, "pre_tokenizer"));
    return tokenizer_data_from_json(root.dump(), "t").split;
  };
  const auto sequence = [](const std::string& first, bool use_regex) {
    return R"({"type":"Sequence","pretokenizers":[)" + first +
           R"(,{"type":"ByteLevel","add_prefix_space":false,"use_regex":)" +
           (use_regex ? "true" : "false") + "}]}";
  };
  const auto expression = [&](const std::string& digits) {
    return sequence(R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":)"
                    R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|)" +
                        digits +
                        R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}})",
                    false);
  };
  CHECK(split_of(expression(R"(\\p{N}{1,3})")) == SplitRule::llama3);
  CHECK(split_of(expression(R"(\\p{N})")) == SplitRule::qwen2);
  CHECK(split_of(sequence(R"({"type":"Digits","individual_digits":true})", true)) ==
        SplitRule::smollm);
  for (const std::string& other :
       {expression(R"(\\p{N}{1,4})"), expression("(a+)+$"),
        sequence(R"({"type":"Digits","individual_digits":false})", true),
        sequence(R"({"type":"Digits","individual_digits":true})", false),
        sequence(R"({"type":"Whitespace"})", false), std::string(R"({"type":"Whitespace"})"),
        std::string(R"({"type":"ByteLevel","add_prefix_space":true})"),
        std::string(R"({"type":"Sequence","pretokenizers":[]})")}) {
    CAPTURE(other);
    CHECK(toy::error_of([&] { split_of(other); }) == "unsupported");
  }
  std::string message;
  toy::error_of([&] { split_of(expression("(a+)+$")); }, &message);
  CHECK(has(message, "pre_tokenizer.pretokenizers[0] splits by an expression that is not known"));
}

TEST_CASE("post-processors: none, ByteLevel, a template, a sequence") {
  const auto encoded = [](const char* processor) {
    Json root = small();
    root.set("post_processor", Json::parse(processor, "post_processor"));
    const Tokenizer tokenizer(tokenizer_data_from_json(root.dump(), "t"));
    return tokenizer.encode("a", {.add_special_tokens = true});
  };
  CHECK(encoded(R"({"type":"ByteLevel","trim_offsets":false})") == Ids{0});
  const char* with_bos = R"({"type":"Sequence","processors":[{"type":"ByteLevel"},
    {"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<x>","type_id":0}},
     {"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<y>","type_id":0}}],
     "special_tokens":{"<x>":{"id":"<x>","ids":[5],"tokens":["<x>"]},
                       "<y>":{"id":"<y>","ids":[6],"tokens":["<y>"]}}}]})";
  CHECK(encoded(with_bos) == Ids{5, 0, 6});
  CHECK(has(after_setting({}, "post_processor", R"({"type":"BertProcessing"})"),
            "unsupported: t.json: post_processor has the type 'BertProcessing'"));
  CHECK(has(after_setting({}, "post_processor", R"({"type":"TemplateProcessing","single":[
            {"SpecialToken":{"id":"<x>"}},{"Sequence":{"id":"A"}}],
            "special_tokens":{"<x>":{"ids":[99]}}})"),
            "corrupt_file"));
  CHECK(has(after_setting({}, "post_processor",
                          R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"B"}}]})"),
            "unsupported"));
}

TEST_CASE("parts that are not known are refused by name") {
  CHECK(has(after_setting({}, "normalizer", R"({"type":"Lowercase"})"),
            "unsupported: t.json: normalizer has the type 'Lowercase'"));
  CHECK(after_setting({}, "normalizer", R"({"type":"NFC"})") == "no error");
  CHECK(has(after_setting({}, "decoder", R"({"type":"Metaspace"})"), "unsupported"));
  CHECK(has(after_setting({}, "decoder", "null"), "lacks the field 'decoder'"));
  CHECK(has(after_setting({"model"}, "type", R"("WordPiece")"), "unsupported: t.json: model"));
  CHECK(has(after_setting({"model"}, "dropout", "0.1"), "unsupported: t.json: model.dropout"));
  CHECK(has(after_setting({"model"}, "byte_fallback", "true"), "unsupported"));
  CHECK(
      has(after_setting({"model"}, "unk_token", R"("a")"), "unsupported: t.json: model.unk_token"));
  CHECK(has(after_setting({"model"}, "end_of_word_suffix", R"("</w>")"), "unsupported"));
  CHECK(after_setting({"model"}, "end_of_word_suffix", R"("")") == "no error");
}

TEST_CASE("absurd files are corrupt files, by field") {
  CHECK(has(after_setting({"model"}, "merges", R"([["a","zz"]])"),
            "corrupt_file: t.json: merge 0 ('a' 'zz') has a right side without an id"));
  CHECK(has(after_setting({"model"}, "merges", R"([["b","a"]])"), "makes a token without an id"));
  CHECK(has(after_setting({"model"}, "merges", R"([["a"]])"), "model.merges[0]"));
  CHECK(has(after_setting({"model"}, "merges", R"([["a","b","c"]])"), "model.merges[0]"));
  CHECK(has(after_setting({"model"}, "merges", R"([["a",""]])"), "empty side"));
  CHECK(has(after_setting({"model"}, "merges", "[7]"), "model.merges[0]"));
  CHECK(has(after_setting({"model"}, "merges", R"({"a":"b"})"),
            "model.merges is missing or not an array"));
  CHECK(has(after_setting({"model"}, "merges", "null"), "model.merges is missing"));
  CHECK(has(after_setting({"model"}, "vocab", R"(["a"])"),
            "model.vocab is missing or not an object"));
  CHECK(has(after_setting({"model", "vocab"}, "b", "0"), "has the id 0 twice"));
  CHECK(has(after_setting({"model", "vocab"}, "b", "-1"), "model.vocab.b is -1"));
  CHECK(has(after_setting({"model", "vocab"}, "b", "4000000000"), "model.vocab.b is 4000000000"));
  CHECK(has(after_setting({"model", "vocab"}, "b", R"("1")"), "model.vocab.b is a string"));
  CHECK(has(after_setting({"model", "vocab"}, "b", "1.5"), "model.vocab.b is a number"));
  CHECK(has(after_setting({"model", "vocab"}, "", "9"), "empty token"));
  CHECK(has(after_setting({}, "model", "[]"), "model is an array"));
  CHECK(has(after_setting({}, "added_tokens", "{}"), "added_tokens is an object"));
  CHECK(has(after_setting({}, "added_tokens", R"([{"id":5}])"), "added_tokens[0] lacks"));
  CHECK(has(after_setting({}, "added_tokens", R"([{"id":99999999999,"content":"q"}])"),
            "added_tokens[0].id is 99999999999"));
  CHECK(has(after_setting({}, "added_tokens", R"([{"id":5,"content":"q","special":1}])"),
            "added_tokens[0].special is an integer"));
  CHECK(has(after_setting({}, "added_tokens", R"([{"id":1,"content":"q"}])"),
            "added token 1 'q' is another token in the vocabulary"));
  CHECK(has(after_setting({}, "added_tokens", R"([{"id":5,"content":""}])"), "corrupt_file"));
  std::string text = kSmall;
  text.insert(text.find("\"b\": 1"), "\"a\": 9, ");
  std::string message;
  CHECK(load_error(text, &message) == "corrupt_file");
  CHECK(has(message, "ids 0 and 9 are both the token 'a'"));
}

TEST_CASE("merges that lead in a circle, or to themselves, are refused") {
  const auto with_merges = [](const char* vocab, const char* merges) {
    Json root = small();
    part(root, {"model"}).set("vocab", Json::parse(vocab, "vocab"));
    part(root, {"model"}).set("merges", Json::parse(merges, "merges"));
    root.set("added_tokens", Json::array());
    return root.dump();
  };
  // Each makes a longer token, so a circle would need one of endless length.
  const std::string circle =
      with_merges(R"({"a":0,"aa":1,"aaa":2})", R"([["a","a"],["aa","a"],["aaa","a"]])");
  std::string message;
  CHECK(load_error(circle, &message) == "corrupt_file");
  CHECK(has(message, "merge 2 ('aaa' 'a') makes a token without an id"));
  CHECK(load_error(with_merges(R"({"a":0})", R"([["a",""]])")) == "corrupt_file");
  // The same merge many times is one; its last place counts.
  const std::string twice =
      with_merges(R"({"a":0,"b":1,"c":2,"ab":3,"bc":4})", R"([["a","b"],["b","c"],["a","b"]])");
  CHECK(Tokenizer(tokenizer_data_from_json(twice, "t")).encode("abc") == Ids{0, 4});
}

TEST_CASE("millions of entries are refused before anything is made of them") {
  std::string vocab = "{";
  std::string merges = "[";
  for (int i = 0; i <= kMaxTokenId + 1; ++i) {
    vocab += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":" + std::to_string(i);
    merges += i > 0 ? ",7" : "7";
  }
  const std::string whole = kSmall;
  const auto replaced = [&](std::string_view from, std::string_view to, const std::string& with) {
    const std::size_t begin = whole.find(from);
    const std::size_t end = whole.find(to, begin);
    return whole.substr(0, begin) + with + whole.substr(end + to.size());
  };
  std::string message;
  CHECK(load_error(replaced(R"({"a": 0)", "}", vocab + "}"), &message) == "corrupt_file");
  CHECK(has(message, "model.vocab has 2097153 entries or more, at most 2097152 are possible"));
  CHECK(load_error(replaced(R"([["a", "b"])", "]}", merges + "]}"), &message) == "corrupt_file");
  CHECK(has(message, "model.merges has 2097153 entries or more, at most 2097151 are possible"));
}

TEST_CASE("an entry outside of the byte alphabet is decoded, but never reached") {
  Json root = small();
  part(root, {"model", "vocab"}).set("a b", 7);
  const Tokenizer tokenizer(tokenizer_data_from_json(root.dump(), "t"));
  CHECK(tokenizer.token_bytes(7) == "a b");
  CHECK(tokenizer.encode("a b") == Ids{0, 2, 1});
}

TEST_CASE("broken JSON, deep nesting, cut and changed files never do worse than an error") {
  CHECK(load_error("") == "corrupt_file");
  CHECK(load_error("\xFF") == "corrupt_file");
  CHECK(load_error("null") == "corrupt_file");
  CHECK(load_error(std::string(200'000, '[')) == "corrupt_file");
  const std::string whole = kSmall;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    REQUIRE(load_error(whole.substr(0, cut)) == "corrupt_file");
  }
  std::mt19937 random(17);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random() % 128);
      } else {
        text.erase(at, 1 + random() % 12);
      }
    }
    const std::string code = load_error(text);
    const bool expected = code == "no error" || code == "corrupt_file" || code == "unsupported";
    REQUIRE(expected);
  }
}
