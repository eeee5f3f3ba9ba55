#include "device/cuda/standin/standin_state.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "device/cuda/standin/standin.h"

namespace plimsoll::device::cuda::standin {
namespace {

constexpr Bytes kFileSize = GiB(1024) * 4;
constexpr Bytes kArenaSize = GiB(64);

// The entry whose [key, key + size) holds the address, or end.
template <typename Map, typename Size>
auto Holder(const Map& map, Address at, Size size_of) {
  auto next = map.upper_bound(at);
  if (next == map.begin()) return map.end();
  --next;
  return at - next->first < size_of(next->second) ? next : map.end();
}

}  // namespace

std::vector<ContextRecord*>& ContextStack() {
  thread_local std::vector<ContextRecord*> stack;
  return stack;
}

int& CaptureMode() {
  thread_local int mode = 0;
  return mode;
}

Entry::Entry(const char* function, Needs needs) : state(State::Get()), lock(state.mutex) {
  result = state.Enter(function);
  if (result == kSuccess && needs != kNothing) result = state.Current(context);
  if (result == kSuccess && needs == kContextAndNoCapture) result = state.CheckCaptures();
}

State& State::Get() {
  static State* const state = new State();  // threads may outlive every static object
  return *state;
}

State::State()
    : file(memfd_create("cuda_standin", MFD_CLOEXEC)),
      offsets(0, kFileSize),
      arena(reinterpret_cast<Address>(mmap(nullptr, static_cast<size_t>(kArenaSize.value()),
                                           PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                                           -1, 0))),
      plain_addresses(arena, kArenaSize) {
  [[maybe_unused]] const int sized = ftruncate(file, kFileSize.value());
  Reset();
}

void State::Reset() {
  cards = 2;
  version = 13000;
  total = static_cast<size_t>(GiB(1).value());
  used_by_others = 0;
  virtual_memory = true;
  ignores_alignment = false;
  initialized = false;
  calls.clear();
  failures.clear();
  contexts.clear();
  streams.clear();
  events.clear();
  graphs.clear();
  for (const auto& [at, size] : reserved) munmap(reinterpret_cast<void*>(at), size);
  for (const auto& [at, size] : pinned) munmap(reinterpret_cast<void*>(at), size);
  for (const auto& [handle, chunk] : chunks) {
    offsets.GiveBack(chunk.offset, Bytes(static_cast<int64_t>(chunk.size)));
  }
  for (const auto& [at, block] : plain) {
    plain_addresses.GiveBack(at, Bytes(static_cast<int64_t>(block.size)).RoundUp(4096));
  }
  reserved.clear();
  mappings.clear();
  chunks.clear();
  plain.clear();
  pinned.clear();
  registered.clear();
}

Result State::Enter(const char* function) {
  ++calls[function];
  const bool names_errors = std::strncmp(function, "cuGetError", 10) == 0;
  Result result = kSuccess;
  for (Failure& failure : failures) {
    if (failure.function.empty() ? names_errors : failure.function != function) continue;
    if (failure.first > 1) {
      --failure.first;
    } else if (failure.times > 0) {
      --failure.times;
      if (result == kSuccess) result = failure.result;
    }
  }
  if (result == kSuccess && !initialized && !names_errors && std::strcmp(function, "cuInit") != 0 &&
      std::strcmp(function, "cuDriverGetVersion") != 0) {
    return kNotInitialized;
  }
  return result;
}

Result State::Current(ContextRecord*& context) {
  const std::vector<ContextRecord*>& stack = ContextStack();
  if (stack.empty() || stack.back() == nullptr) return kInvalidContext;
  context = stack.back();
  if (context->retained == 0) return kContextIsDestroyed;
  return context->lost;
}

StreamRecord* State::Find(Stream stream, ContextRecord* current) {
  if (stream == nullptr) {
    if (current == nullptr) return nullptr;
    if (current->default_stream.worker == nullptr) {
      current->default_stream.context = current;
      current->default_stream.worker = std::make_shared<CpuStream>(DeviceId{current->card});
    }
    return &current->default_stream;
  }
  const auto found = streams.find(static_cast<StreamRecord*>(stream));
  return found == streams.end() ? nullptr : found->first;
}

Result State::CheckCaptures() {
  if (CaptureMode() == kCaptureRelaxed) return kSuccess;
  for (const auto& [stream, owned] : streams) {
    if (stream->capture == nullptr || stream->capture_mode != 0) continue;
    stream->capture_broken = true;
    return kStreamCaptureUnsupported;
  }
  return kSuccess;
}

Result State::Put(StreamRecord& stream, Operation operation) {
  if (stream.capture != nullptr) {
    stream.capture->operations.push_back(std::move(operation));
    stream.last_node = reinterpret_cast<GraphNode>(next_node++);
    return kSuccess;
  }
  ContextRecord* const context = stream.context;
  stream.worker->Enqueue({[this, context, operation = std::move(operation)] {
                            {
                              const std::lock_guard lock(mutex);
                              if (context->lost != kSuccess) return;
                              for (const AddressRange& touch : operation.touches) {
                                if (MayTouch(touch)) continue;
                                context->lost = kIllegalAddress;
                                return;
                              }
                            }
                            operation.work();
                          },
                          {}});
  return kSuccess;
}

bool State::IsOfACard(Address at) const {
  const auto size = [](size_t value) { return value; };
  return at - arena < static_cast<Address>(kArenaSize.value()) ||
         Holder(reserved, at, size) != reserved.end();
}

bool State::MayTouch(const AddressRange& range) const {
  const Address end = range.base + static_cast<uint64_t>(range.size.value());
  if (!IsOfACard(range.base)) return true;
  const auto block = Holder(plain, range.base, [](const Plain& value) { return value.size; });
  if (block != plain.end()) return end <= block->first + block->second.size;
  for (Address next = range.base; next < end;) {
    const auto mapping = Holder(mappings, next, [](const Mapping& value) { return value.size; });
    if (mapping == mappings.end() || !mapping->second.accessible) return false;
    next = mapping->first + mapping->second.size;
  }
  return true;
}

size_t State::UsedOf(int card) const {
  size_t used = used_by_others;
  for (const auto& [handle, chunk] : chunks) used += chunk.card == card ? chunk.size : 0;
  for (const auto& [at, block] : plain) used += block.card == card ? block.size : 0;
  return used;
}

}  // namespace plimsoll::device::cuda::standin

using plimsoll::device::cuda::standin::State;

namespace {

template <typename Action>
void Change(const Action& change) {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  change(state);
}

}  // namespace

extern "C" {

void PlimsollStandinReset() {
  Change([](State& state) { state.Reset(); });
}
void PlimsollStandinSetCards(int cards) {
  Change([&](State& state) { state.cards = cards; });
}
void PlimsollStandinSetVersion(int version) {
  Change([&](State& state) { state.version = version; });
}
void PlimsollStandinSetMemory(size_t total) {
  Change([&](State& state) { state.total = total; });
}
void PlimsollStandinSetUsedByOthers(size_t bytes) {
  Change([&](State& state) { state.used_by_others = bytes; });
}
void PlimsollStandinSetVirtualMemory(int able) {
  Change([&](State& state) { state.virtual_memory = able != 0; });
}
void PlimsollStandinIgnoreAlignment(int ignore) {
  Change([&](State& state) { state.ignores_alignment = ignore != 0; });
}
void PlimsollStandinFail(const char* function, int64_t first, int64_t times, int result) {
  Change([&](State& state) {
    state.failures.push_back({function == nullptr ? "" : function, first, times, result});
  });
}

int64_t PlimsollStandinCalls(const char* function) {
  int64_t count = 0;
  Change([&](State& state) {
    for (const auto& [name, calls] : state.calls) {
      if (function == nullptr || name == function) count += calls;
    }
  });
  return count;
}

int64_t PlimsollStandinOutstanding(const char* kind) {
  int64_t count = 0;
  Change([&](State& state) {
    int64_t contexts = 0;
    for (const auto& context : state.contexts) {
      contexts += context != nullptr && context->retained > 0 ? 1 : 0;
    }
    const std::map<std::string, size_t> all = {
        {"addresses", state.reserved.size()}, {"chunks", state.chunks.size()},
        {"mappings", state.mappings.size()},  {"plain", state.plain.size()},
        {"host", state.pinned.size()},        {"registered", state.registered.size()},
        {"streams", state.streams.size()},    {"events", state.events.size()},
        {"graphs", state.graphs.size()},      {"contexts", static_cast<size_t>(contexts)}};
    for (const auto& [name, size] : all) {
      if (kind == nullptr || name == kind) count += static_cast<int64_t>(size);
    }
  });
  return count;
}

}  // extern "C"
