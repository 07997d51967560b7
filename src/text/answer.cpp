#include "text/answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "text/jinja_unicode.h"
#include "text/json_scanner.h"

namespace linnet {
namespace {

using Members = std::vector<JsonMember>;

constexpr std::array<std::string_view, 4> kLabels = {"billing", "technical", "account", "general"};

// Nothing when a block does not end.
std::optional<std::string_view> without_reasoning(std::string_view text) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  while (true) {
    const std::size_t begin = std::min(text.find_first_not_of(kJsonSpace), text.size());
    if (!text.substr(begin).starts_with(kOpen)) return text;
    const std::size_t end = text.find(kClose, begin + kOpen.size());
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + kClose.size());
  }
}

// The whole objects of the text. A broken one ends at its fault, so objects inside are not seen.
std::vector<std::string_view> find_objects(std::string_view text) {
  std::vector<std::string_view> objects;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at)) {
    const std::size_t begin = at;
    if (scan_json_value(text, at)) objects.push_back(text.substr(begin, at - begin));
  }
  return objects;
}

// The category of each object that has one, and the members of the first of these.
struct Candidates {
  Members first;
  std::vector<std::string> categories;
  bool all_text = true;
};

Candidates find_candidates(const std::vector<std::string_view>& objects) {
  Candidates found;
  for (const std::string_view object : objects) {
    Members members = json_members(object);
    const auto category = last_member(members, "category");
    if (!category) continue;
    const bool is_text = category->starts_with('"');
    const std::string text = is_text ? json_string_content(*category) : "";
    found.categories.push_back(jinja::lower(trim_json_space(text)));
    if (found.categories.size() == 1) found.first = std::move(members);
    found.all_text = found.all_text && is_text;
  }
  return found;
}

// A JSON number from 0 to 1, in percent a hundred times as much; anything else is 0.
double confidence_of(std::string_view text, bool percent) {
  std::size_t at = 0;
  if (text.empty() || is_json_space(text[0]) || !scan_json_value(text, at)) return 0;
  if (at != text.size()) return 0;
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  // What a double cannot hold is too large, or as good as 0.
  if (read.ec != std::errc()) return 0;
  if (percent) value /= 100;
  return value > 0 && value <= 1 ? value : 0;
}

double read_confidence(const Members& members) {
  const auto source = last_member(members, "confidence");
  if (!source) return 0;
  if (!source->starts_with('"')) return confidence_of(*source, false);
  const std::string content = json_string_content(*source);
  std::string_view text = trim_json_space(content);
  const bool percent = text.ends_with('%');
  if (percent) {
    text.remove_suffix(1);
    if (text.ends_with(' ')) text.remove_suffix(1);
  }
  return confidence_of(text, percent);
}

std::optional<std::string> read_reply(const Members& members) {
  const auto source = last_member(members, "reply");
  if (!source || !source->starts_with('"')) return std::nullopt;
  std::string reply = json_string_content(*source);
  if (trim_json_space(reply).empty()) return std::nullopt;
  return reply;
}

RouterAnswer failed(AnswerFault fault) {
  RouterAnswer answer;
  answer.fault = fault;
  return answer;
}

}  // namespace

std::string_view answer_fault_name(AnswerFault fault) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "none",     "truncated_reasoning", "no_object", "missing_category", "category_not_text",
      "conflict", "unknown_label"};
  return kNames.at(static_cast<std::size_t>(fault));
}

RouterAnswer extract_answer(std::string_view model_text) {
  const auto text = without_reasoning(model_text);
  if (!text) return failed(AnswerFault::truncated_reasoning);
  const auto objects = find_objects(*text);
  if (objects.empty()) return failed(AnswerFault::no_object);
  const Candidates found = find_candidates(objects);
  if (found.categories.empty()) return failed(AnswerFault::missing_category);
  if (!found.all_text) return failed(AnswerFault::category_not_text);
  const std::string& category = found.categories.front();
  for (const std::string& other : found.categories) {
    if (other != category) return failed(AnswerFault::conflict);
  }
  if (std::find(kLabels.begin(), kLabels.end(), category) == kLabels.end()) {
    return failed(AnswerFault::unknown_label);
  }
  RouterAnswer answer;
  answer.category = category;
  answer.confidence = read_confidence(found.first);
  answer.reply = read_reply(found.first);
  answer.escalate = answer.confidence < kLeastConfidence || !answer.reply;
  return answer;
}

}  // namespace linnet
