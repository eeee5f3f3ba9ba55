#pragma once

#include <cstdint>
#include <optional>

// The tile registers that some processors have for products of matrices (Intel's AMX): eight of 16
// rows of 64 bytes. An instruction multiplies two of them and adds the products to a third.
namespace plimsoll::kernels::cpu {

// Which tiles products of bytes use. Emulated ones, in plain code, are for tests of everything
// around them on other processors.
enum class TileUnit { kNone, kProcessor, kEmulated };

// The processor has tiles for bytes and the system lets this process use them. Asks the system at
// the first call.
bool ProcessorHasByteTiles();

// What kernels that the calling thread prepares are to use: the innermost TileScope's, else what
// PLIMSOLL_BYTE_TILES says (none, emulated), else the processor's where it has them.
TileUnit UsableTiles();

// For tests: kernels that the calling thread prepares while it lives use these tiles.
class TileScope {
 public:
  explicit TileScope(TileUnit unit);
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const std::optional<TileUnit> before_;
};

// Makes the tiles of the calling thread usable while it lives. Threads that leave them configured
// would carry 8 KiB more through every switch to another thread.
class TileShare {
 public:
  explicit TileShare(TileUnit unit);
  ~TileShare();
  TileShare(const TileShare&) = delete;
  TileShare& operator=(const TileShare&) = delete;

 private:
  const bool configured_;
};

}  // namespace plimsoll::kernels::cpu
