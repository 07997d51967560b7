#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace linnet {
namespace {

// What may follow a lead byte: how many bytes, and the range of the first of them (it is narrower
// than 80..BF where overlong forms, surrogates or values over U+10FFFF would begin).
struct Lead {
  std::size_t length;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  if (byte < 0xF4) return {4};
  return {0};
}

// Length of the ASCII run that begins at `at`.
std::size_t ascii_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  for (; end + 8 <= text.size(); end += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + end, 8);
    if (word & 0x8080808080808080u) break;
  }
  while (end < text.size() && static_cast<unsigned char>(text[end]) < 0x80) ++end;
  return end - at;
}

}  // namespace

Utf8Step decode_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const Lead lead = lead_of(first);
  if (lead.length == 1) return {Utf8Step::Kind::valid, first, 1};
  if (lead.length == 0) return {Utf8Step::Kind::wrong, kReplacementPoint, 1};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {Utf8Step::Kind::incomplete, kReplacementPoint, i};
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {Utf8Step::Kind::wrong, kReplacementPoint, i};
  }
  std::size_t at = 0;
  return {Utf8Step::Kind::valid, next_valid_point(text, at), lead.length};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t at = ascii_run(text, 0); at < text.size(); at += ascii_run(text, at)) {
    const Utf8Step step = decode_utf8(text.substr(at));
    if (step.kind != Utf8Step::Kind::valid) return at;
    at += step.length;
  }
  return std::nullopt;
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t run = ascii_run(text, at);
    out.append(text.substr(at, run));
    at += run;
    if (at == text.size()) break;
    const Utf8Step step = decode_utf8(text.substr(at));
    out.append(step.kind == Utf8Step::Kind::valid ? text.substr(at, step.length)
                                                  : kReplacementText);
    at += step.length;
  }
  return out;
}

void append_utf8(std::string& out, char32_t point) {
  const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    push(point);
  } else if (point < 0x800) {
    push(0xC0 | point >> 6);
    push(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    push(0xE0 | point >> 12);
    push(0x80 | (point >> 6 & 0x3F));
    push(0x80 | (point & 0x3F));
  } else {
    push(0xF0 | point >> 18);
    push(0x80 | (point >> 12 & 0x3F));
    push(0x80 | (point >> 6 & 0x3F));
    push(0x80 | (point & 0x3F));
  }
}

}  // namespace linnet
