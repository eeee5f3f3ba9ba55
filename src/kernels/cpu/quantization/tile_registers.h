#pragma once

#include <cstdint>
#include <cstring>

// Tile registers, of the processor and emulated, behind one interface. Instructions are named to
// the assembler, so no code here needs a processor of that kind but where it is called.
#if defined(__x86_64__) && defined(__linux__)
#define PLIMSOLL_PROCESSOR_TILES 1
#else
#define PLIMSOLL_PROCESSOR_TILES 0
#endif

namespace plimsoll::kernels::cpu {

inline constexpr int kTiles = 8;
inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kTileRowBytes = 64;
inline constexpr int64_t kTileBytes = kTileRows * kTileRowBytes;

#if PLIMSOLL_PROCESSOR_TILES
// Every tile gets all of its rows and bytes.
inline void ConfigureTiles() {
  struct alignas(64) Configuration {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  };
  static_assert(sizeof(Configuration) == 64);
  Configuration all;
  for (int tile = 0; tile < kTiles; ++tile) {
    all.row_bytes[tile] = kTileRowBytes;
    all.rows[tile] = kTileRows;
  }
  asm volatile("ldtilecfg %0" ::"m"(all));
}
inline void ReleaseTiles() { asm volatile("tilerelease"); }

// The calling thread's own, once configured.
class ProcessorTiles {
 public:
  template <int kTile>
  void Clear() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  // Rows of 64 bytes, one every `stride` bytes.
  template <int kTile>
  void Load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  void Store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  // sums[row][column] += the products of the bytes of row `row` of `kA` with those of column
  // `column` of `kB`, whose rows are quads of 16 columns. One of the two is signed.
  template <int kSums, int kA, int kB, bool kSignedA>
  void AddProducts() {
    if constexpr (kSignedA) {
      asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kA), "i"(kB));
    } else {
      asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kA), "i"(kB));
    }
  }
};
#else
inline void ConfigureTiles() {}
inline void ReleaseTiles() {}
#endif

// The same in plain code.
class EmulatedTiles {
 public:
  template <int kTile>
  void Clear() {
    std::memset(tiles_[kTile], 0, kTileBytes);
  }
  template <int kTile>
  void Load(const void* from, int64_t stride) {
    for (int64_t row = 0; row < kTileRows; ++row) {
      std::memcpy(tiles_[kTile][row], static_cast<const char*>(from) + row * stride, kTileRowBytes);
    }
  }
  template <int kTile>
  void Store(void* to, int64_t stride) const {
    for (int64_t row = 0; row < kTileRows; ++row) {
      std::memcpy(static_cast<char*>(to) + row * stride, tiles_[kTile][row], kTileRowBytes);
    }
  }
  template <int kSums, int kA, int kB, bool kSignedA>
  void AddProducts() {
    for (int64_t row = 0; row < kTileRows; ++row) {
      for (int64_t quad = 0; quad < kTileRows; ++quad) {
        for (int64_t column = 0; column < kTileRows; ++column) {
          for (int byte = 0; byte < 4; ++byte) {
            const uint32_t a = tiles_[kA][row][quad] >> (8 * byte) & 0xff;
            const uint32_t b = tiles_[kB][quad][column] >> (8 * byte) & 0xff;
            tiles_[kSums][row][column] +=
                kSignedA ? Signed(a) * b : a * Signed(b);  // wraps round, as in the processor
          }
        }
      }
    }
  }

 private:
  static uint32_t Signed(uint32_t byte) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(byte)));
  }
  uint32_t tiles_[kTiles][kTileRows][kTileRows];
};

}  // namespace plimsoll::kernels::cpu
