#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "kernels/tables.h"

namespace linnet {
namespace {

#if defined(__x86_64__)
const Kernels* const kTables[] = {&kAmxKernels, &kAvx512Kernels, &kAvx2Kernels, &kScalarKernels};
#elif defined(__aarch64__)
const Kernels* const kTables[] = {&kNeonKernels, &kScalarKernels};
#else
const Kernels* const kTables[] = {&kScalarKernels};
#endif

std::string table_names(bool only_supported) {
  std::string names;
  for (const Kernels* table : all_kernels()) {
    if (only_supported && !table->is_supported()) continue;
    if (!names.empty()) names += ", ";
    names += table->name;
  }
  return names;
}

const Kernels& table_named(std::string_view name) {
  for (const Kernels* table : all_kernels()) {
    if (table->name != name) continue;
    if (table->is_supported()) return *table;
    fail(ErrorCode::unsupported,
         fmt::format("LINNET_KERNELS={}: this machine lacks {}; it can run {}", name, table->needs,
                     table_names(true)));
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("LINNET_KERNELS={}: no such table of kernels; this build has {}", name,
                   table_names(false)));
}

}  // namespace

std::span<const Kernels* const> all_kernels() { return kTables; }

const Kernels& choose_kernels() {
  if (const char* name = std::getenv("LINNET_KERNELS"); name && *name) return table_named(name);
  for (const Kernels* table : all_kernels()) {
    if (table->is_supported()) return *table;
  }
  return kScalarKernels;
}

}  // namespace linnet
