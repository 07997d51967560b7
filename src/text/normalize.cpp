#include "text/normalize.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace linnet {

std::string to_nfc(std::string_view text) {
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &raw,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(raw, &std::free);
  if (length < 0) {
    const bool memory = length == UTF8PROC_ERROR_NOMEM;
    fail(memory ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
         std::string("the text cannot be brought to the form NFC: ") + utf8proc_errmsg(length));
  }
  return {reinterpret_cast<const char*>(raw), static_cast<std::size_t>(length)};
}

}  // namespace linnet
