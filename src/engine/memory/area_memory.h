#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/memory/memory_ledger.h"
#include "engine/run/program.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// The memory of one graph outside its feature map, kept until the object dies: of the type that
// each area asks for, P2P memory as P2P. An area that is stable keeps its base in every program of
// the graph. One that grows too has a range of reserved addresses and grows by mapping; where the
// device cannot reserve addresses, or the host could not touch its memory in them, it stays as
// large as it was when first taken.
//
// Not thread-safe, but several may count into one ledger. Keeps the device alive, and gives
// everything back after the device was synchronised.
class AreaMemory {
 public:
  AreaMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
             std::shared_ptr<MemoryLedger> ledger);
  ~AreaMemory();
  AreaMemory(const AreaMemory&) = delete;
  AreaMemory& operator=(const AreaMemory&) = delete;

  // The base of an area, which has at least its bytes. Fails as the device does, and with
  // run.stable_address where the base would have to change; what was held before stays.
  Result<std::byte*> Take(const Area& area);

 private:
  struct Held {
    device::Address base = 0;
    bool of_host = false;
    Bytes asked;                          // at most
    Bytes size;                           // that can be used
    device::AddressRange range;           // reserved; empty: a plain block
    std::vector<device::ChunkId> chunks;  // mapped one behind the other
    std::vector<Bytes> chunk_sizes;
  };
  using Key = std::tuple<plan::MemoryType, bool, std::string>;  // type, stable, key

  Status Reserve(Held& held, Bytes size);
  Status Grow(Held& held, Bytes size, device::MemoryType type);
  Status TakePlain(Held& held, Bytes size, device::MemoryType type);
  Status FreePlain(Held& held);
  void GiveBack(Held& held);
  void Count(Held& held, Bytes asked, Bytes reserved);

  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  const std::shared_ptr<MemoryLedger> ledger_;
  std::map<Key, Held> held_;
};

}  // namespace plimsoll::engine
