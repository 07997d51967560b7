#include "formats/gguf_rows.h"

#include <fmt/core.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/memory_account.h"

namespace linnet {

Tensor reorder_head_rows(const Tensor& tensor, std::int64_t heads, RowOrder to,
                         const std::string& what) {
  const std::int64_t rows = tensor.rank() == 0 ? 0 : tensor.dim(0);
  if (rows == 0 || tensor.rank() > 2 || rows % heads != 0 || rows / heads % 2 != 0) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: its rows must be an even number for each of the {} heads", what, heads));
  }
  if (tensor.rank() == 1 && !dtype_info(tensor.dtype()).plain()) {
    fail(ErrorCode::unsupported, fmt::format("{}: a bias in blocks cannot be reordered", what));
  }
  const std::size_t row_bytes = tensor.bytes().size() / static_cast<std::size_t>(rows);
  const std::int64_t head_dim = rows / heads;
  auto moved = std::make_shared<Buffer>(tensor.bytes().size(), MemoryAccount::weights());
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t in_head = row % head_dim;
    std::int64_t source = row;
    std::int64_t target = row - in_head + in_head % 2 * (head_dim / 2) + in_head / 2;
    if (to == RowOrder::interleaved) std::swap(source, target);
    std::memcpy(moved->data() + static_cast<std::size_t>(target) * row_bytes,
                tensor.bytes().data() + static_cast<std::size_t>(source) * row_bytes, row_bytes);
  }
  const Bytes bytes(moved->data(), moved->size());
  return Tensor(tensor.dtype(), tensor.shape(), bytes, std::move(moved));
}

}  // namespace linnet
