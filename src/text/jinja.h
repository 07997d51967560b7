// Jinja2 templates as chat templates use them, with the behaviour of transformers' sandboxed
// environment (trim_blocks, lstrip_blocks, loop controls, its tojson, the generation tag).
// A template is parsed once and rendered many times, from any thread. Rendering is bounded in
// steps, depth, memory and output, and tells which bytes of its output came from the context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace linnet {

// A half-open range of bytes of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Span&) const = default;
};

// What a template's clock shows (strftime_now); no time zone is involved.
struct CivilTime {
  int year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

// Each limit is for one render. What the context itself takes (n bytes as values) comes on top: the
// values may hold n bytes more, the output 4 n, and n / 16 more steps are free.
struct JinjaLimits {
  std::uint64_t steps = 1'000'000;  // nodes evaluated, and bytes moved / 64
  int depth = 400;                  // nested evaluations: macro recursion, nested expressions
  std::size_t value_bytes = 16u << 20;
  std::size_t output_bytes = 16u << 20;
};

struct JinjaOptions {
  std::optional<CivilTime> now;  // absent: the machine's local time
  JinjaLimits limits;
  // Bytes of strings in the context (by address) that the host wrote itself and vouches for: they
  // do not count as input.
  std::unordered_map<const std::string*, std::vector<Span>> host_spans;
};

struct JinjaOutput {
  std::string text;
  std::vector<Span> input_spans;       // bytes that came from strings of the context; sorted
  std::vector<Span> generation_spans;  // what stood in {% generation %} blocks
};

enum class JinjaErrorKind { syntax, undefined, security, raised, runtime, limit };
std::string_view jinja_error_kind_name(JinjaErrorKind kind);

// what() is "NAME:LINE:COLUMN: DETAIL". The detail of a `raised` error is exactly the text that the
// template gave to raise_exception.
class JinjaError : public Error {
 public:
  struct Place {
    std::string name;
    int line = 0;
    int column = 0;
  };
  JinjaError(JinjaErrorKind kind, Place place, std::string detail);
  JinjaErrorKind kind() const { return kind_; }
  const Place& place() const { return place_; }
  const std::string& detail() const { return detail_; }

 private:
  JinjaErrorKind kind_;
  Place place_;
  std::string detail_;
};

class JinjaTemplate {
 public:
  // Throws JinjaError{syntax}, also for what is not UTF-8. `name` stands in error messages.
  static JinjaTemplate parse(std::string source, std::string name);
  // `context` is an object: the template's variables. Throws JinjaError.
  JinjaOutput render(const Json& context, const JinjaOptions& options = {}) const;
  const std::string& source() const;
  const std::string& name() const;

 private:
  struct Parsed;
  explicit JinjaTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace linnet
