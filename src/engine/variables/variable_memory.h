#pragma once

#include <memory>

#include "config/run_config.h"
#include "engine/weights/session_weights.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// Where a session's variables lie: on the host with variable_placement=Host; else, where
// variable_use_1g_huge_page asks for large pages, in those that hold the session's constants too;
// else in memory of the device. Not thread-safe.
class VariableMemory {
 public:
  VariableMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
                 std::shared_ptr<SessionWeights> weights, config::VariablePlacement placement)
      : device_(std::move(device)), id_(id), weights_(std::move(weights)), placement_(placement) {}

  // Aligned to 64 bytes, its bytes not set, held until the last pointer to it is gone. Fails as the
  // device does; where pages of the wanted size cannot be had, with the reason, and a line at level
  // error tells it.
  Result<std::shared_ptr<void>> Take(Bytes size);

  // Of the device or the host; with large pages those of the constants too.
  Bytes reserved() const;

 private:
  Result<std::shared_ptr<void>> TakeOfHost(Bytes size);
  Result<std::shared_ptr<void>> TakeOfDevice(Bytes size);

  std::shared_ptr<device::Device> device_;
  device::DeviceId id_;
  std::shared_ptr<SessionWeights> weights_;
  config::VariablePlacement placement_;
  Bytes taken_;
};

}  // namespace plimsoll::engine
