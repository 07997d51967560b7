#include "text/output_parser.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::string_view kThink = "<think>";
constexpr std::string_view kEndThink = "</think>";
constexpr std::string_view kToolCall = "<tool_call>";
constexpr std::string_view kEndToolCall = "</tool_call>";
constexpr std::string_view kCode = "<code>";
constexpr std::string_view kEndCode = "</code>";

bool is_object(std::string_view text) {
  std::size_t at = 0;
  return text.starts_with('{') && scan_json_value(text, at) && at == text.size();
}

}  // namespace

std::optional<ToolTags> tool_tags_of(std::string_view word) {
  const auto* found = std::find(kToolTagWords.begin(), kToolTagWords.end(), word);
  if (found == kToolTagWords.end()) return std::nullopt;
  return static_cast<ToolTags>(found - kToolTagWords.begin());
}

bool is_output_tag(std::string_view text) {
  static constexpr std::string_view kTags[] = {kThink,       kEndThink, kToolCall,
                                               kEndToolCall, kCode,     kEndCode};
  return std::find(std::begin(kTags), std::end(kTags), text) != std::end(kTags);
}

std::optional<ToolCall> read_json_call(std::string_view body) {
  body = trim_json_space(body);
  if (!is_object(body)) return std::nullopt;
  const auto members = json_members(body);
  const auto name = last_member(members, "name");
  if (!name || !name->starts_with('"')) return std::nullopt;
  ToolCall call{json_string_content(*name), "{}"};
  if (call.name.empty()) return std::nullopt;
  auto arguments = last_member(members, "arguments");
  if (!arguments) arguments = last_member(members, "parameters");
  if (!arguments) return call;
  if (arguments->starts_with('{')) {
    call.arguments = *arguments;
    return call;
  }
  if (!arguments->starts_with('"')) return std::nullopt;
  const std::string inner = json_string_content(*arguments);
  call.arguments = trim_json_space(inner);
  if (!is_object(call.arguments)) return std::nullopt;
  return call;
}

OutputParser::OutputParser(OutputParserOptions options) {
  const ToolTags tools = options.tools;
  if (tools == ToolTags::xml || tools == ToolTags::both) open_tags_.push_back(kToolCall);
  if (tools == ToolTags::python || tools == ToolTags::both) open_tags_.push_back(kCode);
  enter(options.starts_in_reasoning ? State::reasoning : State::lead);
}

std::vector<OutputDelta> OutputParser::push(std::string_view text) {
  LINNET_CHECK(!finished_, "output pushed behind its end");
  for (std::size_t at = 0; at < text.size();) read(text, at);
  return std::exchange(deltas_, {});
}

void OutputParser::read(std::string_view text, std::size_t& at) {
  switch (state_) {
    case State::lead:
      return read_lead(text, at);
    case State::reasoning:
      return read_reasoning(text, at);
    case State::content:
      return read_content(text, at);
    case State::json:
      return read_json(text, at);
    case State::code:
      return read_code(text, at);
    case State::skip:
      return read_skipped(text, at);
  }
}

std::vector<OutputDelta> OutputParser::finish(OutputEnd end) {
  LINNET_CHECK(!finished_, "output finished twice");
  if (state_ == State::json) finish_json();
  if (state_ == State::code) refuse();
  const std::string rest = std::exchange(partial_, {});
  state_ == State::reasoning ? add_reasoning(rest) : add_content(rest);
  if (state_ != State::reasoning && !content_.empty() && !after_call_) {
    send(OutputKind::content, std::exchange(hold_, {}));
  }
  finished_ = true;
  if (!reasoning_.empty()) result_.reasoning = std::move(reasoning_);
  const bool called = !result_.tool_calls.empty();
  if (!content_.empty() || !called) result_.content = std::move(content_);
  result_.finish = end == OutputEnd::length ? "length" : called ? "tool_calls" : "stop";
  return std::exchange(deltas_, {});
}

const ParsedOutput& OutputParser::result() const {
  LINNET_CHECK(finished_, "the result of output that goes on");
  return result_;
}

void OutputParser::enter(State state) {
  state_ = state;
  tags_.clear();
  if (state == State::lead) tags_ = {kThink};
  if (state == State::reasoning) tags_ = {kEndThink};
  if (state == State::content) tags_ = open_tags_;
  if (state == State::skip || state == State::code) tags_ = {close_tag()};
}

// ---- tags -------------------------------------------------------------------------------------

bool OutputParser::may_begin_tag(std::string_view text) const {
  return std::any_of(tags_.begin(), tags_.end(),
                     [&](std::string_view tag) { return tag.starts_with(text); });
}

// A tag has no '<' but its first, so after a mismatch only the byte at hand may begin a new one.
bool OutputParser::find_tag(std::string_view text, std::size_t& at, Sink sink,
                            std::string_view& tag) {
  while (at < text.size()) {
    if (partial_.empty()) {
      const std::size_t stop =
          tags_.empty() ? text.size() : std::min(text.find('<', at), text.size());
      (this->*sink)(text.substr(at, stop - at));
      at = stop;
      if (at == text.size()) return false;
    }
    partial_ += text[at];
    if (may_begin_tag(partial_)) {
      ++at;
      for (const std::string_view whole : tags_) {
        if (partial_ != whole) continue;
        tag = whole;
        partial_.clear();
        return true;
      }
      continue;
    }
    partial_.pop_back();
    (this->*sink)(std::exchange(partial_, {}));
  }
  return false;
}

// ---- states -----------------------------------------------------------------------------------

void OutputParser::read_lead(std::string_view text, std::size_t& at) {
  const char c = text[at];
  if (partial_.empty() && is_json_space(c)) {
    hold_ += c;
    ++at;
    return;
  }
  partial_ += c;
  if (partial_ == kThink) {
    ++at;
    partial_.clear();
    hold_.clear();
    block_has_text_ = false;
    enter(State::reasoning);
  } else if (may_begin_tag(partial_)) {
    ++at;
  } else {
    // What was read of <think> may also begin another tag.
    partial_.pop_back();
    enter(State::content);
  }
}

void OutputParser::read_reasoning(std::string_view text, std::size_t& at) {
  std::string_view tag;
  if (!find_tag(text, at, &OutputParser::add_reasoning, tag)) return;
  hold_.clear();
  enter(State::lead);
}

void OutputParser::read_content(std::string_view text, std::size_t& at) {
  std::string_view tag;
  if (!find_tag(text, at, &OutputParser::add_content, tag)) return;
  open_tag_ = tag;
  body_.clear();
  value_done_ = false;
  scanner_ = JsonScanner();
  enter(tag == kToolCall ? State::json : State::code);
}

void OutputParser::read_skipped(std::string_view text, std::size_t& at) {
  std::string_view tag;
  if (!find_tag(text, at, &OutputParser::add_content, tag)) return;
  add_content(tag);
  enter(State::content);
}

void OutputParser::read_json(std::string_view text, std::size_t& at) {
  if (value_done_) return read_json_end(text, at);
  const std::size_t begin = at;
  const JsonScanner::State state = scanner_.scan(text, at);
  body_ += text.substr(begin, at - begin);
  if (state == JsonScanner::State::fault) refuse();
  value_done_ = state == JsonScanner::State::done;
}

void OutputParser::read_json_end(std::string_view text, std::size_t& at) {
  if (partial_.empty() && is_json_space(text[at])) {
    body_ += text[at++];
    return;
  }
  // On a mismatch the part of the close tag waits for the search for the next one.
  partial_ += text[at];
  if (!kEndToolCall.starts_with(partial_)) {
    partial_.pop_back();
    return refuse();
  }
  ++at;
  if (partial_ == kEndToolCall) finish_json();
}

// The value is whole, and the close tag too unless the output is over.
void OutputParser::finish_json() {
  std::optional<ToolCall> call;
  if (value_done_) call = read_json_call(body_);
  if (!call) return refuse();
  partial_.clear();
  accept({std::move(*call)});
}

void OutputParser::read_code(std::string_view text, std::size_t& at) {
  std::string_view tag;
  if (!find_tag(text, at, &OutputParser::add_body, tag)) return;
  auto calls = read_python_calls(body_);
  if (calls) return accept(std::move(*calls));
  partial_ = kEndCode;
  refuse();
}

void OutputParser::accept(std::vector<ToolCall> calls) {
  hold_.clear();
  after_call_ = true;
  for (ToolCall& call : calls) {
    result_.tool_calls.push_back(call);
    deltas_.push_back({OutputKind::tool_call, {}, std::move(call)});
  }
  enter(State::content);
}

// The text of no call: it is content up to the next close tag, of which `partial_` may have read
// a part, or all.
void OutputParser::refuse() {
  result_.parse_error = true;
  add_content(open_tag_);
  add_content(std::exchange(body_, {}));
  enter(State::skip);
  if (partial_ != close_tag()) return;
  add_content(std::exchange(partial_, {}));
  enter(State::content);
}

std::string_view OutputParser::close_tag() const {
  return open_tag_ == kCode ? kEndCode : kEndToolCall;
}

// ---- text -------------------------------------------------------------------------------------

void OutputParser::add_body(std::string_view text) { body_ += text; }

// Blocks are trimmed and joined by a blank line.
void OutputParser::add_reasoning(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kJsonSpace);
  if (last == std::string_view::npos) {
    hold_ += text;
    return;
  }
  if (!block_has_text_) {
    hold_ = reasoning_.empty() ? "" : "\n\n";
    text.remove_prefix(text.find_first_not_of(kJsonSpace));
  }
  block_has_text_ = true;
  const std::size_t end = text.find_last_not_of(kJsonSpace) + 1;
  send(OutputKind::reasoning, std::exchange(hold_, {}));
  send(OutputKind::reasoning, text.substr(0, end));
  hold_ = text.substr(end);
}

void OutputParser::add_content(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kJsonSpace);
  if (begin == std::string_view::npos) {
    hold_ += text;
    return;
  }
  hold_ += text.substr(0, begin);
  if (after_call_) {
    hold_ = content_.empty() ? "" : "\n";
  } else if (content_.empty()) {
    hold_.erase(0, hold_.find_last_of("\r\n") + 1);
  }
  after_call_ = false;
  const std::size_t end = text.find_last_not_of(kJsonSpace) + 1;
  send(OutputKind::content, std::exchange(hold_, {}));
  send(OutputKind::content, text.substr(begin, end - begin));
  hold_ = text.substr(end);
}

void OutputParser::send(OutputKind kind, std::string_view text) {
  if (text.empty()) return;
  (kind == OutputKind::reasoning ? reasoning_ : content_) += text;
  if (deltas_.empty() || deltas_.back().kind != kind) deltas_.push_back({kind, {}, {}});
  deltas_.back().text += text;
}

}  // namespace linnet
