#include "plimsoll/device/cuda_device.h"

#include <atomic>
#include <utility>

#include "device/cuda/cuda_byte_count.h"
#include "device/cuda/cuda_cards.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/cuda_streams.h"
#include "device/cuda/forked_process.h"
#include "device/thread_bindings.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {

// Everything of the devices; memory ends before the streams, and the cards last.
class CudaState {
 public:
  CudaState(const CudaOptions& options, std::unique_ptr<CudaCards> opened)
      : cards(std::move(opened)),
        streams(*cards),
        memory(options, *cards, streams),
        byte_count(*cards) {}
  ~CudaState() { streams.Finish(); }

  const std::unique_ptr<CudaCards> cards;
  ThreadBindings bindings;
  std::atomic<int> current = 0;
  CudaStreams streams;
  CudaMemory memory;
  CudaByteCount byte_count;
};

namespace {

void CallHostWork(void* kept) {
  HostWork& host = *static_cast<HostWork*>(kept);
  InsideHostCallback() = true;
  host.work();
  if (host.once) host.work = nullptr;
  InsideHostCallback() = false;
}

Error NothingToDo(DeviceCall call, DeviceId device) {
  return CallError(call, device, ErrorKind::kRunFailed, "there is no work to do");
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::Create(const CudaOptions& options) {
  PLIMSOLL_ASSIGN(std::unique_ptr<CudaCards> cards, CudaCards::Open(options));
  return std::unique_ptr<CudaDevice>(
      new CudaDevice(std::make_unique<CudaState>(options, std::move(cards))));
}

CudaDevice::CudaDevice(std::unique_ptr<CudaState> state) : state_(std::move(state)) {}

CudaDevice::~CudaDevice() = default;

Result<StreamId> CudaDevice::AdoptStream(DeviceId device, void* native_stream) {
  return state_->streams.Adopt(device, native_stream);
}

std::vector<CudaCallTime> CudaDevice::CallTimes() const {
  return state_->cards->driver().CallTimes();
}

std::chrono::nanoseconds CudaDevice::DriverTime() const {
  return state_->cards->driver().TimeWithoutWaits();
}

int CudaDevice::Count() const { return state_->cards->devices(); }

DeviceMemory& CudaDevice::memory() { return state_->memory; }

DeviceProperties CudaDevice::Properties(DeviceId device) const {
  const CudaCards& cards = *state_->cards;
  const int version = cards.driver().version();
  return {.name = cards.exists(device) ? cards.card(device).name : Kind(),
          .host_reachable = false,
          .alignment = CudaMemory::kPlainAlignment,
          .driver = StrCat("CUDA ", version / 1000, ".", version % 1000 / 10),
          .reserves_addresses = state_->memory.reserves_addresses(device),
          .timed_events = true,
          .records = true,
          .native_streams = true};
}

DeviceId CudaDevice::Current() const {
  return state_->bindings.BoundOr(DeviceId{state_->current.load()});
}

Status CudaDevice::SetCurrent(DeviceId device) {
  PLIMSOLL_TRY(state_->cards->Begin(DeviceCall::kSetCurrent, device));
  state_->current = device.ordinal;
  return {};
}

Status CudaDevice::BindThread(DeviceId device) {
  constexpr DeviceCall kCall = DeviceCall::kBindThread;
  CudaCards& cards = *state_->cards;
  PLIMSOLL_TRY(cards.Begin(kCall, device));
  const cuda::Driver& driver = cards.driver();
  PLIMSOLL_ASSIGN(const cuda::Context context, cards.ContextOf(kCall, device));
  PLIMSOLL_TRY(cards.Check(kCall, device, driver.context_push, driver.context_push(context)));
  state_->bindings.Bind(device);
  return {};
}

// Also of a lost device: the thread is rid of it whatever the driver says.
Status CudaDevice::UnbindThread(DeviceId device) {
  constexpr DeviceCall kCall = DeviceCall::kUnbindThread;
  CudaCards& cards = *state_->cards;
  const Status begun = cards.Begin(kCall, device);
  const bool lost = !begun.ok() && begun.error().code == kDeviceLost;
  if (!begun.ok() && !lost) return begun;
  PLIMSOLL_TRY(state_->bindings.Unbind(device));
  cuda::Context popped = nullptr;
  const cuda::Result result = cards.driver().context_pop(&popped);
  return lost ? begun : cards.Check(kCall, device, cards.driver().context_pop, result);
}

Result<StreamId> CudaDevice::CreateStream(DeviceId device) {
  return state_->streams.Create(device);
}

Status CudaDevice::DestroyStream(DeviceId device, StreamId stream) {
  return state_->streams.Destroy(device, stream);
}

Result<EventId> CudaDevice::RecordEvent(DeviceId device, StreamId stream) {
  return state_->streams.Record(DeviceCall::kRecordEvent, device, stream, false);
}

Result<EventId> CudaDevice::RecordTimedEvent(DeviceId device, StreamId stream) {
  return state_->streams.Record(DeviceCall::kRecordTimedEvent, device, stream, true);
}

Result<bool> CudaDevice::EventReached(DeviceId device, EventId event) {
  return state_->streams.Reached(device, event);
}

Status CudaDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  return state_->streams.Wait(device, stream, event);
}

Status CudaDevice::SynchronizeEvent(DeviceId device, EventId event) {
  return state_->streams.SynchronizeEvent(device, event);
}

Result<std::chrono::nanoseconds> CudaDevice::ElapsedTime(DeviceId device, EventId from,
                                                         EventId to) {
  return state_->streams.Elapsed(device, from, to);
}

Status CudaDevice::DestroyEvent(DeviceId device, EventId event) {
  return state_->streams.DestroyEvent(device, event);
}

Status CudaDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  PendingWork work{.touches = {{{to, size}}, {{from, size}}}};
  return state_->memory.Enqueue(
      DeviceCall::kCopy, device, stream, std::move(work), [&](CudaCall& call, cuda::Stream handle) {
        for (const AddressRange& piece : state_->memory.CopyPieces(to, from, size)) {
          PLIMSOLL_TRY(call.Do(call.driver().copy, to + piece.base, from + piece.base,
                               static_cast<size_t>(piece.size.value()), handle));
        }
        return Status();
      });
}

Status CudaDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) {
  PendingWork work{.touches = {{{at, size}, Reach::kOwnDevice}}};
  return state_->memory.Enqueue(
      DeviceCall::kFill, device, stream, std::move(work), [&](CudaCall& call, cuda::Stream handle) {
        if (size == Bytes(0)) return Status();
        return call.Do(call.driver().fill, at, value, static_cast<size_t>(size.value()), handle);
      });
}

Status CudaDevice::CountOtherBytes(DeviceId device, StreamId stream, Address at, Bytes size,
                                   uint8_t value, Address counter) {
  constexpr DeviceCall kCall = DeviceCall::kEnqueue;
  constexpr Bytes kWord = Bytes(8);
  PLIMSOLL_TRY(state_->cards->Begin(kCall, device));
  if (at % 8 != 0 || counter % 8 != 0) {
    return CallError(kCall, device, ErrorKind::kRunFailed, "a place is no multiple of eight");
  }
  PendingWork work{
      .touches = {{{at, size}, Reach::kOwnDevice}, {{counter, kWord}, Reach::kOwnDevice}}};
  return state_->memory.Enqueue(
      kCall, device, stream, std::move(work), [&](CudaCall& call, cuda::Stream handle) {
        return state_->byte_count.Launch(call, handle, at, size, value, counter);
      });
}

Status CudaDevice::Enqueue(DeviceId device, StreamId stream, StreamWork work) {
  CudaCall call(*state_->cards, DeviceCall::kEnqueue, device);
  PLIMSOLL_TRY(call.status());
  if (work == nullptr) return NothingToDo(DeviceCall::kEnqueue, device);
  PLIMSOLL_ASSIGN(const cuda::Stream handle, state_->streams.Handle(call, stream));
  work(StreamContext{*this, device, stream, handle});
  return {};
}

Status CudaDevice::LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) {
  constexpr DeviceCall kCall = DeviceCall::kLaunchHost;
  PLIMSOLL_TRY(state_->cards->Begin(kCall, device));
  if (work == nullptr) return NothingToDo(kCall, device);
  auto host = std::make_shared<HostWork>(HostWork{std::move(work)});
  return state_->memory.Enqueue(kCall, device, stream, {.host = host},
                                [&](CudaCall& call, cuda::Stream handle) {
                                  return call.Do(call.driver().launch_host, handle, &CallHostWork,
                                                 static_cast<void*>(host.get()));
                                });
}

Status CudaDevice::BeginRecording(DeviceId device, StreamId stream) {
  return state_->streams.BeginRecording(device, stream);
}

Result<RecordingId> CudaDevice::EndRecording(DeviceId device, StreamId stream) {
  return state_->streams.EndRecording(device, stream);
}

Status CudaDevice::ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) {
  constexpr DeviceCall kCall = DeviceCall::kReplayRecording;
  CudaCall call(*state_->cards, kCall, device);
  PLIMSOLL_TRY(call.status());
  PLIMSOLL_ASSIGN(const std::shared_ptr<CudaRecording> replayed,
                  state_->streams.Recorded(call, recording));
  PendingWork work{.touches = replayed->Touches(), .recording = replayed};
  return state_->memory.Enqueue(kCall, device, stream, std::move(work),
                                [&](CudaCall& enqueued, cuda::Stream handle) {
                                  return state_->streams.Launch(enqueued, handle, *replayed);
                                });
}

Status CudaDevice::DestroyRecording(DeviceId device, RecordingId recording) {
  return state_->streams.DestroyRecording(device, recording);
}

Status CudaDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  return state_->streams.Synchronize(device, stream);
}

Status CudaDevice::SynchronizeDevice(DeviceId device) {
  return state_->streams.SynchronizeDevice(device);
}

}  // namespace plimsoll::device
