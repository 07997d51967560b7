// Tensors on their way into a file: loaded one at a time when their turn comes, brought to the type
// they shall have, written in pieces. Both writers (safetensors, GGUF) go through it, so memory
// stays bounded by the one tensor that a source may have to copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/thread_pool.h"
#include "formats/tensor_info.h"

namespace linnet {

struct OutgoingTensor {
  TensorInfo info;               // as it shall stand in the file
  std::function<Tensor()> load;  // of the same shape; of the same type, or one that decodes
};

// Bytes of all of them as they will stand in files, without headers and padding.
std::uint64_t total_bytes(const std::vector<OutgoingTensor>& tensors);

struct OutputOptions {
  int threads = 0;                            // 0: all cores
  std::function<void(double)> on_progress;    // from 0 to 1, on the calling thread
  const std::atomic<bool>* cancel = nullptr;  // raised: Error{cancelled}
};

class TensorOutput {
 public:
  // `bytes` is what all calls of write() together will write, for the progress.
  TensorOutput(std::uint64_t bytes, OutputOptions options);
  // Errors: those of load and of the file; cancelled; invalid_argument for values that the type
  // cannot hold; unsupported for a type that Linnet cannot write from the one that was loaded.
  void write(const OutgoingTensor& tensor, AtomicFile& file);

 private:
  void copy(Bytes bytes, AtomicFile& file);
  void convert(const Tensor& source, const TensorInfo& info, AtomicFile& file);
  void wrote(std::uint64_t bytes);

  OutputOptions options_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  std::unique_ptr<ThreadPool> pool_;  // made when a tensor has to change its type
};

}  // namespace linnet
