// Appends ids to a vector without a check of its capacity at each one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

class IdSink {
 public:
  // The vector is longer than what was written until finish() is called.
  IdSink(std::vector<TokenId>& ids, std::size_t expected) : ids_(ids), size_(ids.size()) {
    ids_.resize(size_ + expected);
  }
  IdSink(const IdSink&) = delete;
  IdSink& operator=(const IdSink&) = delete;

  // A place for `count` ids; take() tells how many of them were written.
  TokenId* room(std::size_t count) {
    if (ids_.size() - size_ < count) ids_.resize(ids_.size() + std::max(ids_.size() / 2, count));
    return ids_.data() + size_;
  }
  void take(std::size_t count) { size_ += count; }
  void push(TokenId id) {
    *room(1) = id;
    take(1);
  }
  std::size_t size() const { return size_; }
  const TokenId* data() const { return ids_.data(); }
  void finish() { ids_.resize(size_); }

 private:
  std::vector<TokenId>& ids_;
  std::size_t size_;
};

}  // namespace linnet
