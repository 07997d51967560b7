#include "cli/bench_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file_map.h"
#include "base/utf8.h"
#include "cli/bench_texts.h"
#include "cli/open_model.h"
#include "text/tokenizer.h"

namespace linnet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGeneratedBytes = 4'000'000;
constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 30;
// Short texts are encoded again until a run has so many bytes, or it would be shorter than the
// clock can tell.
constexpr std::size_t kLeastBytes = 1'000'000;

struct TextResult {
  std::string name;
  std::size_t bytes = 0;
  std::size_t tokens = 0;
  double first_mb = 0;                         // per second, like all below
  Spread encode_mb, encode_tokens, decode_mb;  // megabytes, tokens, megabytes
};

// A model without its weights will do: a tokenizer.json, a folder with one, a GGUF file.
std::shared_ptr<const Tokenizer> load(const fs::path& path, const OpenOptions& options) {
  if (path.extension() == ".json") return load_tokenizer_json(path);
  if (fs::exists(path / "tokenizer.json")) return load_tokenizer_json(path / "tokenizer.json");
  return open_model_files(path, options).load_tokenizer();
}

fs::path tokenizer_path(const GlobalOptions& globals) {
  const fs::path path = globals.model;
  if (path.empty()) return chosen_model(globals);
  return path.extension() == ".json" || fs::exists(path / "tokenizer.json") ? path
                                                                            : chosen_model(globals);
}

std::vector<BenchText> read_texts(const std::vector<std::string>& paths) {
  if (paths.empty()) return generated_texts(kGeneratedBytes);
  std::vector<BenchText> texts;
  for (const std::string& path : paths) {
    std::string text = read_text_file(path, kMaxTextBytes);
    if (text.empty()) fail(ErrorCode::invalid_argument, path + " is empty: nothing to measure");
    if (find_invalid_utf8(text)) text = repair_utf8(text);
    texts.push_back({fs::path(path).filename().string(), std::move(text)});
  }
  return texts;
}

TextResult measure(const Tokenizer& tokenizer, const BenchText& text, std::int64_t runs) {
  TextResult result;
  result.name = text.name;
  result.bytes = text.text.size();
  const std::size_t times = 1 + kLeastBytes / result.bytes;
  const double megabytes = static_cast<double>(result.bytes) / 1e6;
  std::vector<TokenId> ids;
  const auto encode = [&] { tokenizer.encode_to(text.text, {}, ids); };
  result.first_mb = rates(megabytes, time_runs(1, encode))[0];
  const auto again = [times](const auto& call) {
    return [times, &call] {
      for (std::size_t i = 0; i < times; ++i) call();
    };
  };
  const double work = static_cast<double>(times);
  const std::vector<double> encoding = time_runs(runs, again(encode));
  result.tokens = ids.size();
  result.encode_mb = spread_of(rates(work * megabytes, encoding));
  result.encode_tokens = spread_of(rates(work * static_cast<double>(ids.size()), encoding));
  std::string back;
  const auto decode = [&] { back = tokenizer.decode(ids, false); };
  result.decode_mb = spread_of(rates(work * megabytes, time_runs(runs, again(decode))));
  return result;
}

double bytes_per_token(const TextResult& result) {
  return static_cast<double>(result.bytes) /
         static_cast<double>(std::max<std::size_t>(result.tokens, 1));
}

void print_results(Output& out, const std::vector<TextResult>& results) {
  out.line(fmt::format("{:<20} {:>8} {:>7} | {:>8} {:>8} {:>8} {:>8} | {:>10} | {:>8}", "", "",
                       "bytes", "encode", "", "", "", "million", "decode"));
  out.line(fmt::format("{:<20} {:>8} {:>7} | {:>8} {:>8} {:>8} {:>8} | {:>10} | {:>8}", "text",
                       "MB", "/token", "MB/s min", "median", "max", "first", "tokens/s", "MB/s"));
  for (const TextResult& each : results) {
    std::string name = each.name.substr(0, 20);
    if (find_invalid_utf8(name)) name = repair_utf8(name);
    out.foreign(fmt::format("{:<20}", name));
    out.line(
        fmt::format(" {:>8.2f} {:>7.2f} | {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} | {:>10.1f} | "
                    "{:>8.0f}",
                    static_cast<double>(each.bytes) / 1e6, bytes_per_token(each),
                    each.encode_mb.min, each.encode_mb.median, each.encode_mb.max, each.first_mb,
                    each.encode_tokens.median / 1e6, each.decode_mb.median));
  }
}

Json results_json(const std::vector<TextResult>& results) {
  Json texts = Json::array();
  for (const TextResult& each : results) {
    Json json = Json::object();
    json.set("name", repair_utf8(each.name));
    json.set("bytes", each.bytes);
    json.set("tokens", each.tokens);
    json.set("bytes_per_token", bytes_per_token(each));
    json.set("first_encode_mb_per_second", each.first_mb);
    json.set("encode_mb_per_second", spread_json(each.encode_mb));
    json.set("encode_tokens_per_second", spread_json(each.encode_tokens));
    json.set("decode_mb_per_second", spread_json(each.decode_mb));
    texts.push_back(std::move(json));
  }
  return texts;
}

}  // namespace

int bench_tokenizer(CommandContext& context, const BenchOptions& options) {
  const fs::path path = tokenizer_path(context.globals);
  const OpenOptions open = open_options(context.globals);
  std::shared_ptr<const Tokenizer> tokenizer;
  const auto load_it = [&] { tokenizer = load(path, open); };
  load_it();  // the file comes from memory from here on
  const Spread loading = spread_of(time_runs(options.runs, load_it));
  std::vector<TextResult> results;
  for (const BenchText& text : read_texts(options.texts)) {
    load_it();  // one that has seen no words
    results.push_back(measure(*tokenizer, text, options.runs));
  }
  if (options.json) {
    Json json = Json::object();
    json.set("subject", "tokenizer");
    json.set("model", path.string());
    json.set("vocabulary", tokenizer->size());
    json.set("runs", options.runs);
    json.set("load_seconds", spread_json(loading));
    json.set("texts", results_json(results));
    context.out.foreign(json.dump({.indent = 2}) + "\n");
    return 0;
  }
  context.out.foreign(fmt::format("{}: {} ids, {} runs on one core\n", path.string(),
                                  tokenizer->size(), options.runs));
  context.out.line(fmt::format("load {:.1f} ms (from {:.1f} to {:.1f})\n", loading.median * 1e3,
                               loading.min * 1e3, loading.max * 1e3));
  print_results(context.out, results);
  return 0;
}

}  // namespace linnet
