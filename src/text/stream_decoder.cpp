#include "text/stream_decoder.h"

#include "base/utf8.h"

namespace linnet {
namespace {

// The last character of `bytes`, when it is whole and valid.
std::optional<char32_t> last_whole_point(std::string_view bytes) {
  for (std::size_t length = 1; length <= 4 && length <= bytes.size(); ++length) {
    const std::string_view tail = bytes.substr(bytes.size() - length);
    if ((static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80) continue;
    const Utf8Step step = decode_utf8(tail);
    if (step.kind == Utf8Step::Kind::valid && step.length == length) return step.point;
    break;
  }
  return std::nullopt;
}

bool is_cjk_ideograph(char32_t point) {
  struct Block {
    char32_t first;
    char32_t last;
  };
  static constexpr Block kBlocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF},
                                      {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const Block block : kBlocks) {
    if (point >= block.first && point <= block.last) return true;
  }
  return false;
}

// The first two bytes of a surrogate. No character can come of them, yet the reference's decoder
// waits for the third byte before it says so, and the moments at which text comes are tested.
bool is_cut_surrogate(std::string_view bytes) {
  return bytes.size() == 2 && bytes[0] == '\xED' && static_cast<unsigned char>(bytes[1]) >= 0xA0 &&
         static_cast<unsigned char>(bytes[1]) <= 0xBF;
}

}  // namespace

std::string StreamDecoder::push(TokenId id) {
  const std::string_view bytes = tokenizer_.token_bytes(id);
  if (skip_special_ && tokenizer_.is_special(id)) return {};
  held_ += bytes;
  std::string out;
  std::size_t at = 0;
  while (at < held_.size()) {
    const std::string_view rest = std::string_view(held_).substr(at);
    const Utf8Step step = decode_utf8(rest);
    if (step.kind == Utf8Step::Kind::incomplete || is_cut_surrogate(rest)) break;
    out += step.kind == Utf8Step::Kind::valid ? rest.substr(0, step.length) : kReplacementText;
    at += step.length;
  }
  held_.erase(0, at);
  return out;
}

std::string StreamDecoder::flush() {
  std::string out = repair_utf8(held_);
  held_.clear();
  return out;
}

std::optional<std::string> WordwiseDecoder::push(TokenId id, bool last) {
  const std::string_view bytes = tokenizer_.token_bytes(id);
  if (!tokenizer_.is_special(id)) {
    // Only new bytes are looked at, so long text without a space costs no more.
    const std::size_t space = bytes.rfind(' ');
    if (space != std::string_view::npos) last_space_ = pending_.size() + space;
    pending_ += bytes;
  }
  if (last || pending_.ends_with('\n')) return take(pending_.size());
  const auto point = last_whole_point(pending_);
  if (point && is_cjk_ideograph(*point)) return take(pending_.size());
  if (last_space_ > 0) return take(last_space_);
  return std::nullopt;
}

// A space or a whole character ends what is taken, so cutting bytes and repairing them commute.
std::string WordwiseDecoder::take(std::size_t count) {
  std::string out = repair_utf8(std::string_view(pending_).substr(0, count));
  pending_.erase(0, count);
  last_space_ = 0;
  return out;
}

}  // namespace linnet
