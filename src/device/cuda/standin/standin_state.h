#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/address_space.h"
#include "device/cpu/cpu_stream.h"
#include "device/cuda/driver_types.h"

namespace plimsoll::device::cuda::standin {

// One thing that a stream does. What it touches is checked when it is done.
struct Operation {
  std::function<void()> work;
  std::vector<AddressRange> touches = {};
};

struct GraphRecord {
  std::vector<Operation> operations;
};

struct ContextRecord;

struct StreamRecord {
  ContextRecord* context = nullptr;
  std::shared_ptr<CpuStream> worker;
  GraphRecord* capture = nullptr;  // null: not captured
  int capture_mode = 0;
  bool capture_broken = false;
  GraphNode last_node = nullptr;  // of the capture
};

struct EventRecord {
  ContextRecord* context = nullptr;
  bool timed = false;
  bool captured = false;
  std::shared_ptr<const StreamProgress> progress;  // null: never recorded, so reached
  uint64_t position = 0;
  std::shared_ptr<std::atomic<int64_t>> time_ns;
};

struct ContextRecord {
  int card = 0;
  int retained = 0;
  Result lost = kSuccess;  // what every call answers, else
  StreamRecord default_stream;
  std::unordered_set<StreamRecord*> streams;
};

struct ChunkRecord {
  int card = 0;
  uint64_t offset = 0;  // in the file
  size_t size = 0;
  int mappings = 0;
  bool released = false;
};

struct Mapping {
  ChunkHandle chunk = 0;
  size_t size = 0;
  bool accessible = false;
};

struct Plain {
  int card = 0;
  size_t size = 0;
};

struct Failure {
  std::string function;  // empty: any
  int64_t first = 1;
  int64_t times = 1;
  Result result = kSuccess;
};

// Everything that the stand-in knows, behind one mutex.
class State {
 public:
  static State& Get();

  State();
  void Reset();

  // The start of every function: counts it, and is the failure that the script has for it.
  Result Enter(const char* function);
  // The calling thread's context, or the result that a call without one has.
  Result Current(ContextRecord*& context);
  StreamRecord* Find(Stream stream, ContextRecord* current);
  // Whether a capture forbids this thread what is not safe beside it; breaks the capture if so.
  Result CheckCaptures();
  // Puts work on a stream, or into its capture.
  Result Put(StreamRecord& stream, Operation operation);
  // Whether all of this may be touched: no memory of a card that is gone or has no access.
  bool MayTouch(const AddressRange& range) const;
  bool IsOfACard(Address at) const;
  size_t UsedOf(int card) const;

  std::mutex mutex;
  int cards = 2;
  int version = 13000;
  size_t total = 0;
  size_t used_by_others = 0;
  bool virtual_memory = true;
  bool ignores_alignment = false;
  bool initialized = false;
  std::map<std::string, int64_t> calls;
  std::vector<Failure> failures;

  std::vector<std::unique_ptr<ContextRecord>> contexts;  // by card
  std::map<Pointer, size_t> reserved;
  std::map<Pointer, Mapping> mappings;
  std::map<ChunkHandle, ChunkRecord> chunks;
  std::map<Pointer, Plain> plain;
  std::map<Address, size_t> pinned;      // host memory allocated here
  std::map<Address, size_t> registered;  // by whole pages
  std::unordered_map<EventRecord*, std::unique_ptr<EventRecord>> events;
  std::unordered_map<StreamRecord*, std::unique_ptr<StreamRecord>> streams;
  std::unordered_map<GraphRecord*, std::unique_ptr<GraphRecord>> graphs;  // executable ones too
  ChunkHandle next_chunk = 1;
  uintptr_t next_node = 1;
  const int file;  // memory of all chunks
  AddressSpace offsets;
  const Address arena;  // addresses of plain blocks: what is free there has no access
  AddressSpace plain_addresses;
};

// A call on its way: the lock, the state, and the result that it has already.
struct Entry {
  enum Needs { kNothing, kContext, kContextAndNoCapture };
  explicit Entry(const char* function, Needs needs = kNothing);

  State& state;
  std::unique_lock<std::mutex> lock;
  ContextRecord* context = nullptr;  // where it needs one
  Result result = kSuccess;
};

// The contexts that the calling thread has pushed, the current one last, and its capture mode.
std::vector<ContextRecord*>& ContextStack();
int& CaptureMode();

}  // namespace plimsoll::device::cuda::standin
