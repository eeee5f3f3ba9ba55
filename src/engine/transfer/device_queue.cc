#include "engine/transfer/device_queue.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/parallel.h"

namespace plimsoll::engine {

using device::Address;

class DeviceQueue::Failure {
 public:
  bool any() const {
    const std::lock_guard lock(mutex_);
    return !first_.ok();
  }
  // Kernels that were sent, and have neither run nor been dropped.
  void Begin() {
    const std::lock_guard lock(mutex_);
    ++pending_;
  }
  void End() {
    const std::lock_guard lock(mutex_);
    --pending_;
    ended_.notify_all();
  }
  void Note(Status status) {
    const std::lock_guard lock(mutex_);
    if (first_.ok()) first_ = std::move(status);
  }
  Status WaitAndTake() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return pending_ == 0; });
    return std::exchange(first_, Status());
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  Status first_;
  int pending_ = 0;
};

std::shared_ptr<DeviceQueue::Failure> DeviceQueue::MakeFailure() {
  return std::make_shared<Failure>();
}

DeviceQueue::DeviceQueue(DeviceSide side, device::StreamId stream, int threads,
                         std::shared_ptr<Failure> failure)
    : side_(std::move(side)), stream_(stream), threads_(threads), failure_(std::move(failure)) {}

DeviceQueue::~DeviceQueue() { (void)Finish().ok(); }

Status DeviceQueue::Run(const kernels::Kernel& kernel, const kernels::KernelCall& call) {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const void* input : call.inputs) inputs.push_back(side_.WorkPointer(input));
  for (void* output : call.outputs) outputs.push_back(side_.WorkPointer(output));
  failure_->Begin();
  // Ends with the last copy of the work, also where the device drops it.
  const std::shared_ptr<void> pending(nullptr, [failure = failure_](void*) { failure->End(); });
  return side_.device->Launch(
      side_.id, stream_,
      [failure = failure_, pending, &kernel, inputs = std::move(inputs),
       outputs = std::move(outputs), workspace = side_.WorkPointer(call.workspace),
       threads = threads_] {
        if (failure->any()) return;
        kernels::SetThreads(threads);
        Status done = kernel.Run({.inputs = inputs, .outputs = outputs, .workspace = workspace});
        if (!done.ok()) failure->Note(std::move(done));
      });
}

Status DeviceQueue::Copy(void* to, const void* from, Bytes size) {
  if (size == Bytes(0)) return {};
  return side_.device->Copy(side_.id, stream_, reinterpret_cast<Address>(to),
                            reinterpret_cast<Address>(from), size);
}

Status DeviceQueue::Fill(void* at, uint8_t value, Bytes size) {
  if (size == Bytes(0)) return {};
  return side_.device->Fill(side_.id, stream_, reinterpret_cast<Address>(at), value, size);
}

Status DeviceQueue::Finish() {
  Status finished = side_.device->SynchronizeStream(side_.id, stream_);
  Status first = failure_->WaitAndTake();
  return first.ok() ? finished : first;
}

}  // namespace plimsoll::engine
