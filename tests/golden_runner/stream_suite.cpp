// Folder "stream": NAME.jsonl for each tokenizer NAME of the folder "tokenizer" beside it. One case
// per line: the deltas with special tokens skipped and kept, and the word-wise chunks.
#include <fmt/core.h>

#include <algorithm>

#include "golden_runner/suite.h"
#include "golden_runner/tokenizer_files.h"
#include "text/stream_decoder.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::TokenId;
using linnet::Tokenizer;

std::string compare(std::string_view want, std::string_view got, const std::string& what) {
  if (want == got) return "";
  return fmt::format("{}: want {}, got {}", what, linnet::json_quote(want),
                     linnet::json_quote(got));
}

std::string check_deltas(const Tokenizer& tokenizer, const Json& line, bool skip_special) {
  const std::vector<TokenId> ids = ids_of(line.at("ids"));
  // The fields of kept special tokens are absent where they would be the same.
  const bool own = !skip_special && line.find("deltas_keep") != nullptr;
  const auto& deltas = line.at(own ? "deltas_keep" : "deltas").as_array("deltas");
  const std::string& flush = line.at(own ? "flush_keep" : "flush").as_string("flush");
  if (deltas.size() != ids.size()) return "not one delta per id";
  linnet::StreamDecoder decoder(tokenizer, skip_special);
  std::string joined;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string delta = decoder.push(ids[i]);
    joined += delta;
    const std::string what = fmt::format("{} delta {}", skip_special ? "skip" : "keep", i);
    if (auto fault = compare(deltas[i].as_string(), delta, what); !fault.empty()) return fault;
  }
  const std::string end = decoder.flush();
  if (auto fault = compare(flush, end, "flush"); !fault.empty()) return fault;
  return compare(tokenizer.decode(ids, skip_special), joined + end, "joined");
}

std::string check_word_wise(const Tokenizer& tokenizer, const Json& line) {
  const std::vector<TokenId> ids = ids_of(line.at("ids"));
  Json got = Json::array();
  linnet::WordwiseDecoder decoder(tokenizer);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto chunk = decoder.push(ids[i], i + 1 == ids.size());
    if (chunk) got.push_back(Json::Array{static_cast<std::int64_t>(i), *chunk});
  }
  return compare(line.at("word_wise").dump(), got.dump(), "word_wise");
}

std::string check(const Tokenizer& tokenizer, const Json& line) {
  for (const bool skip_special : {true, false}) {
    if (auto fault = check_deltas(tokenizer, line, skip_special); !fault.empty()) return fault;
  }
  return check_word_wise(tokenizer, line);
}

void run_file(const fs::path& path, Report& report) {
  const fs::path folder = (path.parent_path() / ".." / "tokenizer").lexically_normal();
  const fs::path file = tokenizer_path(folder, path.stem().string());
  const auto tokenizer = file.empty() ? nullptr : linnet::load_tokenizer_json(file);
  for_each_line(path, [&](int number, const Json& line) {
    const std::string name = fmt::format("{}:{}", path.filename().string(), number);
    if (tokenizer == nullptr) {
      report.skip(name, "the tokenizer file is not on this machine");
      return;
    }
    std::string fault;
    try {
      fault = check(*tokenizer, line);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    if (fault.empty()) {
      report.pass(name);
    } else {
      report.fail(name, fault);
    }
  });
}

bool accepts(const fs::path& folder) { return folder.filename() == "stream"; }

void run(const fs::path& folder, Report& report) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) run_file(path, report);
}

}  // namespace

extern const Suite kStreamSuite;
const Suite kStreamSuite{"stream", accepts, run};

}  // namespace golden
