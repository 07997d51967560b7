// The only file that sees nlohmann::json: its SAX parser feeds our own value.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "base/file_map.h"
#include "base/json.h"

namespace linnet {
namespace {

constexpr std::size_t kShownBytes = 160;

// Both ends of a text that may be as long as the file.
std::string shortened(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  return fmt::format("{} [...] {}", text.substr(0, kShownBytes / 2),
                     text.substr(text.size() - kShownBytes / 2));
}

class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const std::string& name, Json::ParseOptions options) : name_(name), options_(options) {}

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(number_integer_t value) override { return put(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(Json(value)); }
  // Whole numbers beyond 64 bits come here too.
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") != string_t::npos) return put(Json(value));
    if (text.size() > LargeInteger::kMaxDigits) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: a number of {} digits; at most {} are read", name_, text.size(),
                       LargeInteger::kMaxDigits));
    }
    return put(Json(LargeInteger{text}));
  }
  bool string(string_t& value) override { return put(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!options_.allow_duplicate_keys && !keys_.back().insert(name).second) {
      fail(ErrorCode::invalid_argument, fmt::format("{}: key {} stands twice in one object", name_,
                                                    json_quote(shortened(name))));
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // nlohmann's text starts with an internal code in brackets, of no use to a reader.
    std::string_view reason = error.what();
    if (const auto end = reason.find("] "); end != std::string_view::npos)
      reason.remove_prefix(end + 2);
    const std::string where =
        key_.empty() ? "" : fmt::format(" (after key {})", json_quote(shortened(key_)));
    fail(ErrorCode::invalid_argument, fmt::format("{}: not valid JSON at byte {}{}: {}", name_,
                                                  position, where, shortened(reason)));
  }

  Json take() { return std::move(root_); }

 private:
  bool put(Json value) {
    place(std::move(value));
    return true;
  }

  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return parent.as_array().back();
    }
    if (options_.allow_duplicate_keys) {
      parent.set(key_, std::move(value));
      return *parent.find(key_);
    }
    parent.as_object().emplace_back(std::move(key_), std::move(value));
    return parent.as_object().back().second;
  }

  bool open(Json container) {
    if (static_cast<int>(open_.size()) >= options_.max_depth) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: JSON nested deeper than {} levels", name_, options_.max_depth));
    }
    // Pointers to containers stay valid: a container's parent grows only after it was closed.
    open_.push_back(&place(std::move(container)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const std::string& name_;
  Json::ParseOptions options_;
  Json root_;
  std::string key_;
  std::vector<Json*> open_;
  std::vector<std::unordered_set<std::string>> keys_;
};

}  // namespace

Json Json::parse(std::string_view text, const std::string& name, ParseOptions options) {
  Builder builder(name, options);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json Json::parse_file(const std::string& path) {
  const std::string text = read_text_file(path);
  try {
    return parse(text, path);
  } catch (const Error& error) {
    throw Error(ErrorCode::corrupt_file, error.what());
  }
}

}  // namespace linnet
