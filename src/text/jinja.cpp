#include "text/jinja.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "text/jinja_clock.h"
#include "text/jinja_context.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_parser.h"

namespace linnet {

std::string_view jinja_error_kind_name(JinjaErrorKind kind) {
  static constexpr std::string_view kNames[] = {"syntax", "undefined", "security",
                                                "raised", "runtime",   "limit"};
  return kNames[static_cast<int>(kind)];
}

namespace {

// A template may raise a message of any size, and names in it may be of any length.
std::string shortened(std::string detail) {
  constexpr std::size_t kMost = 4096;
  if (detail.size() <= kMost) return detail;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(detail[end]) & 0xC0) == 0x80) --end;
  detail.resize(end);
  return detail + "...";
}

}  // namespace

JinjaError::JinjaError(JinjaErrorKind kind, Place place, std::string detail)
    : Error(ErrorCode::invalid_argument,
            fmt::format("{}:{}:{}: {}", place.name, place.line, place.column, detail)),
      kind_(kind),
      place_(std::move(place)),
      detail_(std::move(detail)) {}

struct JinjaTemplate::Parsed {
  std::string name;
  std::string source;
  std::string normalized;
  jinja::Body body;

  JinjaError::Place place(std::uint32_t at) const {
    const std::string_view before =
        std::string_view(normalized).substr(0, std::min<std::size_t>(at, normalized.size()));
    const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    const auto column = static_cast<int>(before.size() - (before.rfind('\n') + 1)) + 1;
    return {name, line, column};
  }
};

namespace {

// Longer templates are refused: offsets are kept in 32 bits.
constexpr std::size_t kMaxSource = 16u << 20;

void check_clock(const CivilTime& t) {
  const bool valid = t.year >= 1 && t.year <= 9999 && t.month >= 1 && t.month <= 12 && t.day >= 1 &&
                     t.day <= 31 && t.hour >= 0 && t.hour < 24 && t.minute >= 0 && t.minute < 60 &&
                     t.second >= 0 && t.second <= 60;
  if (valid) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("the template clock {}-{}-{} {}:{}:{} is no time", t.year, t.month, t.day,
                   t.hour, t.minute, t.second));
}

}  // namespace

JinjaTemplate JinjaTemplate::parse(std::string source, std::string name) {
  auto parsed = std::make_shared<Parsed>();
  parsed->name = std::move(name);
  parsed->source = std::move(source);
  if (parsed->source.size() > kMaxSource) {
    throw JinjaError(JinjaErrorKind::syntax, {parsed->name, 1, 1},
                     fmt::format("the template is longer than {} bytes", kMaxSource));
  }
  parsed->normalized = jinja::normalize_source(parsed->source);
  if (const auto wrong = find_invalid_utf8(parsed->normalized)) {
    throw JinjaError(JinjaErrorKind::syntax, parsed->place(static_cast<std::uint32_t>(*wrong)),
                     "the template is not UTF-8 here");
  }
  try {
    parsed->body = jinja::parse_template(parsed->normalized);
  } catch (const jinja::SyntaxFault& bad) {
    throw JinjaError(JinjaErrorKind::syntax, parsed->place(bad.at), shortened(bad.detail));
  }
  return JinjaTemplate(std::move(parsed));
}

const std::string& JinjaTemplate::source() const { return parsed_->source; }
const std::string& JinjaTemplate::name() const { return parsed_->name; }

JinjaOutput JinjaTemplate::render(const Json& context, const JinjaOptions& options) const {
  const CivilTime now = options.now ? *options.now : jinja::local_time();
  check_clock(now);
  context.as_object("template context");
  jinja::Heap heap;
  std::uint32_t at = 0;
  try {
    const jinja::Value variables = jinja::value_of(heap, context, options.host_spans);
    heap.set_limits(options.limits);
    jinja::Runtime runtime(heap, now);
    jinja::Interpreter interpreter(runtime, variables);
    try {
      interpreter.run_template(parsed_->body);
    } catch (const jinja::Fault&) {
      at = interpreter.at();
      throw;
    }
    const jinja::Text& output = interpreter.output();
    return {output.bytes(), output.input(), interpreter.generation_spans()};
  } catch (const jinja::Fault& bad) {
    throw JinjaError(bad.kind, parsed_->place(at), shortened(bad.detail));
  }
}

}  // namespace linnet
