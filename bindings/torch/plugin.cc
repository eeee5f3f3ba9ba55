#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/torch_memory.h"
#include "plimsoll/base/text.h"
#include "plimsoll_torch.h"

namespace plimsoll::pytorch {
namespace {

using PyTorchPool = std::pair<unsigned long long, unsigned long long>;

thread_local std::string last_error;

int Answer(const Status& status) {
  if (status.ok()) return 0;
  last_error = status.error().Text();
  return status.error().kind == ErrorKind::kDoesNotFit ? 1 : 2;
}

// "out of memory" is what programs look for in the text.
[[noreturn]] void Throw(const Error& error) {
  throw std::runtime_error((error.kind == ErrorKind::kDoesNotFit ? "CUDA out of memory: " : "") +
                           error.Text());
}

void ThrowIfFailed(const Status& status) {
  if (!status.ok()) Throw(status.error());
}

DeviceHeap& HeapOrThrow(int device) {
  const Result<DeviceHeap*> heap = TorchMemory::Get().Heap(device);
  if (!heap.ok()) Throw(heap.error());
  return **heap;
}

Result<device::Address> Allocate(int64_t size, int device, void* stream) {
  PLIMSOLL_ASSIGN(DeviceHeap * heap, TorchMemory::Get().Heap(device));
  return heap->Allocate(size, stream, CurrentTag());
}

device::Address AddressOf(const void* block) { return reinterpret_cast<device::Address>(block); }

plimsoll_torch_counter Plain(const Counter& counter) {
  return {counter.current, counter.peak, counter.allocated, counter.freed};
}

template <typename Function>
void ForDevice(int device, const Function& function) {
  if (DeviceHeap* heap = TorchMemory::Get().FindHeap(device); heap != nullptr) function(*heap);
}

}  // namespace
}  // namespace plimsoll::pytorch

using namespace plimsoll::pytorch;

void* plimsoll_torch_malloc(ssize_t size, int device, CUstream_st* stream) {
  const auto address = Allocate(size, device, stream);
  if (!address.ok()) Throw(address.error());
  return reinterpret_cast<void*>(*address);
}

void plimsoll_torch_free(void* block, ssize_t, int device, CUstream_st*) {
  TorchMemory::Get().Free(AddressOf(block), device);
}

void plimsoll_torch_init(int) {
  const auto count = TorchMemory::Get().DeviceCount();
  if (!count.ok()) Throw(count.error());
}

void plimsoll_torch_empty_cache(void) {
  for (DeviceHeap* heap : TorchMemory::Get().heaps()) ThrowIfFailed(heap->Trim().status());
}

void plimsoll_torch_memory_fraction(double fraction, int device) {
  ThrowIfFailed(TorchMemory::Get().SetFraction(device, fraction));
}

void* plimsoll_torch_base_allocation(void* block, size_t* size) {
  for (DeviceHeap* heap : TorchMemory::Get().heaps()) {
    const auto found = heap->SizeOf(AddressOf(block));
    if (!found) continue;
    if (size != nullptr) *size = static_cast<size_t>(BlockBytes(*found));
    return block;
  }
  return nullptr;
}

void plimsoll_torch_record_stream(void* block, CUstream_st* stream) {
  ThrowIfFailed(TorchMemory::Get().RecordStream(AddressOf(block), stream, 0));
}

void plimsoll_torch_begin_pool(int device, PyTorchPool pool,
                               std::function<bool(CUstream_st*)> filter) {
  HeapOrThrow(device).BeginPool({pool.first, pool.second},
                                [filter = std::move(filter)](void* stream) {
                                  return filter(static_cast<CUstream_st*>(stream));
                                });
}

void plimsoll_torch_end_pool(int device, PyTorchPool pool) {
  ForDevice(device, [&](DeviceHeap& heap) { heap.EndPool({pool.first, pool.second}); });
}

void plimsoll_torch_release_pool(int device, PyTorchPool pool) {
  ForDevice(device, [&](DeviceHeap& heap) { heap.ReleasePool({pool.first, pool.second}); });
}

int plimsoll_torch_configure(const plimsoll_torch_options* options) {
  TorchMemoryOptions read;
  if (options->driver != nullptr) read.driver = options->driver;
  read.limit = plimsoll::Bytes(options->limit);
  read.record = plimsoll::Bytes(options->record);
  read.guarded = options->guarded != 0;
  read.most_devices = options->devices;
  return Answer(TorchMemory::Get().Configure(read));
}

const char* plimsoll_torch_error(void) { return last_error.c_str(); }

int plimsoll_torch_try_malloc(int64_t size, int device, CUstream_st* stream, void** block) {
  const auto address = Allocate(size, device, stream);
  if (address.ok()) *block = reinterpret_cast<void*>(*address);
  return Answer(address.status());
}

int plimsoll_torch_set_limit(int device, int64_t limit) {
  return Answer(TorchMemory::Get().SetLimit(device, plimsoll::Bytes(limit)));
}

int plimsoll_torch_trim(int64_t* given_back) {
  *given_back = 0;
  for (DeviceHeap* heap : TorchMemory::Get().heaps()) {
    const auto trimmed = heap->Trim();
    if (!trimmed.ok()) return Answer(trimmed.status());
    *given_back += trimmed->value();
  }
  return 0;
}

int plimsoll_torch_get_statistics(int device, plimsoll_torch_statistics* statistics) {
  DeviceHeap* heap = TorchMemory::Get().FindHeap(device);
  if (heap == nullptr) {
    last_error = plimsoll::StrCat("device ", device, " was not asked for memory yet");
    return 2;
  }
  const HeapStatistics now = heap->statistics();
  for (size_t i = 0; i < 3; ++i) {
    statistics->allocation[i] = Plain(now.allocation[i]);
    statistics->allocated_bytes[i] = Plain(now.allocated_bytes[i]);
    statistics->requested_bytes[i] = Plain(now.requested_bytes[i]);
  }
  statistics->segment = Plain(now.segment);
  statistics->reserved_bytes = Plain(now.reserved_bytes);
  statistics->pending_blocks = now.pending_blocks;
  statistics->pending_bytes = now.pending_bytes;
  statistics->num_alloc_retries = now.alloc_retries;
  statistics->num_ooms = now.ooms;
  statistics->num_sync_all_streams = now.sync_all_streams;
  statistics->stream_peaks = now.stream_peaks;
  statistics->streams = now.streams;
  statistics->largest_free = now.largest_free;
  statistics->pool_bytes = now.pool_bytes;
  statistics->limit = now.limit;
  return 0;
}

void plimsoll_torch_reset_peak(int device) {
  ForDevice(device, [](DeviceHeap& heap) { heap.ResetPeak(); });
}

void plimsoll_torch_reset_accumulated(int device) {
  ForDevice(device, [](DeviceHeap& heap) { heap.ResetAccumulated(); });
}

int64_t plimsoll_torch_summary(char* text, int64_t size) {
  const std::string summary = TorchMemory::Get().Summary();
  if (size > 0) {
    const size_t copied = std::min(summary.size(), static_cast<size_t>(size) - 1);
    std::memcpy(text, summary.data(), copied);
    text[copied] = '\0';
  }
  return static_cast<int64_t>(summary.size());
}

void plimsoll_torch_record(int on) { TorchMemory::Get().Record(on != 0); }

void plimsoll_torch_set_tag(const char* tag) { SetTag(tag == nullptr ? "" : tag); }

int plimsoll_torch_write_report(const char* path) {
  return Answer(TorchMemory::Get().WriteReport(path));
}

int plimsoll_torch_write_operator_memory(const char* path) {
  return Answer(TorchMemory::Get().WriteOperatorMemory(path));
}

int64_t plimsoll_torch_driver_nanoseconds(void) { return TorchMemory::Get().DriverTime().count(); }
