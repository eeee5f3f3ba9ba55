#include "core/torch_memory.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/cuda_device.h"

namespace plimsoll::pytorch {
namespace {

std::atomic<bool> forked = false;

Error Forked() {
  return {
      ErrorKind::kRunFailed,
      "torch.forked",
      "cannot allocate",
      "",
      "this process was made by fork from one that used the GPU, and CUDA does not survive that",
      "start processes by spawn (multiprocessing.set_start_method), or fork earlier"};
}

Error NoSuchDevice(int device) {
  return {ErrorKind::kUsage,         "torch.device",  "cannot allocate",
          StrCat("device ", device), "there is none", "name one that exists"};
}

Status CheckLimit(Bytes limit) {
  if (limit >= Bytes(0)) return Status();
  return Error{ErrorKind::kUsage,           "torch.limit",
               "cannot limit memory",       StrCat("limit of ", limit.value(), " bytes"),
               "a limit is never negative", "give the bytes that may be taken, or 0 for no limit"};
}

std::string DriverName(const std::string& named) {
  if (!named.empty()) return named;
  const char* from_environment = std::getenv("PLIMSOLL_CUDA_DRIVER");
  return from_environment != nullptr ? from_environment : "libcuda.so.1";
}

std::string& ThreadTag() {
  thread_local std::string tag;
  return tag;
}

}  // namespace

void SetTag(const std::string& tag) { ThreadTag() = tag; }
const std::string& CurrentTag() { return ThreadTag(); }

TorchMemory::TorchMemory() {
  for (std::atomic<double>& fraction : fractions_) fraction = 1;
}

TorchMemory& TorchMemory::Get() {
  static TorchMemory& memory = *new TorchMemory;
  return memory;
}

Status TorchMemory::Configure(const TorchMemoryOptions& options) {
  PLIMSOLL_TRY(CheckLimit(options.limit));
  const std::lock_guard lock(mutex_);
  if (used_.load()) {
    return Error{ErrorKind::kUsage,
                 "torch.too_late",
                 "cannot change the settings",
                 "",
                 "memory was handed out already",
                 "call install() before the first CUDA tensor is made"};
  }
  options_ = options;
  return Status();
}

Status TorchMemory::Open() {
  if (device_ != nullptr) return Status();
  device::CudaOptions cuda;
  cuda.driver = DriverName(options_.driver);
  cuda.devices = options_.most_devices;
  PLIMSOLL_ASSIGN(std::unique_ptr<device::CudaDevice> device, device::CudaDevice::Create(cuda));
  device_ = std::move(device);
  captures_ = std::make_unique<DriverCaptures>(cuda.driver);
  if (options_.record > Bytes(0)) {
    profile::RecorderOptions recorder;
    recorder.limit = options_.record;
    recorder_ = std::make_unique<profile::Recorder>(recorder);
    recorder_->Start();
  }
  used_ = true;
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  return Status();
}

Result<int> TorchMemory::DeviceCount() {
  if (forked.load()) return Forked();
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(Open());
  return device_->Count();
}

DeviceHeap* TorchMemory::FindHeap(int device) const {
  return device < 0 || device >= kMostDevices || forked.load(std::memory_order_relaxed)
             ? nullptr
             : by_device_[device].load(std::memory_order_acquire);
}

Result<DeviceHeap*> TorchMemory::Heap(int device) {
  if (DeviceHeap* heap = FindHeap(device); heap != nullptr) return heap;
  if (forked.load()) return Forked();
  if (device < 0 || device >= kMostDevices) return NoSuchDevice(device);
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(Open());
  if (DeviceHeap* heap = by_device_[device].load(); heap != nullptr) return heap;
  DeviceHeapOptions options;
  options.device = device_;
  options.id = device::DeviceId{device};
  options.adopt_stream = [cuda = device_, id = options.id](void* stream) {
    return cuda->AdoptStream(id, stream);
  };
  options.captures = captures_.get();
  options.observer = recorder_.get();
  options.guarded = options_.guarded;
  if (options_.limit > Bytes(0)) options.limit = options_.limit;
  PLIMSOLL_ASSIGN(std::unique_ptr<DeviceHeap> heap, DeviceHeap::Create(std::move(options)));
  if (recording()) heap->Observe(true);
  heap->SetReclaim(reclaim_);
  by_device_[device].store(heap.get(), std::memory_order_release);
  owned_.push_back(std::move(heap));
  return owned_.back().get();
}

std::vector<DeviceHeap*> TorchMemory::heaps() const {
  std::vector<DeviceHeap*> found;
  for (int device = 0; device < kMostDevices; ++device) {
    if (DeviceHeap* heap = FindHeap(device); heap != nullptr) found.push_back(heap);
  }
  return found;
}

void TorchMemory::Free(device::Address address, int likely) {
  if (DeviceHeap* heap = FindHeap(likely); heap != nullptr && heap->Free(address)) return;
  if (forked.load()) return;
  for (DeviceHeap* heap : heaps()) {
    if (heap->id().ordinal != likely && heap->Free(address)) return;
  }
  Log(LogLevel::kError,
      StrCat("torch: address ", address,
             " was freed, but is no block that is in use [memory.unknown_block]"));
}

Status TorchMemory::RecordStream(device::Address address, void* native_stream, int likely) {
  std::vector<DeviceHeap*> candidates = heaps();
  std::stable_partition(candidates.begin(), candidates.end(),
                        [&](DeviceHeap* heap) { return heap->id().ordinal == likely; });
  for (DeviceHeap* heap : candidates) {
    PLIMSOLL_ASSIGN(const bool found, heap->RecordStream(address, native_stream));
    if (found) return Status();
  }
  return Error{ErrorKind::kUsage,
               "memory.unknown_block",
               "cannot record a stream",
               StrCat("address ", address),
               "it is no block that is in use",
               "record the stream on the tensor that owns the memory, before it is freed"};
}

Status TorchMemory::SetLimit(int device, Bytes limit) {
  PLIMSOLL_TRY(CheckLimit(limit));
  PLIMSOLL_ASSIGN(DeviceHeap * heap, Heap(device));
  heap->SetLimit(limit);
  return Status();
}

Status TorchMemory::SetFraction(int device, double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) {
    return Error{ErrorKind::kUsage,           "torch.fraction",
                 "cannot limit memory",       StrCat("fraction ", fraction),
                 "it is not between 0 and 1", "give one that is"};
  }
  PLIMSOLL_ASSIGN(DeviceHeap * heap, Heap(device));
  PLIMSOLL_ASSIGN(const device::MemoryInfo info, device_->memory().Info(heap->id()));
  fractions_[device] = fraction;
  const auto limit = static_cast<int64_t>(static_cast<double>(info.total.value()) * fraction);
  heap->SetLimit(fraction == 1 ? Bytes(0) : std::max(Bytes(limit), Bytes(1)));
  return Status();
}

double TorchMemory::fraction(int device) const {
  if (device < 0 || device >= kMostDevices) return 1;
  return fractions_[device].load();
}

void TorchMemory::SetReclaim(DeviceHeap::Reclaim reclaim) {
  const std::lock_guard lock(mutex_);
  reclaim_ = std::move(reclaim);
  for (DeviceHeap* heap : heaps()) heap->SetReclaim(reclaim_);
}

std::chrono::nanoseconds TorchMemory::DriverTime() const {
  const std::lock_guard lock(mutex_);
  return device_ == nullptr ? std::chrono::nanoseconds(0) : device_->DriverTime();
}

std::string TorchMemory::Summary() {
  std::string text;
  for (DeviceHeap* heap : heaps()) {
    const HeapStatistics now = heap->statistics();
    const Counter& allocated = now.allocated_bytes[0];
    text +=
        StrCat("device ", heap->id().ordinal, ": allocated ", Bytes(allocated.current), " (most ",
               Bytes(allocated.peak), "), reserved ", Bytes(now.reserved_bytes.current), " (most ",
               Bytes(now.reserved_bytes.peak), ")\n");
    if (allocated.peak > 0) {
      const int64_t ratio = now.reserved_bytes.peak * 1000 / allocated.peak;
      text +=
          StrCat("  most reserved over most allocated: ", static_cast<double>(ratio) / 1000, "\n");
    }
    text += StrCat("  ", now.allocation[0].allocated, " requests, ", now.segment.allocated,
                   " chunks taken from the device, ", now.segment.freed, " given back\n");
    text += StrCat("  ", now.streams, " streams, whose own peaks are ", Bytes(now.stream_peaks),
                   " together; ", Bytes(now.pending_bytes), " freed and still used by a stream\n");
    if (now.pool_bytes > 0) text += StrCat("  private pools hold ", Bytes(now.pool_bytes), "\n");
    if (now.limit > 0) text += StrCat("  limit ", Bytes(now.limit), "\n");
    text += StrCat("  memory was recycled ", now.alloc_retries, " times, refused ", now.ooms,
                   " times\n");
  }
  return text.empty() ? "no memory was asked for yet\n" : text;
}

}  // namespace plimsoll::pytorch
