#include "kernels/tables.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/lanes_avx512.h"
#include "kernels/matrix_tiles.h"
#include "kernels/table.h"

namespace linnet {
namespace {

// The tile registers: 0 to 3 sums, 4 and 5 activations, 6 and 7 weights. All by hand, with the
// memory told: GCC 12's own functions name neither what a load reads nor what a configuration is
// made of, and lose the stores before them.
class AmxTiles {
 public:
  AmxTiles() = default;
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles() { asm volatile("tilerelease" ::: "memory"); }

  void configure(std::int64_t m0, std::int64_t m1) {
    if (m0 == m0_ && m1 == m1_) return;
    m0_ = m0, m1_ = m1;
    // A tile without rows may not be used, but must have some to be zeroed.
    const auto first = static_cast<std::uint8_t>(m0);
    const auto second = static_cast<std::uint8_t>(m1 > 0 ? m1 : 1);
    Configuration configuration;
    const std::uint8_t rows[8] = {first, first, second, second, first, second, 16, 16};
    for (int i = 0; i < 8; ++i) {
      configuration.row_bytes[i] = 64;
      configuration.rows[i] = rows[i];
    }
    asm volatile("ldtilecfg %0" ::"m"(configuration) : "memory");
  }
  template <int C>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(C) : "memory");
  }
  template <int C>
  void load_sums(const std::int32_t* at) {
    load<C>(at, kStripOutputs * 4);
  }
  template <int C>
  void store_sums(std::int32_t* at) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(at), "r"(kStripOutputs * 4), "i"(C)
                 : "memory");
  }
  template <int R>
  void load_rows(const std::byte* at) {
    load<4 + R>(at, 64);
  }
  template <int W>
  void load_weights(const std::byte* at) {
    load<6 + W>(at, 128);
  }
  template <int C>
  void multiply() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(4 + C / 2), "i"(6 + C % 2)
                 : "memory");
  }

 private:
  struct alignas(64) Configuration {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  };
  static_assert(sizeof(Configuration) == 64);

  template <int T>
  static void load(const void* at, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(at), "r"(stride), "i"(T) : "memory");
  }

  std::int64_t m0_ = 0, m1_ = 0;
};

// The processor has the tiles, and the system lets this process use them: it must be asked, once,
// and before there are threads.
bool may_use_tiles() {
  constexpr unsigned kTileBits = 1u << 24 | 1u << 25;  // AMX-TILE, AMX-INT8
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTileBits) != kTileBits) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool is_allowed = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return is_allowed;
}

}  // namespace

const Kernels kAmxKernels = with_tiles<Avx512Lanes, AmxTiles>(
    make_table<Avx512Lanes>("amx", "AMX int8 tiles and AVX-512 VNNI",
                            [] { return kAvx512Kernels.is_supported() && may_use_tiles(); }));

}  // namespace linnet
#endif
