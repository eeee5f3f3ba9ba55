#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plimsoll/device/device.h"

namespace plimsoll::device {

struct CudaOptions {
  // The library that is opened; empty: what PLIMSOLL_CUDA_DRIVER names, else libcuda.so.1.
  std::string driver = {};
  Bytes capacity = Bytes(0);  // of each device; 0: what the card has
  // 0: one for each card. More than there are: the cards are counted over again, each time as a
  // device of its own with a capacity of its own, that shares the card's context.
  int devices = 0;
  bool reserves_addresses = true;  // false: ReserveAddress answers kUnsupported
};

// What the calls of one function of the driver have cost.
struct CudaCallTime {
  std::string name;  // "cuMemCreate"
  int64_t calls = 0;
  std::chrono::nanoseconds time{0};
};

class CudaState;

// NVIDIA cards by the driver library, which is opened at run time: this builds, and answers with a
// clear error, where there is none. Every card's primary context is used, the one that the CUDA
// runtime, and with it PyTorch, works in; the context that a thread has current is left as it was.
//
// Besides the rules of the seam: Unmap, FreePlain and UnregisterHost refuse memory that a pending
// Copy or Fill of this object uses; what kernels use is unknown, so their caller must wait. What is
// outstanding at destruction is finished and freed. Registered host memory is pinned by whole
// pages. An error that ends the context (an illegal address, memory that failed, a reset card)
// loses the device. In a process made by fork every call fails at once, since no CUDA context
// survives there.
//
// Thread-safe. A call costs a mutex, which no call holds while it waits for work, a look-up and the
// driver's call; Info, which asks the driver, is for nobody's fast path.
class CudaDevice final : public Device {
 public:
  // Fails with device.driver_missing, device.driver_old, device.none or device.driver.
  static Result<std::unique_ptr<CudaDevice>> Create(const CudaOptions& options = {});
  ~CudaDevice() override;

  // An id for a stream that the caller owns (a CUstream; null: the default one), which must outlive
  // its use here. The same handle gives the same id; DestroyStream lets go of it without destroying
  // it. While its owner captures it into a graph, events on it are refused.
  Result<StreamId> AdoptStream(DeviceId device, void* native_stream);
  // Work of the stream that looks at memory of the device where it lies: to the number of 64 bits
  // at `counter`, also the device's, it adds how many words of eight bytes, and single bytes behind
  // the last whole word, are not made of `value`. Both places are multiples of eight.
  Status CountOtherBytes(DeviceId device, StreamId stream, Address at, Bytes size, uint8_t value,
                         Address counter);
  // Every function of the driver that was called since the device was made.
  std::vector<CudaCallTime> CallTimes() const;
  std::chrono::nanoseconds DriverTime() const;  // the sum, but for waits

  std::string Kind() const override { return "cuda"; }
  int Count() const override;
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
  explicit CudaDevice(std::unique_ptr<CudaState> state);

  std::unique_ptr<CudaState> state_;
};

}  // namespace plimsoll::device
