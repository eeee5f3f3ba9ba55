#include "device/cuda/cuda_streams.h"

#include <algorithm>
#include <utility>

#include "device/cuda/forked_process.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

constexpr uint64_t kMarkEvery = 32;  // items of work

}  // namespace

CudaStreams::~CudaStreams() {
  if (cuda::UsedBeforeFork()) return;
  const cuda::Driver& driver = cards_.driver();
  for (const auto& [id, event] : events_) driver.event_destroy(event.handle);
  for (const auto& [key, events] : pool_) {
    for (cuda::Event event : events) driver.event_destroy(event);
  }
  for (const auto& [id, stream] : streams_) {
    for (const CudaStreamRecord::Item& item : stream->pending) {
      if (item.marker != nullptr) driver.event_destroy(item.marker);
    }
    const ContextScope context(driver, cards_.card(stream->device).context);
    if (!stream->adopted) driver.stream_destroy(stream->handle);
  }
}

void CudaStreams::Finish() {
  if (cuda::UsedBeforeFork()) return;
  const Lock lock(*this);
  for (const auto& [id, stream] : streams_) {
    const ContextScope context(cards_.driver(), cards_.card(stream->device).context);
    if (stream->recording != nullptr) {
      cards_.driver().capture_end(stream->handle, &stream->recording->graph);
      stream->recording.reset();
    }
    if (!stream->adopted || !stream->pending.empty()) {
      cards_.driver().stream_synchronize(stream->handle);
    }
    Complete(*stream, stream->position);
  }
}

Result<CudaStreams::Stream> CudaStreams::Find(const CudaCall& call, StreamId stream) const {
  const auto found = streams_.find(stream);
  if (found != streams_.end() && found->second->device == call.device()) return found->second;
  return call.Refused("no such stream on this device");
}

Result<CudaStreams::Stream> CudaStreams::FindNotRecording(const CudaCall& call,
                                                          StreamId stream) const {
  PLIMSOLL_ASSIGN(Stream found, Find(call, stream));
  if (found->recording == nullptr) return found;
  return call.Refused("the stream is under recording", "end the recording first");
}

Result<StreamId> CudaStreams::Create(DeviceId device) {
  CudaCall call(cards_, DeviceCall::kCreateStream, device);
  PLIMSOLL_TRY(call.status());
  cuda::Stream handle = nullptr;
  PLIMSOLL_TRY(call.Do(call.driver().stream_create, &handle, cuda::kStreamNonBlocking));
  const std::lock_guard lock(mutex_);
  const StreamId stream(next_stream_++);
  streams_.emplace(stream, std::make_shared<CudaStreamRecord>(
                               CudaStreamRecord{.id = stream, .device = device, .handle = handle}));
  return stream;
}

Result<StreamId> CudaStreams::Adopt(DeviceId device, cuda::Stream handle) {
  PLIMSOLL_TRY(cards_.Begin(DeviceCall::kCreateStream, device));
  const std::lock_guard lock(mutex_);
  for (const auto& [id, stream] : streams_) {
    if (stream->adopted && stream->device == device && stream->handle == handle) return id;
  }
  const StreamId stream(next_stream_++);
  streams_.emplace(stream, std::make_shared<CudaStreamRecord>(CudaStreamRecord{
                               .id = stream, .device = device, .handle = handle, .adopted = true}));
  return stream;
}

Status CudaStreams::Destroy(DeviceId device, StreamId stream) {
  CudaCall call(cards_, DeviceCall::kDestroyStream, device);
  PLIMSOLL_TRY(call.status());
  const Lock lock(*this);
  PLIMSOLL_ASSIGN(const Stream found, FindNotRecording(call, stream));
  const cuda::Driver& driver = call.driver();
  if (!found->adopted) {
    const cuda::Result result = driver.stream_query(found->handle);
    if (result == cuda::kSuccess) Complete(*found, found->position);
    if (result != cuda::kSuccess && result != cuda::kNotReady) {
      return call.Check(driver.stream_query, result);
    }
    if (result == cuda::kNotReady || !found->pending.empty()) {
      return call.Refused("work is pending on it", "synchronise it first");
    }
    PLIMSOLL_TRY(call.Do(driver.stream_destroy, found->handle));
  } else if (!found->pending.empty()) {
    AskWhatIsDone(*found);
    if (!found->pending.empty()) {
      return call.Refused("work is pending on it", "synchronise it first");
    }
  }
  streams_.erase(stream);
  return {};
}

Result<cuda::Stream> CudaStreams::Handle(CudaCall& call, StreamId stream) const {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Stream found, Find(call, stream));
  return found->handle;
}

// The caller may hold a lock of its own, so nothing is let go of here.
Result<CudaStreams::Ticket> CudaStreams::Add(CudaCall& call, StreamId stream, PendingWork work) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(Stream found, Find(call, stream));
  Ticket ticket{.stream = found,
                .handle = found->handle,
                .recording = found->recording,
                .recorded = {},
                .item = {}};
  if (found->recording != nullptr) {
    if (work.host != nullptr) work.host->once = false;
    found->recording->works.push_back(std::move(work));
    ticket.recorded = std::prev(found->recording->works.end());
    return ticket;
  }
  TrimPending(*found);
  found->pending.push_back({.position = ++found->position, .work = std::move(work)});
  ticket.item = std::prev(found->pending.end());
  return ticket;
}

void CudaStreams::Issued(CudaCall& call, const Ticket& ticket, bool ok) {
  PendingWork refused;
  const Lock lock(*this);
  if (ticket.recording != nullptr) {
    if (ok) return;
    refused = std::move(*ticket.recorded);
    ticket.recording->works.erase(ticket.recorded);
  } else if (ok) {
    ticket.item->issued = true;
    if (ticket.item->position % kMarkEvery == 0) Mark(call, *ticket.stream, *ticket.item);
  } else {
    done_.splice(done_.end(), ticket.stream->pending, ticket.item);
  }
}

// Without an event to spare it is known a little later what is done.
void CudaStreams::Mark(CudaCall& call, CudaStreamRecord& stream, CudaStreamRecord::Item& item) {
  if (IsCaptured(stream)) return;
  const auto event = TakeEvent(call, false);
  if (!event.ok()) return;
  if (call.driver().event_record(*event, stream.handle) == cuda::kSuccess) {
    item.marker = *event;
  } else {
    GiveEventBack(stream.device, false, *event);
  }
}

bool CudaStreams::IsCaptured(const CudaStreamRecord& stream) const {
  int status = cuda::kCaptureNone;
  return stream.adopted &&
         (cards_.driver().is_capturing(stream.handle, &status) != cuda::kSuccess ||
          status != cuda::kCaptureNone);
}

void CudaStreams::Complete(CudaStreamRecord& stream, uint64_t position) {
  for (auto item = stream.pending.begin();
       item != stream.pending.end() && item->position <= position;) {
    const auto next = std::next(item);
    if (item->issued) {
      if (item->marker != nullptr) GiveEventBack(stream.device, false, item->marker);
      const Stream behind = item->work.behind;
      const uint64_t reached = item->work.position;
      done_.splice(done_.end(), stream.pending, item);
      if (behind != nullptr) Complete(*behind, reached);
    }
    item = next;
  }
}

void CudaStreams::AskWhatIsDone(CudaStreamRecord& stream) {
  if (stream.recording != nullptr || IsCaptured(stream)) return;
  const cuda::Driver& driver = cards_.driver();
  const ContextScope context(driver, cards_.card(stream.device).context);
  if (driver.stream_query(stream.handle) == cuda::kSuccess) {
    Complete(stream, stream.position);
    return;
  }
  uint64_t reached = 0;
  for (const CudaStreamRecord::Item& item : stream.pending) {
    if (item.marker == nullptr) continue;
    if (driver.event_query(item.marker) != cuda::kSuccess) break;
    reached = item.position;
  }
  Complete(stream, reached);
}

void CudaStreams::TrimPending(CudaStreamRecord& stream) {
  if (stream.pending.size() < stream.look_at) return;
  AskWhatIsDone(stream);
  stream.look_at = std::max<size_t>(2 * kMarkEvery, 2 * stream.pending.size());
}

std::optional<StreamId> CudaStreams::PendingUser(Address at, Bytes size) {
  const auto uses = [&](const CudaStreamRecord& stream) {
    for (const CudaStreamRecord::Item& item : stream.pending) {
      for (const Touch& touch : item.work.touches) {
        if (Overlap(touch.range, at, size)) return true;
      }
    }
    return false;
  };
  const std::lock_guard lock(mutex_);
  std::optional<StreamId> lowest;
  for (const auto& [id, stream] : streams_) {
    if ((lowest && *lowest < id) || !uses(*stream)) continue;
    AskWhatIsDone(*stream);
    if (uses(*stream)) lowest = id;
  }
  return lowest;
}

Status CudaStreams::Synchronize(DeviceId device, StreamId stream) {
  CudaCall call(cards_, DeviceCall::kSynchronizeStream, device);
  PLIMSOLL_TRY(call.status());
  Stream found;
  uint64_t position = 0;
  {
    const std::lock_guard lock(mutex_);
    PLIMSOLL_ASSIGN(found, FindNotRecording(call, stream));
    position = found->position;
  }
  PLIMSOLL_TRY(call.Do(call.driver().stream_synchronize, found->handle));
  const Lock lock(*this);
  Complete(*found, position);
  return {};
}

// A context with a stream under recording cannot be waited for as a whole.
Status CudaStreams::SynchronizeDevice(DeviceId device) {
  CudaCall call(cards_, DeviceCall::kSynchronizeDevice, device);
  PLIMSOLL_TRY(call.status());
  std::vector<std::pair<Stream, uint64_t>> all;
  bool recording = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, stream] : streams_) {
      if (cards_.card(stream->device).context != cards_.card(device).context) continue;
      recording |= stream->recording != nullptr;
      if (stream->recording == nullptr && stream->device == device) {
        all.emplace_back(stream, stream->position);
      }
    }
  }
  if (recording) {
    for (const auto& [stream, position] : all) {
      PLIMSOLL_TRY(call.Do(call.driver().stream_synchronize, stream->handle));
    }
  } else {
    PLIMSOLL_TRY(call.Do(call.driver().context_synchronize));
  }
  const Lock lock(*this);
  for (const auto& [stream, position] : all) Complete(*stream, position);
  return {};
}

}  // namespace plimsoll::device
