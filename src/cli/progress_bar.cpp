#include "cli/progress_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/interrupt.h"
#include "cli/options.h"

namespace linnet {
namespace {

constexpr double kQuietSeconds = 0.5;
constexpr double kRedrawSeconds = 0.05;
constexpr int kLongestBar = 40;

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const auto value = environment(name)) {
      return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos;
    }
  }
  return false;
}

std::string bar_text(double fraction, int cells, bool utf8) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::floor(fraction * cells * 8));
  const int full = eighths / 8;
  std::string bar;
  for (int i = 0; i < full; ++i) bar += utf8 ? "█" : "#";
  int drawn = full;
  if (utf8 && eighths % 8 != 0) {
    bar += kEighths[eighths % 8];
    ++drawn;
  }
  bar.append(static_cast<std::size_t>(std::max(0, cells - drawn)), ' ');
  return bar;
}

}  // namespace

std::string progress_text(const std::string& label, double fraction, int width, bool utf8) {
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const std::string percent = fmt::format("{:3.0f} %", std::floor(fraction * 100));
  // One column stays free: some terminals wrap when the last one is written.
  const int room = width - 1 - static_cast<int>(percent.size());
  if (room < 2) return percent.substr(0, static_cast<std::size_t>(std::max(0, width - 1)));
  const int label_room = std::min(room - 1, static_cast<int>(label.size()));
  const int cells = std::min(kLongestBar, room - label_room - 5);
  const std::string shown = terminal_safe(label.substr(0, static_cast<std::size_t>(label_room)));
  if (cells < 4) return fmt::format("{} {}", shown, percent);
  return fmt::format("{}  [{}] {}", shown, bar_text(fraction, cells, utf8), percent);
}

ProgressBar::ProgressBar(std::string label, const Terminal& terminal, Eta eta)
    : label_(std::move(label)), terminal_(terminal), eta_(eta) {}

std::string ProgressBar::label_with_eta(double fraction) const {
  const double done = fraction - first_;
  if (eta_ == Eta::hidden || done < 0.01) return label_;
  const double left = seconds_since(start_) * (1 - fraction) / done;
  if (left < 90) return fmt::format("{}, {:.0f} s left", label_, left);
  return fmt::format("{}, {:.0f} min left", label_, left / 60);
}

void ProgressBar::update(double fraction) {
  if (first_ < 0) first_ = fraction;
  if (!terminal_.err || seconds_since(start_) < kQuietSeconds) return;
  if (seconds_since(drawn_) < kRedrawSeconds) return;
  std::string text =
      progress_text(label_with_eta(fraction), fraction, terminal_width(), locale_is_utf8());
  if (text == shown_) return;
  if (shown_.empty()) set_farewell("\r\x1b[K");
  shown_ = std::move(text);
  drawn_ = Clock::now();
  write_error_text(std::string(kEraseLine) + styled(terminal_.err_color, kDim, shown_));
}

void ProgressBar::erase() {
  if (shown_.empty()) return;
  shown_.clear();
  write_error_text(kEraseLine);
  set_farewell(nullptr);
}

}  // namespace linnet
