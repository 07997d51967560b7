#include "engine/assistant.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "engine/generator.h"
#include "engine/stop_rules.h"
#include "engine/tiny_model.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "linnet-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  void write(const std::string& name, std::string_view text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }

 private:
  fs::path path_;
};

// Sets an environment variable for one test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// The tiny model with some files replaced.
class TinyCopy : public TemporaryFolder {
 public:
  TinyCopy() {
    for (const char* name : {"config.json", "generation_config.json", "model.safetensors",
                             "tokenizer.json", "tokenizer_config.json"}) {
      fs::create_symlink(tiny_folder() / name, path() / name);
    }
  }
  void replace(const std::string& name, std::string_view text) const {
    fs::remove(path() / name);
    write(name, text);
  }
};

TEST_CASE("stop ids are the union of what all files name") {
  const TinyCopy folder;
  Json config = Json::parse_file((tiny_folder() / "config.json").string());
  config.set("eos_token_id", 7);
  folder.replace("config.json", config.dump());
  folder.replace("generation_config.json", R"({"eos_token_id": [7, 9]})");
  folder.replace("tokenizer_config.json", R"({"eos_token": {"content": "<|end_of_text|>"}})");
  const auto assistant = Assistant::load(folder.path());
  CHECK(assistant.defaults.stop_ids == std::vector<TokenId>{7, 9, 6001});
  CHECK_FALSE(assistant.has_own_template);
  CHECK_FALSE(assistant.defaults.sample);
}

TEST_CASE("a model that names no end has no stop ids") {
  const TinyCopy folder;
  Json config = Json::parse_file((tiny_folder() / "config.json").string());
  config.set("eos_token_id", Json());
  folder.replace("config.json", config.dump());
  folder.replace("generation_config.json", "{}");
  folder.replace("tokenizer_config.json", R"({"eos_token": null})");
  CHECK(Assistant::load(folder.path()).defaults.stop_ids.empty());
}

TEST_CASE("its own template and its tokens") {
  const TinyCopy folder;
  folder.write("chat_template.jinja", "{{ messages[0].content }}{{ eos_token }}");
  const auto assistant = Assistant::load(folder.path());
  CHECK(assistant.has_own_template);
  CHECK(assistant.defaults.sample);
  CHECK(assistant.defaults.temperature == 0.6f);
  const Json messages = Json::parse(R"([{"role": "user", "content": "Hi"}])", "messages");
  CHECK(assistant.chat_template.render(messages, Json(), {}).text == "Hi<|im_end|>");
}

TEST_CASE("broken small files are named") {
  const TinyCopy folder;
  folder.replace("generation_config.json", R"({"max_length": 20, "max_new_tokens": 9})");
  CHECK(Assistant::load(folder.path()).defaults.max_new_tokens == 9);
  CHECK(Assistant::load(folder.path()).defaults.max_length == -1);
  folder.replace("generation_config.json", R"({"temperature": -2})");
  CHECK_THROWS_WITH_AS(Assistant::load(folder.path()), doctest::Contains("generation_config.json"),
                       Error);
  CHECK_THROWS_WITH_AS(Assistant::load(folder.path()), doctest::Contains("temperature"), Error);
  folder.replace("generation_config.json", "{}");
  folder.write("chat_template.jinja", "{% if %}");
  CHECK_THROWS_AS(Assistant::load(folder.path()), Error);
  fs::remove(folder.path() / "chat_template.jinja");
  fs::remove(folder.path() / "tokenizer.json");
  CHECK_THROWS_WITH_AS(Assistant::load(folder.path()), doctest::Contains("tokenizer.json"), Error);
}

TEST_CASE("a GGUF file answers as the folder it was made from") {
  const fs::path file =
      LINNET_SHARED_DIR "/models/tiny-smollm3-chat-gguf/tiny-smollm3-chat-f16.gguf";
  if (!fs::exists(file)) {
    MESSAGE("skipped: " << file.string() << " is not on this machine");
    return;
  }
  const auto from_file = Assistant::load(file), from_folder = Assistant::load(tiny_folder());
  CHECK(from_file.has_own_template);
  CHECK(is_stop_id(from_file.defaults.stop_ids, 6012));
  const auto prompt = from_folder.tokenizer->encode(
      "<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n");
  GenerationConfig config;
  config.max_new_tokens = 24;
  config.stop_ids = from_file.defaults.stop_ids;
  Generator a(from_file.model, from_file.tokenizer), b(from_folder.model, from_folder.tokenizer);
  const auto answer = a.generate(prompt, config);
  CHECK(answer.ids == b.generate(prompt, config).ids);
  CHECK_FALSE(answer.text.empty());
}

TEST_CASE("names of models") {
  const TemporaryFolder folder;
  folder.write("own/config.json", "{}");
  folder.write("small.gguf", "");
  folder.write("tiny-smollm3-chat/config.json", "{}");
  folder.write("bmollm2.gguf", "");
  folder.write("SmolLM2-135M-Instruct.Q4_1.gguf", "");
  const Environment environment("LINNET_MODELS", folder.path().string());
  CHECK(find_model("own") == folder.path() / "own");
  CHECK(find_model("small.gguf") == folder.path() / "small.gguf");
  CHECK(find_model("small") == folder.path() / "small.gguf");
  CHECK(find_model("tiny") == folder.path() / "tiny-smollm3-chat");
  CHECK(find_model("smollm2") == folder.path() / "SmolLM2-135M-Instruct.Q4_1.gguf");
  CHECK(find_model((folder.path() / "own").string()) == folder.path() / "own");
}

TEST_CASE("tiny leads to the source tree, smollm2 to the cache") {
  const TemporaryFolder cache;
  const Environment models("LINNET_MODELS", ""), home("XDG_CACHE_HOME", cache.path().string());
  CHECK(fs::equivalent(find_model("tiny"), tiny_folder()));
  CHECK_THROWS_WITH_AS(find_model("smollm2"), doctest::Contains("get_smollm2"), Error);
  cache.write("linnet/models/smollm2-135m-instruct-q8_0.GGUF", "");
  CHECK(find_model("smollm2").filename() == "smollm2-135m-instruct-q8_0.GGUF");
}

TEST_CASE("unknown models say where was looked") {
  const Environment environment("LINNET_MODELS", "/nowhere/at/all");
  CHECK_THROWS_WITH_AS(find_model("unheard-of"), doctest::Contains("/nowhere/at/all"), Error);
  CHECK_THROWS_WITH_AS(find_model("/no/such/model"), doctest::Contains("/no/such/model"), Error);
  CHECK_THROWS_AS(find_model(""), Error);
  try {
    find_model("unheard-of");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::not_found);
  }
}

}  // namespace
}  // namespace linnet
