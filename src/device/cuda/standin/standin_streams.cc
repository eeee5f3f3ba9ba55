// The stand-in's streams, events, copies and graphs.
#include <atomic>
#include <chrono>
#include <cstring>

#include "device/cuda/standin/standin_state.h"

namespace plimsoll::device::cuda::standin {
namespace {

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void* At(Pointer at) { return reinterpret_cast<void*>(at); }
AddressRange Range(Pointer at, size_t size) { return {at, Bytes(static_cast<int64_t>(size))}; }

EventRecord* FindEvent(State& state, Event event) {
  const auto found = state.events.find(static_cast<EventRecord*>(event));
  return found == state.events.end() ? nullptr : found->first;
}

bool IsReached(const EventRecord& event) {
  return event.progress == nullptr || event.progress->Reached(event.position);
}

// What a copy finds at an address: memory of a card, pinned, pageable, or half pinned.
enum class Kind { kCard, kPinned, kPageable, kMixed };
Kind KindOf(const State& state, Pointer at, size_t size) {
  if (state.IsOfACard(at)) return Kind::kCard;
  for (const auto* pages : {&state.pinned, &state.registered}) {
    for (const auto& [start, length] : *pages) {
      if (start <= at && at + size <= start + length) return Kind::kPinned;
      if (start < at + size && at < start + length) return Kind::kMixed;
    }
  }
  return Kind::kPageable;
}

// Waits with the lock open for what the stream has now, and tells how its context fared.
Result Wait(Entry& call, StreamRecord& stream) {
  const std::shared_ptr<const StreamProgress> progress = stream.worker->progress();
  const uint64_t position = stream.worker->position();
  ContextRecord* const context = stream.context;
  call.lock.unlock();
  progress->WaitFor(position);
  call.lock.lock();
  return context->lost;
}

// A captured stream can be neither asked nor waited for; trying breaks the capture.
Result CheckNotCaptured(StreamRecord& stream) {
  if (stream.capture == nullptr) return kSuccess;
  stream.capture_broken = true;
  return kStreamCaptureUnsupported;
}

}  // namespace

extern "C" {

Result cuThreadExchangeStreamCaptureMode(int* mode) {
  Entry call(__func__);
  if (call.result == kSuccess) std::swap(*mode, CaptureMode());
  return call.result;
}

Result cuStreamCreate(Stream* stream, unsigned) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  auto made = std::make_unique<StreamRecord>();
  made->context = call.context;
  made->worker = std::make_shared<CpuStream>(DeviceId{call.context->card});
  call.context->streams.insert(made.get());
  *stream = made.get();
  call.state.streams.emplace(made.get(), std::move(made));
  return kSuccess;
}

Result cuStreamDestroy_v2(Stream stream) {
  std::unique_ptr<StreamRecord> ended;  // after the lock: it waits for its thread
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, nullptr);
  if (found == nullptr) return kInvalidHandle;
  found->context->streams.erase(found);
  ended = std::move(call.state.streams.extract(found).mapped());
  call.lock.unlock();
  return kSuccess;
}

Result cuStreamQuery(Stream stream) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  if (const Result captured = CheckNotCaptured(*found)) return captured;
  return found->worker->idle() ? found->context->lost : kNotReady;
}

Result cuStreamSynchronize(Stream stream) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  if (const Result captured = CheckNotCaptured(*found)) return captured;
  return Wait(call, *found);
}

Result cuCtxSynchronize() {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  std::vector<StreamRecord*> all(call.context->streams.begin(), call.context->streams.end());
  all.push_back(call.state.Find(nullptr, call.context));
  for (StreamRecord* stream : all) {
    if (const Result captured = CheckNotCaptured(*stream)) return captured;
  }
  for (StreamRecord* stream : all) {
    if (const Result result = Wait(call, *stream)) return result;
  }
  return kSuccess;
}

Result cuLaunchHostFunc(Stream stream, HostFunction function, void* data) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  return call.state.Put(*found, {[function, data] { function(data); }});
}

Result cuMemcpyAsync(Pointer to, Pointer from, size_t size, Stream stream) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  const Kind kinds[] = {KindOf(call.state, to, size), KindOf(call.state, from, size)};
  if (size == 0 || kinds[0] == Kind::kMixed || kinds[1] == Kind::kMixed) return kInvalidValue;
  call.state.Put(*found, {[=] { std::memmove(At(to), At(from), size); },
                          {Range(to, size), Range(from, size)}});
  const bool waits = kinds[0] == Kind::kPageable || kinds[1] == Kind::kPageable;
  return waits && found->capture == nullptr ? Wait(call, *found) : kSuccess;
}

Result cuMemsetD8Async(Pointer at, unsigned char value, size_t size, Stream stream) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  return call.state.Put(*found, {[=] { std::memset(At(at), value, size); }, {Range(at, size)}});
}

Result cuModuleLoadData(Module* module, const void* image) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  if (std::strstr(static_cast<const char*>(image), ".entry count_other(") == nullptr) {
    return kInvalidValue;
  }
  *module = call.context;
  return kSuccess;
}

Result cuModuleUnload(Module) {
  Entry call(__func__, Entry::kContext);
  return call.result;
}

Result cuModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  if (std::strcmp(name, "count_other") != 0) return kInvalidValue;
  *kernel = module;
  return kSuccess;
}

// What the one kernel does (cuda_byte_count.cc).
Result cuLaunchKernel(Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      Stream stream, void** parameters, void**) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  const auto at = *static_cast<const Pointer*>(parameters[0]);
  const auto size = *static_cast<const uint64_t*>(parameters[1]);
  const auto value = *static_cast<const uint32_t*>(parameters[2]);
  const auto counter = *static_cast<const Pointer*>(parameters[3]);
  const auto count = [=] {
    const auto* bytes = static_cast<const unsigned char*>(At(at));
    uint64_t others = 0;
    for (uint64_t i = 0; i < size;) {
      const uint64_t length = size - i >= 8 ? 8 : 1;
      bool other = false;
      for (uint64_t k = 0; k < length; ++k) other |= bytes[i + k] != value;
      others += other ? 1 : 0;
      i += length;
    }
    std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(At(counter))) += others;
  };
  return call.state.Put(*found, {count, {Range(at, size), Range(counter, sizeof(uint64_t))}});
}

Result cuEventCreate(Event* event, unsigned flags) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  auto made = std::make_unique<EventRecord>();
  made->context = call.context;
  made->timed = (flags & kEventDisableTiming) == 0;
  *event = made.get();
  call.state.events.emplace(made.get(), std::move(made));
  return kSuccess;
}

Result cuEventDestroy_v2(Event event) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  return call.state.events.erase(static_cast<EventRecord*>(event)) == 1 ? kSuccess : kInvalidHandle;
}

Result cuEventRecord(Event event, Stream stream) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  EventRecord* const record = FindEvent(call.state, event);
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (record == nullptr || found == nullptr || record->context != found->context) {
    return kInvalidHandle;
  }
  record->captured = found->capture != nullptr;
  if (record->captured) return kSuccess;
  if (record->timed) {
    record->time_ns = std::make_shared<std::atomic<int64_t>>(0);
    call.state.Put(*found, {[time = record->time_ns] { *time = Now(); }});
  }
  record->progress = found->worker->progress();
  record->position = found->worker->position();
  return kSuccess;
}

Result cuEventQuery(Event event) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  const EventRecord* const record = FindEvent(call.state, event);
  if (record == nullptr || record->captured) return kInvalidHandle;
  return IsReached(*record) ? record->context->lost : kNotReady;
}

Result cuEventSynchronize(Event event) {
  Entry call(__func__, Entry::kContextAndNoCapture);
  if (call.result != kSuccess) return call.result;
  const EventRecord* const record = FindEvent(call.state, event);
  if (record == nullptr || record->captured) return kInvalidHandle;
  if (record->progress == nullptr) return kSuccess;
  const EventRecord until = *record;
  call.lock.unlock();
  until.progress->WaitFor(until.position);
  call.lock.lock();
  return until.context->lost;
}

Result cuEventElapsedTime(float* milliseconds, Event from, Event to) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const EventRecord* const first = FindEvent(call.state, from);
  const EventRecord* const last = FindEvent(call.state, to);
  if (first == nullptr || last == nullptr || !first->timed || !last->timed) return kInvalidHandle;
  if (!IsReached(*first) || !IsReached(*last)) return kNotReady;
  *milliseconds = static_cast<float>(static_cast<double>(*last->time_ns - *first->time_ns) * 1e-6);
  return kSuccess;
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const EventRecord* const record = FindEvent(call.state, event);
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (record == nullptr || found == nullptr) return kInvalidHandle;
  if (found->capture != nullptr) return kStreamCaptureUnsupported;
  if (IsReached(*record)) return kSuccess;
  return call.state.Put(*found, {[progress = record->progress, position = record->position] {
    progress->WaitFor(position);
  }});
}

Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, nullptr);
  if (found == nullptr) return kInvalidHandle;
  if (found->capture != nullptr) return kStreamCaptureUnsupported;
  auto graph = std::make_unique<GraphRecord>();
  found->capture = graph.get();
  found->capture_mode = mode;
  found->capture_broken = false;
  found->last_node = nullptr;
  call.state.graphs.emplace(graph.get(), std::move(graph));
  return kSuccess;
}

Result cuStreamEndCapture(Stream stream, Graph* graph) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, nullptr);
  if (found == nullptr || found->capture == nullptr) return kInvalidValue;
  *graph = std::exchange(found->capture, nullptr);
  if (!found->capture_broken) return kSuccess;
  call.state.graphs.erase(static_cast<GraphRecord*>(*graph));
  *graph = nullptr;
  return kStreamCaptureUnsupported;
}

Result cuStreamIsCapturing(Stream stream, int* status) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  *status = found->capture != nullptr ? 1 : kCaptureNone;
  return kSuccess;
}

Result cuStreamGetCaptureInfo_v2(Stream stream, int* status, uint64_t* id, Graph* graph,
                                 const GraphNode** dependencies, size_t* count) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  *status = found->capture != nullptr ? 1 : kCaptureNone;
  *id = 1;
  *graph = found->capture;
  *dependencies = &found->last_node;
  *count = found->last_node != nullptr ? 1 : 0;
  return kSuccess;
}

Result cuStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes, size_t count, unsigned) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr || found->capture == nullptr || count != 1) return kInvalidValue;
  found->last_node = nodes[0];
  return kSuccess;
}

Result cuGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode*, size_t,
                                Graph child) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  const auto parent = call.state.graphs.find(static_cast<GraphRecord*>(graph));
  const auto inside = call.state.graphs.find(static_cast<GraphRecord*>(child));
  if (parent == call.state.graphs.end() || inside == call.state.graphs.end()) return kInvalidValue;
  for (const Operation& operation : inside->first->operations) {
    parent->first->operations.push_back(operation);
  }
  *node = reinterpret_cast<GraphNode>(call.state.next_node++);
  return kSuccess;
}

Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, uint64_t) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  const auto found = call.state.graphs.find(static_cast<GraphRecord*>(graph));
  if (found == call.state.graphs.end()) return kInvalidValue;
  auto made = std::make_unique<GraphRecord>(*found->first);
  *exec = made.get();
  call.state.graphs.emplace(made.get(), std::move(made));
  return kSuccess;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const auto found = call.state.graphs.find(static_cast<GraphRecord*>(exec));
  StreamRecord* const on = call.state.Find(stream, call.context);
  if (found == call.state.graphs.end() || on == nullptr) return kInvalidHandle;
  for (const Operation& operation : found->first->operations) call.state.Put(*on, operation);
  return kSuccess;
}

Result cuGraphExecDestroy(GraphExec exec) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  return call.state.graphs.erase(static_cast<GraphRecord*>(exec)) == 1 ? kSuccess : kInvalidHandle;
}

Result cuGraphDestroy(Graph graph) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  return call.state.graphs.erase(static_cast<GraphRecord*>(graph)) == 1 ? kSuccess : kInvalidHandle;
}

}  // extern "C"

}  // namespace plimsoll::device::cuda::standin
