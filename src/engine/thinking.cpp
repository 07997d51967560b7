#include "engine/thinking.h"

#include <algorithm>

#include "base/error.h"

namespace linnet {

Thinking::Thinking(const std::optional<ThinkingTags>& tags) : tags_(tags) {
  if (!tags_) return;
  if (tags_->open.empty() || tags_->close.empty()) {
    fail(ErrorCode::invalid_argument, "thinking: the opening and the closing tag need ids");
  }
  if (tags_->budget < -1) {
    fail(ErrorCode::invalid_argument, "thinking: the budget must be at least 0, or -1 for none");
  }
  if (tags_->forced_close.empty()) tags_->forced_close = tags_->close;
  inside_ = tags_->begins_inside;
}

bool Thinking::ends_with(std::span<const TokenId> tag) const {
  return recent_.size() >= tag.size() &&
         std::equal(tag.begin(), tag.end(), recent_.end() - std::ssize(tag));
}

void Thinking::see(TokenId id) {
  if (!tags_) return;
  const std::size_t most = std::max(tags_->open.size(), tags_->close.size());
  if (recent_.size() == most) recent_.erase(recent_.begin());
  recent_.push_back(id);
  was_reasoning_ = inside_;
  if (inside_) {
    ++tokens_;
    if (!ends_with(tags_->close)) return;
    tokens_ = std::max<std::int64_t>(0, tokens_ - std::ssize(tags_->close));
    inside_ = false;
    recent_.clear();
  } else if (ends_with(tags_->open)) {
    inside_ = was_reasoning_ = true;
    recent_.clear();
  }
}

std::span<const TokenId> Thinking::forced(bool end_now) const {
  if (!inside_ || (!end_now && (tags_->budget < 0 || tokens_ < tags_->budget))) return {};
  return tags_->forced_close;
}

}  // namespace linnet
