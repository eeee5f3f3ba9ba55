#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

// The streams under recording and what was recorded, whatever a backend's work is made of. Streams
// and devices named here are known to exist. Ids are never used twice. Not thread-safe.
template <typename Item>
class Recordings {
 public:
  Status Begin(DeviceId device, StreamId stream) {
    PLIMSOLL_TRY(CheckNotRecording(DeviceCall::kBeginRecording, device, stream));
    open_[stream];
    return {};
  }

  // Where the items of a stream go while it is under recording; null: it is not.
  std::vector<Item>* Open(StreamId stream) {
    const auto found = open_.find(stream);
    return found == open_.end() ? nullptr : &found->second;
  }

  Status CheckNotRecording(DeviceCall call, DeviceId device, StreamId stream) const {
    if (!open_.contains(stream)) return {};
    return CallError(call, device, ErrorKind::kRunFailed, "the stream is under recording",
                     "end the recording first");
  }

  Result<RecordingId> End(DeviceId device, StreamId stream) {
    const auto found = open_.find(stream);
    if (found == open_.end()) {
      return CallError(DeviceCall::kEndRecording, device, ErrorKind::kRunFailed,
                       "the stream is not under recording", "begin a recording first");
    }
    const RecordingId recording(next_++);
    recorded_.emplace(recording, Recorded{device, std::move(found->second)});
    open_.erase(found);
    return recording;
  }

  Result<std::vector<Item>> Items(DeviceCall call, DeviceId device, RecordingId recording) const {
    const auto found = recorded_.find(recording);
    if (found != recorded_.end() && found->second.device == device) return found->second.items;
    return CallError(call, device, ErrorKind::kRunFailed, "no such recording on this device");
  }

  Status Destroy(DeviceId device, RecordingId recording) {
    PLIMSOLL_TRY(Items(DeviceCall::kDestroyRecording, device, recording).status());
    recorded_.erase(recording);
    return {};
  }

  int64_t count() const { return static_cast<int64_t>(recorded_.size()); }

 private:
  struct Recorded {
    DeviceId device;
    std::vector<Item> items;
  };
  std::unordered_map<StreamId, std::vector<Item>> open_;
  std::unordered_map<RecordingId, Recorded> recorded_;
  size_t next_ = 0;
};

}  // namespace plimsoll::device
