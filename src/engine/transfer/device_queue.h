#pragma once

#include <memory>
#include <optional>

#include "engine/transfer/device_side.h"
#include "kernels/queue.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// A queue over a stream of a device. Kernels run as work of the stream, with the pointers by which
// such work reaches the device's memory. For one thread; finishes before it goes.
class DeviceQueue final : public kernels::Queue {
 public:
  // The first error of several queues that work on one run: what they are sent after it is left
  // out.
  class Failure;
  static std::shared_ptr<Failure> MakeFailure();

  // `threads`: of each kernel.
  DeviceQueue(DeviceSide side, device::StreamId stream, int threads,
              std::shared_ptr<Failure> failure = MakeFailure());
  ~DeviceQueue() override;

  Status Run(const kernels::Kernel& kernel, const kernels::KernelCall& call) override;
  Status Copy(void* to, const void* from, Bytes size) override;
  Status Fill(void* at, uint8_t value, Bytes size) override;
  Status Finish() override;
  Result<bool> IsDone() override;
  void Cancel(const Error& reason) override;

 private:
  Status EndedIfRefused(Status sent);
  void ForgetEvent();

  const DeviceSide side_;
  const device::StreamId stream_;
  const int threads_;
  const std::shared_ptr<Failure> failure_;
  std::optional<device::EventId> asked_;  // behind everything that was sent before IsDone
};

}  // namespace plimsoll::engine
