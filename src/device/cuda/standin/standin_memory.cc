// The stand-in's cards, contexts and memory.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cuda/standin/standin_state.h"

namespace plimsoll::device::cuda::standin {
namespace {

constexpr size_t kUnit = size_t{2} << 20;
constexpr size_t kPage = 4096;

bool IsUnits(uint64_t value) { return value % kUnit == 0; }
Bytes Size(size_t size) { return Bytes(static_cast<int64_t>(size)); }
void* At(Address at) { return reinterpret_cast<void*>(at); }
size_t Pages(size_t size) { return (size + kPage - 1) / kPage * kPage; }

template <typename Map>
bool Overlaps(const Map& map, Address at, size_t size) {
  for (const auto& [start, length] : map) {
    if (start < at + size && at < start + length) return true;
  }
  return false;
}

// Whether [at, at + size) is a run of whole mappings without a gap.
bool IsRun(const State& state, Pointer at, size_t size) {
  Pointer next = at;
  while (next < at + size) {
    const auto mapping = state.mappings.find(next);
    if (mapping == state.mappings.end()) return false;
    next += mapping->second.size;
  }
  return size > 0 && next == at + size;
}

void DropChunk(State& state, ChunkHandle handle) {
  const ChunkRecord& chunk = state.chunks.at(handle);
  if (!chunk.released || chunk.mappings > 0) return;
  fallocate(state.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(chunk.offset), static_cast<off_t>(chunk.size));
  state.offsets.GiveBack(chunk.offset, Size(chunk.size));
  state.chunks.erase(handle);
}

// As the driver does before it frees memory.
void WaitForContext(Entry& call) {
  std::vector<std::shared_ptr<CpuStream>> workers;
  for (StreamRecord* stream : call.context->streams) workers.push_back(stream->worker);
  if (call.context->default_stream.worker != nullptr) {
    workers.push_back(call.context->default_stream.worker);
  }
  call.lock.unlock();
  for (const auto& worker : workers) worker->progress()->WaitFor(worker->position());
  workers.clear();
  call.lock.lock();
}

}  // namespace

extern "C" {

Result cuInit(unsigned flags) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  if (flags != 0) return kInvalidValue;
  if (call.state.cards == 0) return kNoDevice;
  call.state.initialized = true;
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  Entry call(__func__);
  *version = call.state.version;
  return call.result;
}

Result cuGetErrorName(Result error, const char** name) {
  static const std::map<Result, const char*> names = {
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
      {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
      {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
      {kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {kStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {kUnknown, "CUDA_ERROR_UNKNOWN"}};
  Entry call(__func__);
  const auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? kInvalidValue : call.result;
}

Result cuGetErrorString(Result, const char** text) {
  Entry call(__func__);
  *text = "as the stand-in was told";
  return call.result;
}

Result cuDeviceGetCount(int* count) {
  Entry call(__func__);
  *count = call.state.cards;
  return call.result;
}

Result cuDeviceGet(Ordinal* card, int ordinal) {
  Entry call(__func__);
  *card = ordinal;
  return call.result;
}

Result cuDeviceGetName(char* name, int length, Ordinal) {
  Entry call(__func__);
  std::strncpy(name, "Stand-in card", static_cast<size_t>(length));
  return call.result;
}

Result cuDeviceGetAttribute(int* value, int attribute, Ordinal) {
  Entry call(__func__);
  *value = attribute == kVirtualMemorySupported ? call.state.virtual_memory : 9;
  return call.result;
}

Result cuDeviceCanAccessPeer(int* able, Ordinal, Ordinal) {
  Entry call(__func__);
  *able = 1;
  return call.result;
}

Result cuDevicePrimaryCtxRetain(Context* context, Ordinal card) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  auto& contexts = call.state.contexts;
  const auto index = static_cast<size_t>(card);
  if (contexts.size() <= index) contexts.resize(index + 1);
  if (contexts[index] == nullptr) contexts[index] = std::make_unique<ContextRecord>();
  contexts[index]->card = card;
  ++contexts[index]->retained;
  *context = contexts[index].get();
  return kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(Ordinal card) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  ContextRecord& context = *call.state.contexts[static_cast<size_t>(card)];
  if (context.retained == 0) return kInvalidContext;
  if (--context.retained == 0) context.lost = kSuccess;
  return kSuccess;
}

Result cuCtxGetCurrent(Context* context) {
  Entry call(__func__);
  *context = ContextStack().empty() ? nullptr : ContextStack().back();
  return call.result;
}

Result cuCtxPushCurrent_v2(Context context) {
  Entry call(__func__);
  if (call.result == kSuccess) ContextStack().push_back(static_cast<ContextRecord*>(context));
  return call.result;
}

Result cuCtxPopCurrent_v2(Context* context) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  if (ContextStack().empty()) return kInvalidContext;
  *context = ContextStack().back();
  ContextStack().pop_back();
  return kSuccess;
}

Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  *total = call.state.total;
  *free = *total - std::min(*total, call.state.UsedOf(call.context->card));
  return kSuccess;
}

Result cuMemGetAllocationGranularity(size_t* size, const AllocationProperties*, int) {
  Entry call(__func__);
  *size = kUnit;
  return call.result;
}

Result cuMemAddressReserve(Pointer* at, size_t size, size_t alignment, Pointer, uint64_t flags) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  if (size == 0 || !IsUnits(size) || flags != 0 || (alignment & (alignment - 1)) != 0) {
    return kInvalidValue;
  }
  const size_t kept = call.state.ignores_alignment ? kUnit : std::max(alignment, kUnit);
  void* const raw = mmap(nullptr, size + kept + kUnit, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return kOutOfMemory;
  const auto first = reinterpret_cast<Pointer>(raw);
  Pointer base = (first + kept - 1) / kept * kept;
  if (call.state.ignores_alignment && alignment > kUnit && base % alignment == 0) base += kUnit;
  if (base > first) munmap(raw, base - first);
  munmap(At(base + size), first + size + kept + kUnit - base - size);
  call.state.reserved.emplace(base, size);
  *at = base;
  return kSuccess;
}

Result cuMemAddressFree(Pointer at, size_t size) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  const auto found = call.state.reserved.find(at);
  if (found == call.state.reserved.end() || found->second != size) return kInvalidValue;
  for (const auto& [start, mapping] : call.state.mappings) {
    if (start >= at && start < at + size) return kInvalidValue;
  }
  munmap(At(at), size);
  call.state.reserved.erase(found);
  return kSuccess;
}

Result cuMemCreate(ChunkHandle* handle, size_t size, const AllocationProperties* properties,
                   uint64_t flags) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  const int card = properties->location.id;
  if (size == 0 || !IsUnits(size) || flags != 0 || properties->type != kAllocationPinned ||
      properties->location.type != kLocationDevice || card >= call.state.cards) {
    return kInvalidValue;
  }
  if (call.state.UsedOf(card) + size > call.state.total) return kOutOfMemory;
  const auto offset = call.state.offsets.Take(Size(size), Size(kUnit));
  if (!offset) return kOutOfMemory;
  *handle = call.state.next_chunk++;
  call.state.chunks.emplace(*handle, ChunkRecord{card, *offset, size});
  return kSuccess;
}

Result cuMemRelease(ChunkHandle handle) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  const auto chunk = call.state.chunks.find(handle);
  if (chunk == call.state.chunks.end() || chunk->second.released) return kInvalidValue;
  chunk->second.released = true;
  DropChunk(call.state, handle);
  return kSuccess;
}

Result cuMemMap(Pointer at, size_t size, size_t offset, ChunkHandle handle, uint64_t flags) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  State& state = call.state;
  const auto chunk = state.chunks.find(handle);
  if (chunk == state.chunks.end() || chunk->second.released || offset != 0 || flags != 0 ||
      size != chunk->second.size || !IsUnits(at)) {
    return kInvalidValue;
  }
  const auto range = state.reserved.upper_bound(at);
  if (range == state.reserved.begin() ||
      std::prev(range)->first + std::prev(range)->second < at + size) {
    return kInvalidValue;
  }
  for (const auto& [start, mapping] : state.mappings) {
    if (start < at + size && at < start + mapping.size) return kInvalidValue;
  }
  if (mmap(At(at), size, PROT_NONE, MAP_SHARED | MAP_FIXED, state.file,
           static_cast<off_t>(chunk->second.offset)) == MAP_FAILED) {
    return kOutOfMemory;
  }
  state.mappings.emplace(at, Mapping{handle, size});
  ++chunk->second.mappings;
  return kSuccess;
}

Result cuMemUnmap(Pointer at, size_t size) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  State& state = call.state;
  if (!IsRun(state, at, size)) return kInvalidValue;
  mmap(At(at), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  for (Pointer next = at; next < at + size;) {
    const Mapping mapping = state.mappings.extract(next).mapped();
    next += mapping.size;
    --state.chunks.at(mapping.chunk).mappings;
    DropChunk(state, mapping.chunk);
  }
  return kSuccess;
}

Result cuMemSetAccess(Pointer at, size_t size, const AccessDescription* access, size_t count) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  if (!IsRun(call.state, at, size) || count == 0 || access[0].flags != kAccessReadWrite) {
    return kInvalidValue;
  }
  if (mprotect(At(at), size, PROT_READ | PROT_WRITE) != 0) return kOutOfMemory;
  for (Pointer next = at; next < at + size;) {
    Mapping& mapping = call.state.mappings.at(next);
    mapping.accessible = true;
    next += mapping.size;
  }
  return kSuccess;
}

Result cuMemAlloc_v2(Pointer* at, size_t size) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  if (size == 0) return kInvalidValue;
  State& state = call.state;
  const int card = call.context->card;
  if (size > state.total || state.UsedOf(card) + size > state.total) return kOutOfMemory;
  const auto place = state.plain_addresses.Take(Size(Pages(size)), Size(kPage));
  if (!place) return kOutOfMemory;
  if (mprotect(At(*place), Pages(size), PROT_READ | PROT_WRITE) != 0) return kOutOfMemory;
  state.plain.emplace(*place, Plain{card, size});
  *at = *place;
  return kSuccess;
}

Result cuMemFree_v2(Pointer at) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  State& state = call.state;
  if (!state.plain.contains(at)) return kInvalidValue;
  WaitForContext(call);
  const size_t size = state.plain.at(at).size;
  state.plain.erase(at);
  mmap(At(at), Pages(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  state.plain_addresses.GiveBack(at, Size(Pages(size)));
  return kSuccess;
}

Result cuMemHostAlloc(void** at, size_t size, unsigned) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  void* const block =
      mmap(nullptr, Pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (size == 0 || block == MAP_FAILED) return kOutOfMemory;
  call.state.pinned.emplace(reinterpret_cast<Address>(block), Pages(size));
  *at = block;
  return kSuccess;
}

Result cuMemFreeHost(void* at) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  const auto found = call.state.pinned.find(reinterpret_cast<Address>(at));
  if (found == call.state.pinned.end()) return kInvalidValue;
  WaitForContext(call);
  munmap(at, found->second);
  call.state.pinned.erase(found);
  return kSuccess;
}

Result cuMemHostRegister_v2(void* at, size_t size, unsigned) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  const auto first = reinterpret_cast<Address>(at) / kPage * kPage;
  const size_t pages = Pages(reinterpret_cast<Address>(at) + size) - first;
  if (size == 0) return kInvalidValue;
  if (Overlaps(call.state.registered, first, pages)) return kHostMemoryAlreadyRegistered;
  call.state.registered.emplace(first, pages);
  return kSuccess;
}

Result cuMemHostUnregister(void* at) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  if (call.state.registered.erase(reinterpret_cast<Address>(at)) == 0) {
    return kHostMemoryNotRegistered;
  }
  return kSuccess;
}

}  // extern "C"

}  // namespace plimsoll::device::cuda::standin
