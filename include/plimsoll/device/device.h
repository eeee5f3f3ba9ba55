#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/ids.h"
#include "plimsoll/base/status.h"

// The one seam to hardware. The calls mirror CUDA's virtual-memory interface, so that its backend
// is a thin one: reserve = cuMemAddressReserve, create = cuMemCreate, map = cuMemMap,
// access = cuMemSetAccess. Every call names its device; there is no default and no "current"
// device.
//
//   auto range = device.memory().ReserveAddress(id, GiB(64), MiB(2));
//   auto chunk = device.memory().CreateChunk(id, MiB(2), {});
//   device.memory().Map(id, range->base, *chunk);
//   device.memory().SetAccess(id, range->base, MiB(2));
namespace plimsoll::device {

// Which of the machine's devices: 0, 1, ... Never converted from a number by accident.
struct DeviceId {
  int ordinal = -1;
  auto operator<=>(const DeviceId&) const = default;
};

// Of device memory; the host may be unable to follow it.
using Address = uint64_t;
using ChunkId = Id<struct ChunkTag>;          // physical memory, mapped or not
using StreamId = Id<struct StreamTag>;        // work in order
using EventId = Id<struct EventTag>;          // a point in a stream
using RecordingId = Id<struct RecordingTag>;  // work that was recorded, to be replayed

// Who can reach the memory.
enum class MemoryType {
  kDevice,  // ordinary device memory (DDR or HBM)
  kP2P,     // reachable by peer devices: RT_MEMORY_P2P_DDR
  kHost,    // pinned host memory
};

// Which pages a chunk is made of. The ladder is tried from the wanted step downwards only where the
// caller asks for each step: a device never falls back on its own.
enum class PagePolicy { kDefault, kHuge1G, kHuge2M, kTransparent2M, kSmall4K };

// What physical memory is like.
struct ChunkOptions {
  MemoryType type = MemoryType::kDevice;
  PagePolicy pages = PagePolicy::kDefault;
  bool mapped_twice = true;  // false: never at two addresses at once, so cheaper memory will do
};

// Addresses that are reserved.
struct AddressRange {
  Address base = 0;
  Bytes size;
};

// What a device has, as its driver tells.
struct MemoryInfo {
  Bytes total;
  Bytes free;
};

// What a device is like and what it can do; the same for as long as it exists.
struct DeviceProperties {
  std::string name;                // "NVIDIA H200"; the kind where it has no name of its own
  bool host_reachable = true;      // the processor reads and writes its memory at its addresses
  Bytes alignment = Bytes(512);    // at least, of what AllocatePlain gives
  std::string driver = {};         // its version; empty: there is none
  bool holds_bytes = true;         // false: it only counts, and what is written is not kept
  bool reserves_addresses = true;  // else ReserveAddress answers kUnsupported
  bool timed_events = false;       // else RecordTimedEvent and ElapsedTime do
  bool records = false;            // else the calls about recordings do
  // Enqueue calls the work at once, on the calling thread, with the stream's native handle. Where
  // it does not, the work itself runs in stream order, and there is no handle.
  bool native_streams = false;
};

// Memory of the devices of one kind. Thread-safe. Every call can fail, and fails with a code of the
// form "device.<call>" (device_call.h); running out is ErrorKind::kDoesNotFit, an ability that the
// device has not kUnsupported, anything else kRunFailed. A call that fails has done nothing.
// Once a device is lost, every call on it answers "device.lost" with the text of the first error,
// and nothing on it can be saved; other devices of its kind go on.
// A chunk is mapped, unmapped and given access whole; it may be mapped at several addresses at
// once, and keeps its bytes while it is mapped nowhere. Unmap, DestroyChunk and FreePlain do not
// wait for pending work: the caller must. Where CUDA lets a mistake pass (unmapping what is not
// mapped, destroying what is), every device refuses it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Sizes and places of ranges and chunks are multiples of it. 0 for a device that does not exist.
  virtual Bytes Granularity(DeviceId device) const = 0;
  // `alignment` is a power of two, or 0 for the granularity. Takes no memory. Fails with
  // kUnsupported where the device has no virtual memory.
  virtual Result<AddressRange> ReserveAddress(DeviceId device, Bytes size, Bytes alignment) = 0;
  // Exactly a range as reserved, with nothing mapped inside.
  virtual Status ReleaseAddress(DeviceId device, AddressRange range) = 0;
  virtual Result<ChunkId> CreateChunk(DeviceId device, Bytes size, const ChunkOptions& options) = 0;
  virtual Status DestroyChunk(DeviceId device, ChunkId chunk) = 0;     // mapped nowhere
  virtual Status Map(DeviceId device, Address at, ChunkId chunk) = 0;  // inside one reserved range
  virtual Status Unmap(DeviceId device, Address at, Bytes size) = 0;   // a run of whole chunks
  virtual Status SetAccess(DeviceId device, Address at, Bytes size) = 0;  // a run of whole chunks
  virtual Result<Address> AllocatePlain(DeviceId device, Bytes size, MemoryType type) = 0;
  virtual Status FreePlain(DeviceId device, Address at) = 0;
  // Makes memory that the host already has fit for fast transfers, until it is unregistered by its
  // first address. It must stay allocated, must not overlap what is registered, and must not be
  // memory of these devices.
  virtual Status RegisterHost(DeviceId device, Address at, Bytes size) = 0;
  virtual Status UnregisterHost(DeviceId device, Address at) = 0;
  virtual Result<MemoryInfo> Info(DeviceId device) const = 0;

  // ReserveAddress for callers who can do without: a device that refuses as kUnsupported is marked,
  // and is not asked again by anyone who calls this.
  Result<AddressRange> ReserveAddressIfAble(DeviceId device, Bytes size, Bytes alignment);
  bool IsUnableToReserve(DeviceId device) const;

 private:
  std::atomic<uint64_t> unable_to_reserve_ = 0;  // one bit per device
};

class Device;

// What work is given when it is called (Device::Enqueue).
struct StreamContext {
  const Device& device;
  DeviceId id;
  StreamId stream;
  void* native_stream = nullptr;  // where DeviceProperties::native_streams says so: a CUstream

  // By what the work reaches an address of the device.
  void* Pointer(Address at) const;
};
using StreamWork = std::function<void(const StreamContext&)>;

// Devices of one kind ("cpu", "fake", "far"): memory, streams, events, copies. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string Kind() const = 0;
  virtual int Count() const = 0;
  virtual DeviceMemory& memory() = 0;
  // Of a device that exists; of others those of the kind.
  virtual DeviceProperties Properties(DeviceId) const { return {.name = Kind()}; }
  // By what work on this device's streams reaches an address. The same number, unless the host
  // cannot reach the memory, but code of the host can be sent to it.
  virtual void* WorkPointer(DeviceId, Address at) const { return reinterpret_cast<void*>(at); }

  // The device that a caller who named none would get: the one bound to the calling thread, else
  // the one that SetCurrent named last. Callers fetch it once and pass it on.
  virtual DeviceId Current() const = 0;
  virtual Status SetCurrent(DeviceId device) = 0;
  // Libraries that ask the driver for the thread's device (cuDNN, cuBLAS) need it bound. Bindings
  // of a thread nest: only the innermost is unbound. Use ThreadBinding (thread_binding.h).
  virtual Status BindThread(DeviceId device) = 0;
  virtual Status UnbindThread(DeviceId device) = 0;

  virtual Result<StreamId> CreateStream(DeviceId device) = 0;
  virtual Status DestroyStream(DeviceId device, StreamId stream) = 0;  // without pending work
  virtual Result<EventId> RecordEvent(DeviceId device, StreamId stream) = 0;
  // An event that also keeps the time at which the stream reached it.
  virtual Result<EventId> RecordTimedEvent(DeviceId device, StreamId stream);
  virtual Result<bool> EventReached(DeviceId device, EventId event) = 0;
  // The stream waits, not the caller; the event may be another device's.
  virtual Status WaitEvent(DeviceId device, StreamId stream, EventId event) = 0;
  virtual Status SynchronizeEvent(DeviceId device, EventId event) = 0;  // the caller waits
  // Between two timed events of the device that have been reached.
  virtual Result<std::chrono::nanoseconds> ElapsedTime(DeviceId device, EventId from, EventId to);
  virtual Status DestroyEvent(DeviceId device, EventId event) = 0;  // waits for it stay valid
  // A copy may reach any device's memory and the host's, a fill only its device's own. Memory that
  // is not mapped with access is refused. No bytes is no error.
  virtual Status Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) = 0;
  virtual Status Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) = 0;
  // Work of the device: kernels are launched by it. Where streams are native, the work is called
  // before Enqueue returns and puts what it has to do on the stream's handle; elsewhere it is
  // called in stream order, on a thread of the device's choice. What goes wrong inside it is its
  // own to keep.
  virtual Status Enqueue(DeviceId device, StreamId stream, StreamWork work) = 0;
  // A host callback: runs in stream order on a thread of the device's choice, holds the stream up
  // for as long as it takes, and must not wait for the device. Callbacks of several streams may
  // have to wait for one another.
  virtual Status LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) = 0;

  // Between begin and end the copies, fills, enqueued work and host callbacks of a stream are
  // recorded and not done; each replay enqueues all of them on a stream of the device. Work is
  // called again by each replay unless streams are native. A stream under recording refuses events,
  // waits, synchronisation and its destruction. A replay checks anew what memory it touches.
  virtual Status BeginRecording(DeviceId device, StreamId stream);
  virtual Result<RecordingId> EndRecording(DeviceId device, StreamId stream);
  virtual Status ReplayRecording(DeviceId device, StreamId stream, RecordingId recording);
  virtual Status DestroyRecording(DeviceId device, RecordingId recording);  // replays go on

  virtual Status SynchronizeStream(DeviceId device, StreamId stream) = 0;
  virtual Status SynchronizeDevice(DeviceId device) = 0;
};

inline void* StreamContext::Pointer(Address at) const { return device.WorkPointer(id, at); }

}  // namespace plimsoll::device
