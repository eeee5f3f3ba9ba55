#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "plimsoll/device/cuda_device.h"
#include "plimsoll/memory/allocator.h"

namespace plimsoll::replay {

// Writes a pattern into every block when it is handed out, on the block's stream, and looks at all
// of its bytes before it is freed. What it finds is told by Finish, or earlier, when there is no
// room for more answers: looking makes nobody wait. The device must hold bytes. For one thread.
class ContentCheck {
 public:
  static Result<std::unique_ptr<ContentCheck>> Make(std::shared_ptr<device::Device> device,
                                                    device::DeviceId id);
  ~ContentCheck();
  ContentCheck(const ContentCheck&) = delete;
  ContentCheck& operator=(const ContentCheck&) = delete;

  // `number` names the block in errors and gives it its pattern.
  Status Write(const memory::Block& block, device::StreamId stream, uint32_t number);
  Status Look(const memory::Block& block, device::StreamId stream, uint32_t number);
  // Waits for the device; fails with "replay.contents" when the bytes of a block had changed.
  Status Finish();
  int64_t looked_at() const { return looked_at_; }

 private:
  ContentCheck(std::shared_ptr<device::Device> device, device::DeviceId id);

  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  device::CudaDevice* const cuda_;  // null: work on the device's streams is the processor's
  device::StreamId stream_;         // for the answers
  device::Address counters_ = 0;    // on the card: one number for each block
  std::vector<uint64_t> answers_;
  std::vector<uint32_t> numbers_;  // the blocks that were looked at, by answer
  int64_t looked_at_ = 0;
};

}  // namespace plimsoll::replay
