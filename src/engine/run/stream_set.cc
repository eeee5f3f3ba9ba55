#include "engine/run/stream_set.h"

#include <optional>

#include "plimsoll/base/text.h"
#include "plimsoll/device/waiting.h"

namespace plimsoll::engine {

StreamSet::StreamSet(std::shared_ptr<device::Device> device, device::DeviceId id)
    : device_(std::move(device)), id_(id) {}

StreamSet::~StreamSet() {
  // A device that refuses leaves nothing to be done about it here.
  for (const device::StreamId stream : streams_) {
    (void)device::WaitForStream(*device_, id_, stream).ok();
    (void)device_->DestroyStream(id_, stream).ok();
  }
}

Status StreamSet::Grow(size_t count) {
  while (streams_.size() < count) {
    PLIMSOLL_ASSIGN(const device::StreamId stream, device_->CreateStream(id_));
    streams_.push_back(stream);
  }
  return {};
}

Status StreamSet::Launch(int stream, std::function<void()> work) {
  return device_->LaunchHost(id_, At(stream), std::move(work));
}

Status StreamSet::Wait(int stream, device::EventId event) {
  return device_->WaitEvent(id_, At(stream), event);
}

Result<device::EventId> StreamSet::Record(int stream) {
  return device_->RecordEvent(id_, At(stream));
}

void StreamSet::Forget(device::EventId event) { (void)device_->DestroyEvent(id_, event).ok(); }

Status StreamSet::Synchronize(int stream, TaskMonitor* monitor) {
  if (monitor != nullptr) {
    std::optional<device::EventId> end;
    const auto reached = [&]() -> Result<bool> {
      if (!end) {
        PLIMSOLL_ASSIGN(end, Record(stream));
      }
      return device_->EventReached(id_, *end);
    };
    const Status waited =
        monitor->Await(TaskMonitor::Wait::kStream, StrCat("stream ", stream), reached);
    if (end) Forget(*end);
    PLIMSOLL_TRY(waited);
  }
  return Synchronize(stream);
}

Status StreamSet::Synchronize(int stream) {
  return device::WaitForStream(*device_, id_, At(stream));
}

}  // namespace plimsoll::engine
