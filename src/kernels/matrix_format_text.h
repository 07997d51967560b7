// Formats of packed matrices as text, for files: "i8", or for grouped ones
// "grouped:32:f16:bias:0:f8f9...": group, scale, bias or plain, zero, and the sixteen levels of the
// table in hexadecimal, or "bytes".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/matrix_format.h"

namespace linnet {

std::string matrix_format_text(const MatrixFormat& format);
// None for text that is not of that form, or whose numbers no grouped format has.
std::optional<MatrixFormat> matrix_format_of(std::string_view text);

}  // namespace linnet
