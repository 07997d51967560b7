#include "cli/token_record.h"

#include <fmt/core.h>

#include <iterator>

#include "base/json.h"

namespace linnet {
namespace {

// "name":[...]: the list has an item for each id.
template <typename Append>
void append_list(std::string& out, std::string_view name, std::size_t count, Append append) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[", name);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    append(i);
  }
  out += ']';
}

}  // namespace

std::string token_record(const Encoding& encoding, const Tokenizer& tokenizer,
                         TokenRecordParts parts) {
  const std::size_t count = encoding.ids.size();
  std::string out = fmt::format("{{\"count\":{}", count);
  const auto append = std::back_inserter(out);
  if (parts.ids) {
    append_list(out, "ids", count,
                [&](std::size_t i) { fmt::format_to(append, "{}", encoding.ids[i]); });
  }
  if (parts.pieces) {
    append_list(out, "pieces", count,
                [&](std::size_t i) { out += json_quote(tokenizer.token_bytes(encoding.ids[i])); });
  }
  if (parts.offsets) {
    append_list(out, "offsets", count, [&](std::size_t i) {
      const TokenSpan span = encoding.spans[i];
      fmt::format_to(append, "[{},{}]", span.begin, span.end);
    });
  }
  out += '}';
  return out;
}

}  // namespace linnet
