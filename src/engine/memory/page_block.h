#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "plimsoll/base/bytes.h"
#include "plimsoll/device/device.h"
#include "plimsoll/device/huge_pages.h"

namespace plimsoll::engine {

// One block of large pages that pieces are cut from and given back to; neighbours that are free
// join. Goes, and gives its pages back, with the last piece and whoever else holds it. Thread-safe.
// A piece costs a search through the free runs, first fit.
class PageBlock {
 public:
  PageBlock(std::shared_ptr<device::Device> device, device::HugePageBlock memory)
      : device_(std::move(device)), memory_(std::move(memory)), free_{{0, memory_.size()}} {}

  // Null where no free run is so large.
  static std::shared_ptr<void> Cut(const std::shared_ptr<PageBlock>& block, Bytes size);

  Bytes size() const { return memory_.size(); }

 private:
  std::optional<int64_t> Take(Bytes size);  // the offset
  void Give(int64_t offset, Bytes size);

  const std::shared_ptr<device::Device> device_;  // outlives the memory
  const device::HugePageBlock memory_;
  std::mutex mutex_;
  std::map<int64_t, Bytes> free_;  // runs by offset
};

}  // namespace plimsoll::engine
