#include "engine/stream_pair.h"

namespace plimsoll::engine {

StreamPair::StreamPair(std::shared_ptr<device::Device> device, device::DeviceId id)
    : device_(std::move(device)), id_(id) {}

Result<std::unique_ptr<StreamPair>> StreamPair::Make(std::shared_ptr<device::Device> device,
                                                     device::DeviceId id) {
  std::unique_ptr<StreamPair> pair(new StreamPair(std::move(device), id));
  for (device::StreamId& stream : pair->streams_) {
    PLIMSOLL_ASSIGN(stream, pair->device_->CreateStream(id));
  }
  return pair;
}

StreamPair::~StreamPair() {
  // A device that refuses leaves nothing to be done about it here.
  for (const device::StreamId stream : streams_) {
    if (!stream.valid()) continue;
    (void)device_->SynchronizeStream(id_, stream).ok();
    (void)device_->DestroyStream(id_, stream).ok();
  }
}

Status StreamPair::Launch(int stream, std::function<void()> work) {
  return device_->Launch(id_, streams_[stream], std::move(work));
}

Status StreamPair::Wait(int stream, device::EventId event) {
  return device_->WaitEvent(id_, streams_[stream], event);
}

Result<device::EventId> StreamPair::Record(int stream) {
  return device_->RecordEvent(id_, streams_[stream]);
}

void StreamPair::Forget(device::EventId event) { (void)device_->DestroyEvent(id_, event).ok(); }

Status StreamPair::Synchronize(int stream) {
  return device_->SynchronizeStream(id_, streams_[stream]);
}

}  // namespace plimsoll::engine
