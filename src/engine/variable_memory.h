#pragma once

#include <memory>

#include "config/run_config.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// Memory of what outlasts a run: variables and, where huge pages are asked for, constants. Blocks
// come with the pages that variable_use_1g_huge_page says (device/huge_pages.h), or, for variables
// with variable_placement=Host, from the host; pieces of any size lie in them side by side, so that
// one page of 1 GiB serves many. A block goes back to the device with its last piece.
//
// Thread-safe. A piece costs a search through the free runs of all blocks. The object may go before
// its pieces.
class VariableMemory {
 public:
  VariableMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
                 config::HugePages pages, config::VariablePlacement placement);

  // A piece aligned to 512 bytes, its bytes not set, held until the last pointer to it is gone.
  // Fails as the device does; where pages of the wanted size cannot be had, with the reason, and a
  // line at level error tells it.
  Result<std::shared_ptr<void>> Take(Bytes size);

  Bytes used() const;      // in pieces
  Bytes reserved() const;  // of the device or the host, whole pages

  config::HugePages pages() const { return pages_; }
  config::VariablePlacement placement() const { return placement_; }

 private:
  class Blocks;

  config::HugePages pages_;
  config::VariablePlacement placement_;
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace plimsoll::engine
