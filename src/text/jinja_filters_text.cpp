// Filters that turn a text into another one.
#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_format.h"
#include "text/jinja_json.h"
#include "text/jinja_text_parts.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

template <std::string (*kMap)(std::string_view)>
Value mapped(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("filter", args, {});
  const Text text = to_text(runtime.heap, input);
  runtime.heap.reserve(text.size() * 3);
  runtime.heap.work(text.size() * 4);
  Text out = Text::mapped(text, kMap(text.bytes()));
  out.set_markup(text.markup());
  return runtime.heap.text(std::move(out));
}

// Words begin behind a hyphen, white space or an opening bracket.
std::string title(std::string_view text) {
  std::string out;
  bool start = true;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::string_view character = text.substr(at, character_size(text, at));
    const std::uint32_t code = code_point(text, at);
    const bool separator =
        is_space(code) || (code < 0x80 && std::string_view("-({[<").find(static_cast<char>(code)) !=
                                              std::string_view::npos);
    out += start && !separator ? upper(character) : lower(character);
    start = separator;
  }
  return out;
}

Value trim(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("trim", args, {"chars"});
  const Text* set = bound.given(0) && !bound[0]->is_none() ? bound.exact_text(0) : nullptr;
  const Text text = to_text(runtime.heap, input);
  runtime.heap.work(text.size());
  return runtime.heap.text(strip(text, set, {}));
}

Value replace_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("replace", args, {"old", "new", "count"}, 2);
  const std::int64_t limit = bound.given(2) && !bound[2]->is_none() ? bound.integer(2, -1) : -1;
  return runtime.heap.text(replace_checked(runtime.heap, to_text(runtime.heap, input),
                                           bound.text(runtime, 0, ""), bound.text(runtime, 1, ""),
                                           limit));
}

Value string(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("string", args, {});
  return to_text_value(runtime.heap, input);
}

Value escape(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("escape", args, {});
  const Text text = to_text(runtime.heap, input);
  if (text.markup()) return input;
  runtime.heap.reserve(text.size() * 5);
  return runtime.heap.text(html_escape(text));
}

Value force_escape(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("forceescape", args, {});
  const Text text = to_text(runtime.heap, input);
  runtime.heap.reserve(text.size() * 5);
  return runtime.heap.text(html_escape(text));
}

Value safe(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("safe", args, {});
  Text text = to_text(runtime.heap, input);
  text.set_markup(true);
  return runtime.heap.text(std::move(text));
}

Value format(Runtime& runtime, const Value& input, const Args& args) {
  if (!args.positional.empty() && !args.named.empty()) {
    type_error("can't handle positional and keyword arguments at the same time");
  }
  Heap& heap = runtime.heap;
  if (args.named.empty()) {
    return heap.text(percent_format(heap, to_text(heap, input), heap.tuple(args.positional)));
  }
  std::vector<DictData::Member> members;
  for (const auto& [key, value] : args.named) members.emplace_back(heap.text(key), value);
  return heap.text(percent_format(heap, to_text(heap, input), heap.dict(std::move(members))));
}

Value to_json_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  if (bound.given(1) && !bound[1]->is_none()) {
    const std::int64_t width =
        bound[1]->is_text() ? 0 : std::clamp<std::int64_t>(bound.integer(1, 0), 0, 1000);
    style.indent =
        bound[1]->is_text() ? bound[1]->bytes() : std::string(static_cast<std::size_t>(width), ' ');
    style.item_separator = ",";
  }
  if (bound.given(2) && !bound[2]->is_none()) {
    const std::vector<Value> pair = iterate(runtime.heap, *bound[2]);
    if (pair.size() != 2 || !pair[0].is_text() || !pair[1].is_text()) {
      value_error("tojson: separators must be two strings");
    }
    style.item_separator = pair[0].bytes();
    style.key_separator = pair[1].bytes();
  }
  return runtime.heap.text(to_json(runtime.heap, input, style));
}

Value word_count(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("wordcount", args, {});
  const Text text = to_text(runtime.heap, input);
  runtime.heap.work(text.size());
  std::int64_t count = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at += character_size(text.bytes(), at)) {
    const bool word = is_word(code_point(text.bytes(), at));
    count += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value(count);
}

std::string percent_encode(std::string_view text, bool form) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("-_.~").find(c) != std::string_view::npos;
    if (plain || (c == '/' && !form)) {
      out += c;
    } else if (c == ' ' && form) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Value url_encode(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("urlencode", args, {});
  Heap& heap = runtime.heap;
  const auto quote = [&](const Value& value, bool form) {
    const Text text = to_text(heap, value);
    heap.reserve(text.size() * 3);
    return Text::like(text, percent_encode(text.bytes(), form));
  };
  if (!input.is_dict() && !input.is_list()) return heap.text(quote(input, false));
  Text out;
  const auto add = [&](const Value& key, const Value& value) {
    if (!out.empty()) out.append("&");
    out.append(quote(key, true));
    out.append("=");
    out.append(quote(value, true));
    heap.reserve(out.size());
  };
  if (input.is_dict()) {
    for (const auto& [key, value] : input.dict()->members) add(key, value);
  } else {
    for (const Value& entry : input.list()->items) {
      const std::vector<Value> pair = iterate(heap, entry);
      if (pair.size() != 2) value_error("urlencode: expected pairs");
      add(pair[0], pair[1]);
    }
  }
  return heap.text(std::move(out));
}

// Comments and tags go, white space becomes single blanks, the five common entities are undone.
Value strip_tags(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("striptags", args, {});
  const Text text = to_text(runtime.heap, input);
  runtime.heap.work(text.size() * 8);
  std::string bare = text.bytes();
  const auto cut = [&](std::string_view open, std::string_view close) {
    std::string kept;
    std::size_t at = 0;
    for (std::size_t begin = bare.find(open); begin != std::string::npos;
         begin = bare.find(open, at)) {
      const std::size_t end = bare.find(close, begin + open.size());
      if (end == std::string::npos) break;
      kept.append(bare, at, begin - at);
      at = end + close.size();
    }
    bare = kept + bare.substr(at);
  };
  cut("<!--", "-->");
  cut("<", ">");
  std::string words;
  for (const Text& word : split(runtime.heap, Text(bare), nullptr, -1, false)) {
    words += (words.empty() ? "" : " ") + word.bytes();
  }
  Text out(std::move(words));
  static constexpr std::pair<const char*, const char*> kEntities[] = {
      {"&lt;", "<"},    {"&gt;", ">"},  {"&#34;", "\""},
      {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : kEntities)
    out = replace(out, Text(entity), Text(character), -1);
  return runtime.heap.text(Text::like(text, out.take_bytes()));
}

Value xml_attributes(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("xmlattr", args, {"autospace"});
  if (!input.is_dict()) type_error("xmlattr: expected a dict");
  Text out;
  for (const auto& [key, value] : input.dict()->members) {
    if (value.is_none() || value.is_undefined()) continue;
    const Text name = to_text(runtime.heap, key);
    if (name.bytes().find_first_of(" \t\n\r\f/>=") != std::string::npos) {
      value_error(fmt::format("Invalid character in attribute name: '{}'", name.bytes()));
    }
    if (bound.flag(0, true) || !out.empty()) out.append(" ");
    out.append(html_escape(name));
    out.append("=\"");
    out.append(html_escape(to_text(runtime.heap, value)));
    out.append("\"");
    runtime.heap.reserve(out.size());
  }
  return runtime.heap.text(std::move(out));
}

Value pretty(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("pprint", args, {});
  return runtime.heap.text(repr(runtime.heap, input));
}

constexpr Filter kFilters[] = {
    {"upper", mapped<upper>},
    {"lower", mapped<lower>},
    {"capitalize", mapped<capitalize>},
    {"title", mapped<title>},
    {"trim", trim},
    {"replace", replace_filter},
    {"string", string},
    {"escape", escape},
    {"e", escape},
    {"forceescape", force_escape},
    {"safe", safe},
    {"format", format},
    {"tojson", to_json_filter},
    {"wordcount", word_count},
    {"urlencode", url_encode},
    {"striptags", strip_tags},
    {"xmlattr", xml_attributes},
    {"pprint", pretty},
};

}  // namespace

std::span<const Filter> text_filters() { return kFilters; }

}  // namespace linnet::jinja
