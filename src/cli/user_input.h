// What the user means by one line or several: """ begins a text of several lines and ends it.
#pragma once

#include <string>

namespace linnet {

class UserInput {
 public:
  // True when the input is complete.
  bool add(const std::string& line);
  bool pending() const { return pending_; }
  // The complete input stood in quotes: it is text, whatever it begins with.
  bool quoted() const { return quoted_; }
  // The complete input; begins anew.
  std::string take();
  void cancel() { *this = {}; }

 private:
  bool pending_ = false;
  bool quoted_ = false;
  std::string text_;
};

}  // namespace linnet
