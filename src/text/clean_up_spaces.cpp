#include "text/clean_up_spaces.h"

#include <utility>

namespace linnet {
namespace {

// In this order: " ' " before " 's", so that "a ' s" becomes "a's".
constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
    {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  for (std::size_t hit = text.find(from); hit != std::string_view::npos;
       hit = text.find(from, at)) {
    out += text.substr(at, hit - at);
    out += to;
    at = hit + from.size();
  }
  out += text.substr(at);
  return out;
}

}  // namespace

std::string clean_up_spaces(std::string_view text) {
  std::string out(text);
  for (const auto& [from, to] : kReplacements) out = replaced(out, from, to);
  return out;
}

}  // namespace linnet
