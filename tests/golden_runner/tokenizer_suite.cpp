// Folder "tokenizer": NAME_cases, NAME_fuzz, NAME_long, NAME_pieces, NAME_invalid_utf8 and
// NAME_ignore_merges for each tokenizer NAME. One case per line.
#include <fmt/core.h>

#include <map>

#include "base/file_map.h"
#include "base/utf8.h"
#include "golden_runner/suite.h"
#include "golden_runner/tokenizer_files.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_json.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::SpecialParsing;
using linnet::TokenId;
using linnet::Tokenizer;
using linnet::TokenizerData;

// Everything that the lines of one tokenizer need.
struct Subject {
  fs::path folder;
  std::string name;
  TokenizerData data;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Tokenizer> without_ignore_merges;

  std::vector<TokenId> encode(std::string_view text, SpecialParsing parsing) const {
    return tokenizer->encode(text, {.parsing = parsing});
  }
};

// A check returns what is wrong, or nothing.
using Check = std::string (*)(const Subject&, const Json&);

std::string compare_ids(const Json& want, const std::vector<TokenId>& got, std::string_view what) {
  const std::vector<TokenId> ids = ids_of(want);
  return ids == got ? "" : fmt::format("{}: {}", what, difference(ids, got));
}

std::string compare_text(std::string_view want, std::string_view got, std::string_view what) {
  if (want == got) return "";
  return fmt::format("{}: want {}, got {}", what, linnet::json_quote(want),
                     linnet::json_quote(got));
}

std::string check_offsets(const Subject& subject, const Json& line, const std::string& text) {
  const linnet::Encoding encoding = subject.tokenizer->encode_with_offsets(text);
  std::vector<TokenId> flat;
  for (const linnet::TokenSpan span : encoding.spans) {
    flat.push_back(static_cast<TokenId>(span.begin));
    flat.push_back(static_cast<TokenId>(span.end));
  }
  if (encoding.ids != ids_of(line.at("ids"))) return "encode_with_offsets gives other ids";
  return compare_ids(line.at("offsets"), flat, "offsets");
}

std::string check_prefixes(const Subject& subject, const Json& line,
                           const std::vector<TokenId>& ids) {
  const Json* texts = line.find("prefix");
  const Json* hashes = line.find("prefix_fnv");
  const Json* list = texts != nullptr ? texts : hashes;
  if (list == nullptr) return "no prefix and no prefix_fnv";
  for (std::size_t i = 0; i < list->size(); ++i) {
    std::string got = subject.tokenizer->decode(std::span(ids).first(i + 1), false);
    if (texts == nullptr) got = fnv(got);
    const std::string fault =
        compare_text(list->as_array()[i].as_string(), got, fmt::format("prefix {}", i + 1));
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string check_case(const Subject& subject, const Json& line) {
  const std::string& text = line.at("text").as_string("text");
  const Json& ids = line.at("ids");
  const auto or_ids = [&](const char* key) -> const Json& {
    const Json* own = line.find(key);
    return own != nullptr ? *own : ids;
  };
  const std::vector<TokenId> got = subject.encode(text, SpecialParsing::all);
  if (auto fault = compare_ids(ids, got, "ids"); !fault.empty()) return fault;
  if (auto fault =
          compare_ids(or_ids("ids_plain"), subject.encode(text, SpecialParsing::none), "ids_plain");
      !fault.empty()) {
    return fault;
  }
  if (auto fault =
          compare_ids(or_ids("ids_special_plain"),
                      subject.encode(text, SpecialParsing::not_special), "ids_special_plain");
      !fault.empty()) {
    return fault;
  }
  const linnet::EncodeOptions surrounded{.add_special_tokens = true};
  if (subject.tokenizer->encode(text, surrounded) != got) return "add_special_tokens changes ids";
  const auto or_text = [&](const char* key) {
    const Json* own = line.find(key);
    return own != nullptr ? own->as_string(key) : text;
  };
  if (auto fault = compare_text(or_text("keep"), subject.tokenizer->decode(got, false), "keep");
      !fault.empty()) {
    return fault;
  }
  if (auto fault = compare_text(or_text("skip"), subject.tokenizer->decode(got, true), "skip");
      !fault.empty()) {
    return fault;
  }
  if (auto fault = check_offsets(subject, line, text); !fault.empty()) return fault;
  return check_prefixes(subject, line, got);
}

std::string check_fuzz(const Subject& subject, const Json& line) {
  const auto& row = line.as_array("fuzz");
  const std::string& text = row.at(0).as_string("text");
  if (auto fault = compare_ids(row.at(1), subject.encode(text, SpecialParsing::all), "ids");
      !fault.empty()) {
    return fault;
  }
  return compare_ids(row.size() > 2 ? row[2] : row[1], subject.encode(text, SpecialParsing::none),
                     "ids_plain");
}

// "unit" repeated, or the fuzz texts joined by newlines.
std::string long_text(const Subject& subject, const Json& line) {
  std::string text;
  if (const Json* unit = line.find("unit")) {
    const std::int64_t times = line.at("times").as_int_in(0, 1 << 24, "times");
    for (std::int64_t i = 0; i < times; ++i) text += unit->as_string("unit");
    return text;
  }
  for_each_line(subject.folder / (subject.name + "_fuzz.jsonl"), [&](int number, const Json& row) {
    if (number > 1) text += '\n';
    text += row.as_array("fuzz").at(0).as_string("text");
  });
  return text;
}

std::string check_long(const Subject& subject, const Json& line) {
  const std::string text = long_text(subject, line);
  const auto bytes = static_cast<std::size_t>(line.at("bytes").as_int("bytes"));
  if (text.size() != bytes) return fmt::format("the text has {} bytes, not {}", text.size(), bytes);
  const std::vector<TokenId> ids = subject.encode(text, SpecialParsing::all);
  const auto count = static_cast<std::size_t>(line.at("count").as_int("count"));
  if (ids.size() != count) return fmt::format("want {} ids, got {}", count, ids.size());
  const auto edge = [&](bool back) {
    const std::size_t some = std::min<std::size_t>(8, count);
    const std::span<const TokenId> all(ids);
    const auto part = back ? all.last(some) : all.first(some);
    return std::vector<TokenId>(part.begin(), part.end());
  };
  if (auto fault = compare_ids(line.at("first"), edge(false), "first"); !fault.empty())
    return fault;
  if (auto fault = compare_ids(line.at("last"), edge(true), "last"); !fault.empty()) return fault;
  return compare_text(line.at("ids_fnv").as_string(), fnv(ids), "ids_fnv");
}

std::string check_pieces(const Subject& subject, const Json& line) {
  const auto& row = line.as_array("pieces");
  std::vector<TokenId> lengths;
  linnet::PieceCursor cursor(subject.data.split, row.at(0).as_string("text"));
  while (!cursor.done()) lengths.push_back(static_cast<TokenId>(cursor.next().size()));
  return compare_ids(row.at(1), lengths, "lengths");
}

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

std::string check_invalid_utf8(const Subject& subject, const Json& line) {
  const std::string bytes = from_hex(line.at("hex").as_string("hex"));
  const auto bad = linnet::find_invalid_utf8(bytes);
  if (bad.has_value() == line.at("valid").as_bool("valid")) return "validity differs";
  const Json& first = line.at("first_bad_byte");
  if (bad && static_cast<std::int64_t>(*bad) != first.as_int("first_bad_byte")) {
    return fmt::format("first bad byte: want {}, got {}", first.as_int(), *bad);
  }
  if (auto fault =
          compare_text(line.at("repaired").as_string(), linnet::repair_utf8(bytes), "repaired");
      !fault.empty()) {
    return fault;
  }
  const linnet::EncodeOptions repair{.invalid_utf8 = linnet::InvalidUtf8::repair};
  return compare_ids(line.at("ids"), subject.tokenizer->encode(bytes, repair), "ids");
}

std::string check_ignore_merges(const Subject& subject, const Json& line) {
  const std::string& text = line.at("text").as_string("text");
  if (auto fault = compare_ids(line.at("ids"), subject.encode(text, SpecialParsing::all), "ids");
      !fault.empty()) {
    return fault;
  }
  return compare_ids(line.at("ids_without_ignore_merges"),
                     subject.without_ignore_merges->encode(text), "ids_without_ignore_merges");
}

struct Kind {
  const char* ending;
  Check check;
};

constexpr Kind kKinds[] = {
    {"_cases", check_case},
    {"_fuzz", check_fuzz},
    {"_long", check_long},
    {"_pieces", check_pieces},
    {"_invalid_utf8", check_invalid_utf8},
    {"_ignore_merges", check_ignore_merges},
};

Subject load(const fs::path& folder, const std::string& name, const fs::path& path) {
  const auto file = linnet::FileMap::open(path);
  Subject subject;
  subject.folder = folder;
  subject.name = name;
  subject.data = linnet::tokenizer_data_from_json(linnet::as_text(file->bytes()), path.string());
  subject.tokenizer = std::make_unique<Tokenizer>(subject.data);
  TokenizerData merging = subject.data;
  merging.ignore_merges = false;
  subject.without_ignore_merges = std::make_unique<Tokenizer>(std::move(merging));
  return subject;
}

void run_file(const fs::path& path, const Kind& kind, const Subject* subject, Report& report) {
  for_each_line(path, [&](int number, const Json& line) {
    const std::string name = fmt::format("{}:{}", path.filename().string(), number);
    if (subject == nullptr) {
      report.skip(name, "the tokenizer file is not on this machine");
      return;
    }
    std::string fault;
    try {
      fault = kind.check(*subject, line);
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

bool accepts(const fs::path& folder) { return folder.filename() == "tokenizer"; }

void run(const fs::path& folder, Report& report) {
  struct Entry {
    fs::path path;
    const Kind* kind;
  };
  std::map<std::string, std::vector<Entry>> by_name;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".jsonl") continue;
    const std::string stem = file.path().stem().string();
    bool known = false;
    for (const Kind& kind : kKinds) {
      if (!stem.ends_with(kind.ending)) continue;
      by_name[stem.substr(0, stem.size() - std::string_view(kind.ending).size())].push_back(
          {file.path(), &kind});
      known = true;
    }
    if (!known) report.skip(stem, "a kind of file that this suite does not know");
  }
  for (const auto& [name, entries] : by_name) {
    const fs::path path = tokenizer_path(folder, name);
    Subject subject;
    if (!path.empty()) subject = load(folder, name, path);
    for (const Entry& entry : entries) {
      run_file(entry.path, *entry.kind, path.empty() ? nullptr : &subject, report);
    }
  }
}

}  // namespace

extern const Suite kTokenizerSuite;
const Suite kTokenizerSuite{"tokenizer", accepts, run};

}  // namespace golden
