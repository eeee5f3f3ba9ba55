#include "kernels/cpu/quantization/tile_unit.h"

#include <cstdlib>
#include <string_view>

#include "kernels/cpu/quantization/tile_registers.h"

#if PLIMSOLL_PROCESSOR_TILES
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace plimsoll::kernels::cpu {
namespace {

#if PLIMSOLL_PROCESSOR_TILES
bool ProcessorLists(unsigned bit) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> bit & 1) != 0;
}

// The system saves tiles of a thread only where the process asked for it.
bool SystemAllowsTiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // the state's number
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool FindByteTiles() {
  constexpr unsigned kTiles = 24;
  constexpr unsigned kProductsOfBytes = 25;
  return ProcessorLists(kTiles) && ProcessorLists(kProductsOfBytes) && SystemAllowsTiles();
}
#else
bool FindByteTiles() { return false; }
#endif

TileUnit TilesOfProcess() {
  static const TileUnit chosen = [] {
    const char* const set = std::getenv("PLIMSOLL_BYTE_TILES");
    const std::string_view wanted = set == nullptr ? "" : set;
    if (wanted == "none") return TileUnit::kNone;
    if (wanted == "emulated") return TileUnit::kEmulated;
    return ProcessorHasByteTiles() ? TileUnit::kProcessor : TileUnit::kNone;
  }();
  return chosen;
}

thread_local std::optional<TileUnit> tiles_of_scope;

}  // namespace

bool ProcessorHasByteTiles() {
  static const bool has = FindByteTiles();
  return has;
}

TileUnit UsableTiles() { return tiles_of_scope.value_or(TilesOfProcess()); }

TileScope::TileScope(TileUnit unit) : before_(tiles_of_scope) { tiles_of_scope = unit; }
TileScope::~TileScope() { tiles_of_scope = before_; }

TileShare::TileShare(TileUnit unit) : configured_(unit == TileUnit::kProcessor) {
  if (configured_) ConfigureTiles();
}
TileShare::~TileShare() {
  if (configured_) ReleaseTiles();
}

}  // namespace plimsoll::kernels::cpu
