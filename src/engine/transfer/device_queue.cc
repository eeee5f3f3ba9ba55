#include "engine/transfer/device_queue.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "plimsoll/device/waiting.h"

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
  failure_->Begin();
  // Ends with the last copy of the work, also where the device drops it.
  const std::shared_ptr<void> pending(nullptr, [failure = failure_](void*) { failure->End(); });
  const auto work = [failure = failure_, pending, &kernel,
                     inputs = std::vector<const void*>(call.inputs.begin(), call.inputs.end()),
                     outputs = std::vector<void*>(call.outputs.begin(), call.outputs.end()),
                     workspace = call.workspace,
                     threads = threads_](const device::StreamContext& context) {
    if (failure->any()) return;
    const auto reach = [&](const void* at) {
      return context.Pointer(reinterpret_cast<Address>(at));
    };
    std::vector<const void*> reached_inputs;
    std::vector<void*> reached_outputs;
    for (const void* input : inputs) reached_inputs.push_back(reach(input));
    for (const void* output : outputs) reached_outputs.push_back(reach(output));
    const kernels::ThreadScope scope(threads);
    Status done = kernel.Run(
        {.inputs = reached_inputs, .outputs = reached_outputs, .workspace = reach(workspace)});
    if (!done.ok()) failure->Note(std::move(done));
  };
  return EndedIfRefused(side_.device->Enqueue(side_.id, stream_, work));
}

Status DeviceQueue::Copy(void* to, const void* from, Bytes size) {
  if (size == Bytes(0)) return {};
  return EndedIfRefused(side_.device->Copy(side_.id, stream_, reinterpret_cast<Address>(to),
                                           reinterpret_cast<Address>(from), size));
}

Status DeviceQueue::Fill(void* at, uint8_t value, Bytes size) {
  if (size == Bytes(0)) return {};
  return EndedIfRefused(
      side_.device->Fill(side_.id, stream_, reinterpret_cast<Address>(at), value, size));
}

Status DeviceQueue::EndedIfRefused(Status sent) {
  if (!sent.ok()) (void)device::WaitForStream(*side_.device, side_.id, stream_).ok();
  return sent;
}

// Nothing is sent between IsDone and Finish.
Result<bool> DeviceQueue::IsDone() {
  if (!asked_) {
    PLIMSOLL_ASSIGN(asked_, side_.device->RecordEvent(side_.id, stream_));
  }
  return side_.device->EventReached(side_.id, *asked_);
}

void DeviceQueue::Cancel(const Error& reason) { failure_->Note(reason); }

void DeviceQueue::ForgetEvent() {
  if (!asked_) return;
  // A device that refuses leaves nothing to be done about it here.
  (void)side_.device->DestroyEvent(side_.id, *asked_).ok();
  asked_.reset();
}

Status DeviceQueue::Finish() {
  ForgetEvent();
  Status finished = device::WaitForStream(*side_.device, side_.id, stream_);
  Status first = failure_->WaitAndTake();
  return first.ok() ? finished : first;
}

}  // namespace plimsoll::engine
