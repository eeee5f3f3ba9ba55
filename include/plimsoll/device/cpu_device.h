#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// What a test or a benchmark may change.
struct CpuOptions {
  int devices = 1;                 // 1 to 64, all of them the same processor and memory
  Bytes capacity = Bytes(0);       // of each device; 0: what the system (or its container) has
  Bytes granularity = MiB(2);      // 2 MiB, or 4 KiB where small ranges matter more than huge pages
  bool reserves_addresses = true;  // false: ReserveAddress answers kUnsupported
  bool huge_by_default = true;     // whether PagePolicy::kDefault tries for 2 MiB pages
  std::function<std::chrono::nanoseconds()> clock = nullptr;  // of timed events; null: the system's
};

class CpuMemory;
class CpuStreams;
class ThreadBindings;

// The processor as a device: real memory behind the same calls as on a GPU, streams that are worker
// threads.
//
// A reserved range is address space without memory. A chunk that may appear at two addresses is a
// piece of a memory file; one that may not is anonymous memory, which the kernel makes huge by
// itself. Both keep their bytes while they are unmapped. With PagePolicy::kDefault a chunk of whole
// 2 MiB pages takes them from the system's pool where it has free ones, else asks the kernel to
// collapse it into such pages when it first becomes accessible, else stays with 4 KiB; every other
// policy is done when CreateChunk returns, or fails there.
//
// Besides the rules of the seam: Unmap and FreePlain refuse memory that a pending Copy or Fill
// uses; what other work uses is unknown, so its caller must wait. Work must not throw. A wait for a
// stream from its own work is refused. What is outstanding at destruction is finished and freed.
//
// Thread-safe. Chunk calls cost a system call or two for each chunk; stream calls a mutex and, when
// the worker sleeps, a wake-up.
class CpuDevice : public Device {
 public:
  explicit CpuDevice(CpuOptions options = {});
  ~CpuDevice() override;

  std::string Kind() const override { return "cpu"; }
  int Count() const override { return count_; }
  DeviceMemory& memory() override;
  DeviceProperties Properties(DeviceId device) const override;
  DeviceId Current() const override;
  Status SetCurrent(DeviceId device) override;
  Status BindThread(DeviceId device) override;
  Status UnbindThread(DeviceId device) override;
  Result<StreamId> CreateStream(DeviceId device) override;
  Status DestroyStream(DeviceId device, StreamId stream) override;
  Result<EventId> RecordEvent(DeviceId device, StreamId stream) override;
  Result<EventId> RecordTimedEvent(DeviceId device, StreamId stream) override;
  Result<bool> EventReached(DeviceId device, EventId event) override;
  Status WaitEvent(DeviceId device, StreamId stream, EventId event) override;
  Status SynchronizeEvent(DeviceId device, EventId event) override;
  Result<std::chrono::nanoseconds> ElapsedTime(DeviceId device, EventId from, EventId to) override;
  Status DestroyEvent(DeviceId device, EventId event) override;
  Status Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) override;
  Status Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) override;
  Status Enqueue(DeviceId device, StreamId stream, StreamWork work) override;
  Status LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) override;
  Status BeginRecording(DeviceId device, StreamId stream) override;
  Result<RecordingId> EndRecording(DeviceId device, StreamId stream) override;
  Status ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) override;
  Status DestroyRecording(DeviceId device, RecordingId recording) override;
  Status SynchronizeStream(DeviceId device, StreamId stream) override;
  Status SynchronizeDevice(DeviceId device) override;

 private:
  const int count_;
  const bool reserves_addresses_;
  const std::string name_;  // the processor's
  std::atomic<int> current_ = 0;
  std::unique_ptr<ThreadBindings> bindings_;
  std::unique_ptr<CpuStreams> streams_;
  std::unique_ptr<CpuMemory> memory_;
};

}  // namespace plimsoll::device
