#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/address_range.h"
#include "device/cuda/cuda_cards.h"

namespace plimsoll::device {

// A host callback, kept by whoever may still call it.
struct HostWork {
  std::function<void()> work;
  bool once = true;  // let go of after the first call
};

class CudaRecording;
struct CudaStreamRecord;

// What work on a stream touches and needs until it is done.
struct PendingWork {
  std::vector<Touch> touches = {};
  std::shared_ptr<HostWork> host = nullptr;
  std::shared_ptr<CudaRecording> recording = nullptr;  // that it replays
  // Once it is done, so is this stream's work up to this position.
  std::shared_ptr<CudaStreamRecord> behind = nullptr;
  uint64_t position = 0;
};

// A graph that a stream was captured into, with what its work touches and calls.
class CudaRecording {
 public:
  CudaRecording(CudaCards& cards, DeviceId device) : cards_(cards), device(device) {}
  ~CudaRecording();
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;

  std::vector<Touch> Touches() const;  // those of recordings inside, too

 private:
  CudaCards& cards_;

 public:
  const DeviceId device;
  std::list<PendingWork> works;
  cuda::Graph graph = nullptr;
  cuda::GraphExec exec = nullptr;
};

// A stream, and what is known of its progress: the work counted before `completed` is done. More
// may be, which the driver is asked for only where it matters.
struct CudaStreamRecord {
  struct Item {
    uint64_t position = 0;
    PendingWork work;
    bool issued = false;           // else its thread is about to
    cuda::Event marker = nullptr;  // recorded behind it, where there is one
  };

  StreamId id;
  DeviceId device;
  cuda::Stream handle = nullptr;
  bool adopted = false;
  uint64_t position = 0;  // of the work enqueued last
  std::list<Item> pending = {};
  size_t look_at = 64;  // pending items at which the driver is asked what is done
  std::shared_ptr<CudaRecording> recording = nullptr;  // while it is under recording
};

// The streams, events and recordings of the cuda devices, by id. Ids are never used twice.
// Thread-safe; no lock is held while a call waits.
class CudaStreams {
 public:
  // Work that was counted as pending and is not issued yet.
  struct Ticket {
    std::shared_ptr<CudaStreamRecord> stream;
    cuda::Stream handle = nullptr;
    std::shared_ptr<CudaRecording> recording;  // else it goes to `item`
    std::list<PendingWork>::iterator recorded;
    std::list<CudaStreamRecord::Item>::iterator item;
  };

  explicit CudaStreams(CudaCards& cards) : cards_(cards) {}
  // Waits for all work and destroys everything.
  ~CudaStreams();

  Result<StreamId> Create(DeviceId device);
  Result<StreamId> Adopt(DeviceId device, cuda::Stream handle);
  Status Destroy(DeviceId device, StreamId stream);
  Result<cuda::Stream> Handle(CudaCall& call, StreamId stream) const;
  Result<EventId> Record(DeviceCall kind, DeviceId device, StreamId stream, bool timed);
  Result<bool> Reached(DeviceId device, EventId event);
  Status Wait(DeviceId device, StreamId stream, EventId event);
  Status SynchronizeEvent(DeviceId device, EventId event);
  Result<std::chrono::nanoseconds> Elapsed(DeviceId device, EventId from, EventId to);
  Status DestroyEvent(DeviceId device, EventId event);
  Status BeginRecording(DeviceId device, StreamId stream);
  Result<RecordingId> EndRecording(DeviceId device, StreamId stream);
  Result<std::shared_ptr<CudaRecording>> Recorded(CudaCall& call, RecordingId recording) const;
  // Issues a replay; into a stream under recording it becomes a part of that recording.
  Status Launch(CudaCall& call, cuda::Stream stream, const CudaRecording& recording) const;
  Status DestroyRecording(DeviceId device, RecordingId recording);
  Status Synchronize(DeviceId device, StreamId stream);
  Status SynchronizeDevice(DeviceId device);

  Result<Ticket> Add(CudaCall& call, StreamId stream, PendingWork work);
  void Issued(CudaCall& call, const Ticket& ticket, bool ok);
  // A stream with pending work that touches [at, at + size), or nothing.
  std::optional<StreamId> PendingUser(Address at, Bytes size);
  // Waits for all work, as far as the devices let it.
  void Finish();

 private:
  using Stream = std::shared_ptr<CudaStreamRecord>;
  struct Event {
    DeviceId device;
    cuda::Event handle = nullptr;
    bool timed = false;
    bool reached = false;
    Stream stream;
    uint64_t position = 0;
  };
  Result<Stream> Find(const CudaCall& call, StreamId stream) const;
  Result<Stream> FindNotRecording(const CudaCall& call, StreamId stream) const;
  Result<Event*> FindEvent(const CudaCall& call, EventId event);
  Result<Event*> FindOwnEvent(const CudaCall& call, EventId event);
  Result<bool> Ask(CudaCall& call, Event& event);
  // An event of the driver's, new or used before.
  Result<cuda::Event> TakeEvent(CudaCall& call, bool timed);
  void GiveEventBack(DeviceId device, bool timed, cuda::Event event);
  // Work that is done is let go of with no lock held, since what it keeps may be a caller's: this
  // lock does so when it ends.
  class Lock {
   public:
    explicit Lock(CudaStreams& streams) : streams_(streams), lock_(streams.mutex_) {}
    ~Lock() { done_.swap(streams_.done_); }

   private:
    std::list<CudaStreamRecord::Item> done_;
    CudaStreams& streams_;
    const std::lock_guard<std::mutex> lock_;
  };
  void Complete(CudaStreamRecord& stream, uint64_t position);
  void AskWhatIsDone(CudaStreamRecord& stream);
  void TrimPending(CudaStreamRecord& stream);
  void Mark(CudaCall& call, CudaStreamRecord& stream, CudaStreamRecord::Item& item);
  bool IsCaptured(const CudaStreamRecord& stream) const;
  std::vector<cuda::Event>& Pool(DeviceId device, bool timed);

  CudaCards& cards_;
  mutable std::mutex mutex_;
  std::unordered_map<StreamId, Stream> streams_;
  std::unordered_map<EventId, Event> events_;
  std::unordered_map<RecordingId, std::shared_ptr<CudaRecording>> recordings_;
  std::unordered_map<size_t, std::vector<cuda::Event>> pool_;  // by device and whether timed
  std::list<CudaStreamRecord::Item> done_;                     // to be let go of
  size_t next_stream_ = 0;
  size_t next_event_ = 0;
  size_t next_recording_ = 0;
};

}  // namespace plimsoll::device
