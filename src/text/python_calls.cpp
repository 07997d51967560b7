#include "text/python_calls.h"

#include <unordered_set>

#include "text/jinja_repr.h"
#include "text/json_scanner.h"
#include "text/python_literal.h"

namespace linnet {
namespace {

// Python ends lines at "\n", "\r\n" and "\r", within strings too.
std::string with_plain_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
      continue;
    }
    out += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  return out;
}

// As Json::dump with spaces, but floats as Python prints them (100000.0, 1e-05).
void write(const Json& value, std::string& out) {
  if (value.is_double()) {
    out += jinja::real_repr(value.as_double());
  } else if (value.is_array()) {
    out += '[';
    for (const Json& element : value.as_array()) {
      if (&element != &value.as_array().front()) out += ", ";
      write(element, out);
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    for (const auto& [key, member] : value.as_object()) {
      if (&key != &value.as_object().front().first) out += ", ";
      out += json_quote(key) + ": ";
      write(member, out);
    }
    out += '}';
  } else {
    out += value.dump();
  }
}

std::optional<Json> read_arguments(PythonReader& reader) {
  if (!reader.open('(')) return std::nullopt;
  Json::Object arguments;
  std::unordered_set<std::string> seen;
  while (!reader.close(')')) {
    auto key = reader.name();
    reader.skip_space();
    if (!key || !reader.take('=') || !seen.insert(*key).second) return std::nullopt;
    reader.skip_space();
    auto value = reader.literal();
    if (!value) return std::nullopt;
    arguments.emplace_back(std::move(*key), std::move(*value));
    reader.skip_space();
    if (reader.take(',')) {
      reader.skip_space();
    } else if (reader.peek() != ')') {
      return std::nullopt;
    }
  }
  return Json(std::move(arguments));
}

std::optional<ToolCall> read_call(PythonReader& reader) {
  auto name = reader.name();
  if (!name) return std::nullopt;
  reader.skip_space();
  const auto arguments = read_arguments(reader);
  if (!arguments) return std::nullopt;
  ToolCall call{std::move(*name), {}};
  write(*arguments, call.arguments);
  return call;
}

// Calls with `;` between them up to the end of the line.
bool read_line(PythonReader& reader, std::vector<ToolCall>& calls) {
  const auto line_ends = [&] {
    reader.skip_space();
    return reader.at_end() || reader.peek() == '\n' || reader.peek() == '#';
  };
  do {
    auto call = read_call(reader);
    if (!call) return false;
    calls.push_back(std::move(*call));
    if (line_ends()) return true;
    if (!reader.take(';')) return false;
  } while (!line_ends());
  return true;
}

}  // namespace

std::optional<std::vector<ToolCall>> read_python_calls(std::string_view body) {
  // Python takes no source with NUL.
  if (body.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string text = with_plain_newlines(trim_json_space(body));
  PythonReader reader(text);
  std::vector<ToolCall> calls;
  while (true) {
    const std::size_t column = reader.skip_to_statement();
    if (reader.at_end()) break;
    if (column > 0 || !read_line(reader, calls)) return std::nullopt;
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

}  // namespace linnet
