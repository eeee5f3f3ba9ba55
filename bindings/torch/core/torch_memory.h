#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/capture.h"
#include "core/device_heap.h"
#include "profile/record/recorder.h"

namespace plimsoll::device {
class CudaDevice;
}

namespace plimsoll::pytorch {

struct TorchMemoryOptions {
  std::string driver;      // empty: what PLIMSOLL_CUDA_DRIVER names, else NVIDIA's
  Bytes limit = Bytes(0);  // of each device; 0: none
  Bytes record = MiB(64);  // host memory for recorded events; 0: nothing is recorded
  bool guarded = false;    // the debug mode: guards around blocks, poison in freed ones; slow
  int most_devices = 0;    // 0: as many as there are
};

// All memory that PyTorch has through us in this process: a heap for each device, made by the first
// request for it, and one recording of all of them.
//
// Thread-safe. The object is never destroyed: tensors may outlive whatever else ends. In a process
// made by fork nothing is freed or handed out: CUDA does not survive there.
class TorchMemory {
 public:
  static TorchMemory& Get();

  // Before the first request; refused (torch.too_late) after it.
  Status Configure(const TorchMemoryOptions& options);
  bool used() const { return used_.load(); }

  // The heap of a device; of the second, null where none was asked for memory yet.
  Result<DeviceHeap*> Heap(int device);
  DeviceHeap* FindHeap(int device) const;
  // Frees a block of any device; looks at `likely` first.
  void Free(device::Address address, int likely);
  Status RecordStream(device::Address address, void* native_stream, int likely);
  std::vector<DeviceHeap*> heaps() const;
  Result<int> DeviceCount();

  // Limits of each heap, those to come as well; 0: none.
  Status SetLimit(int device, Bytes limit);
  Status SetFraction(int device, double fraction);
  double fraction(int device) const;
  void SetReclaim(DeviceHeap::Reclaim reclaim);

  // Opens a window of recording, or closes it and throws away what is in it.
  void Record(bool on);
  bool recording() const { return recorder_ != nullptr && recorder_->recording(); }
  // What was recorded since the last of these calls; the window stays open. Fails (torch.record)
  // where nothing is recorded.
  Status WriteReport(const std::string& path);          // an HTML page
  Status WriteOperatorMemory(const std::string& path);  // operator_memory CSV
  std::chrono::nanoseconds DriverTime() const;          // inside calls that do not wait
  // "device 0: ..." for people, a line each.
  std::string Summary();

 private:
  TorchMemory();
  Status Open();  // under mutex_
  Result<profile::Recording> TakeRecording();

  mutable std::mutex mutex_;
  TorchMemoryOptions options_;
  std::shared_ptr<device::CudaDevice> device_;
  std::unique_ptr<DriverCaptures> captures_;
  std::unique_ptr<profile::Recorder> recorder_;
  std::vector<std::unique_ptr<DeviceHeap>> owned_;
  static constexpr int kMostDevices = 64;
  std::atomic<DeviceHeap*> by_device_[kMostDevices] = {};
  std::atomic<double> fractions_[kMostDevices];
  DeviceHeap::Reclaim reclaim_;
  std::atomic<bool> used_ = false;
};

// What the calling thread's requests are tagged with; empty: nothing. Borrowed until it is
// replaced.
void SetTag(const std::string& tag);
const std::string& CurrentTag();

}  // namespace plimsoll::pytorch
