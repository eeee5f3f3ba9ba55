#include "replay/memory_snapshot.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "replay/pickle_reader.h"

namespace plimsoll::replay {
namespace {

using Kind = PickleValue::Kind;

constexpr int64_t kMostBytes = int64_t{1} << 50;  // of a block, as in traces of text

// Turns the events of one device into a trace.
class SnapshotTrace {
 public:
  explicit SnapshotTrace(const PickleReader& pickle) : pickle_(pickle) {}

  Status Add(const PickleValue& event) {
    const auto action = pickle_.Find(event, "action");
    if (!action || action->kind != Kind::kText) return pickle_.Bad("an event has no 'action'");
    const std::string_view text = pickle_.Text(*action);
    const bool allocates = text == "alloc";
    const bool frees = text == "free_requested" || text == "free";
    const bool completes = text == "free_completed";
    if (!allocates && !frees && !completes) return {};  // of segments, or a note
    Asked asked;
    PLIMSOLL_TRY(Read(event, asked));
    if (allocates) return Allocate(asked);
    const auto block = blocks_.find(asked.address);
    if (frees) return Free(asked, block == blocks_.end() ? AddOlder(asked) : block->second);
    if (block == blocks_.end()) {
      // Its free was asked for before the recording began.
      const uint32_t older = AddOlder(asked);
      PLIMSOLL_TRY(Free(asked, older));
      return Complete(asked, older);
    }
    return Complete(asked, block->second);
  }

  // A block that a segment still holds.
  Status AddHeld(uint64_t address, int64_t size, int64_t stream) {
    if (size < 0 || size > kMostBytes) return pickle_.Bad("a block's size is out of range");
    if (!blocks_.contains(address)) {
      AddOlder({.address = address, .size = size, .stream = stream, .time = 0});
    }
    return {};
  }

  Trace Take() {
    Trace trace;
    trace.blocks = next_block_;
    trace.streams = static_cast<uint32_t>(streams_.size());
    const int64_t begin = events_.empty() ? 0 : events_.front().time_us;
    for (TraceEvent& older : older_) older.time_us = begin;
    trace.events = std::move(older_);
    trace.events.insert(trace.events.end(), events_.begin(), events_.end());
    return trace;
  }

 private:
  struct Asked {
    uint64_t address = 0;
    int64_t size = 0;
    int64_t stream = 0;
    int64_t time = 0;
  };
  struct Life {
    bool freed = false;
    int64_t size = 0;
    uint32_t stream = 0;
  };

  Status Read(const PickleValue& event, Asked& asked) {
    const auto number = [&](std::string_view key, int64_t otherwise) {
      const auto found = pickle_.Find(event, key);
      return found && found->kind == Kind::kInt ? found->number : otherwise;
    };
    const auto address = pickle_.Find(event, "addr");
    asked.address =
        address && address->kind == Kind::kInt ? static_cast<uint64_t>(address->number) : 0;
    asked.size = number("size", -1);
    asked.stream = number("stream", 0);
    asked.time = number("time_us", static_cast<int64_t>(events_.size()));
    if (!address || asked.size < 0 || asked.size > kMostBytes) {
      return pickle_.Bad("an event has no 'addr', or a 'size' that is none");
    }
    return {};
  }

  uint32_t StreamOf(int64_t name) {
    return streams_.try_emplace(name, static_cast<uint32_t>(streams_.size())).first->second;
  }

  uint32_t NewBlock(const Asked& asked, std::vector<TraceEvent>& into) {
    const uint32_t block = next_block_++;
    lives_.push_back({.freed = false, .size = asked.size, .stream = StreamOf(asked.stream)});
    blocks_[asked.address] = block;
    into.push_back(
        {TraceEvent::Kind::kAllocate, block, lives_.back().stream, Bytes(asked.size), asked.time});
    return block;
  }

  uint32_t AddOlder(const Asked& asked) { return NewBlock(asked, older_); }

  Status Allocate(const Asked& asked) {
    if (blocks_.contains(asked.address)) {
      return pickle_.Bad(StrCat("the address ", asked.address, " is allocated twice"));
    }
    NewBlock(asked, events_);
    return {};
  }

  Status Free(const Asked& asked, uint32_t block) {
    if (lives_[block].freed) {
      return pickle_.Bad(StrCat("the address ", asked.address, " is freed twice"));
    }
    lives_[block].freed = true;
    Push(TraceEvent::Kind::kFree, asked, block);
    return {};
  }

  Status Complete(const Asked& asked, uint32_t block) {
    if (!lives_[block].freed) {
      return pickle_.Bad(StrCat("the free of address ", asked.address, " was not asked for"));
    }
    Push(TraceEvent::Kind::kCompleted, asked, block);
    blocks_.erase(asked.address);
    return {};
  }

  void Push(TraceEvent::Kind kind, const Asked& asked, uint32_t block) {
    events_.push_back({kind, block, lives_[block].stream, Bytes(lives_[block].size), asked.time});
  }

  const PickleReader& pickle_;
  std::unordered_map<uint64_t, uint32_t> blocks_;  // that live, or wait to be completed
  std::unordered_map<int64_t, uint32_t> streams_;
  std::vector<Life> lives_;
  uint32_t next_block_ = 0;
  std::vector<TraceEvent> older_;
  std::vector<TraceEvent> events_;
};

// The list under a key of the snapshot.
Result<std::vector<PickleValue>> ListOf(const PickleReader& pickle, const PickleValue& snapshot,
                                        std::string_view key) {
  const auto list = pickle.Find(snapshot, key);
  if (!list || list->kind != Kind::kList) {
    return pickle.Bad(StrCat("it has no list '", key, "', as a memory snapshot has"));
  }
  return pickle.Items(*list);
}

int64_t NumberOf(const PickleReader& pickle, const PickleValue& dict, std::string_view key,
                 int64_t otherwise) {
  const auto found = pickle.Find(dict, key);
  return found && found->kind == Kind::kInt ? found->number : otherwise;
}

Status AddHeldBlocks(const PickleReader& pickle, const PickleValue& segment, SnapshotTrace& trace) {
  const auto blocks = pickle.Find(segment, "blocks");
  if (!blocks || blocks->kind != Kind::kList) return {};
  auto address = static_cast<uint64_t>(NumberOf(pickle, segment, "address", 0));
  const int64_t stream = NumberOf(pickle, segment, "stream", 0);
  for (const PickleValue& block : pickle.Items(*blocks)) {
    const int64_t size = NumberOf(pickle, block, "size", -1);
    // Older snapshots do not tell addresses of blocks: they lie one behind the other.
    address =
        static_cast<uint64_t>(NumberOf(pickle, block, "address", static_cast<int64_t>(address)));
    const auto state = pickle.Find(block, "state");
    const bool held =
        state && state->kind == Kind::kText && pickle.Text(*state) == "active_allocated";
    if (held) {
      PLIMSOLL_TRY(trace.AddHeld(address, NumberOf(pickle, block, "requested_size", size), stream));
    }
    address += static_cast<uint64_t>(std::max<int64_t>(size, 0));
  }
  return {};
}

}  // namespace

bool IsPickle(std::string_view bytes) {
  // Protocols 2 to 5; 1, a dict; 0, a dict.
  return bytes.starts_with('\x80') || bytes.starts_with('}') || bytes.starts_with("(d");
}

Result<Trace> ParseSnapshot(std::string_view bytes, std::string_view name) {
  PickleReader pickle{std::string(name)};
  PLIMSOLL_ASSIGN(const PickleValue snapshot, pickle.Read(bytes));
  PLIMSOLL_ASSIGN(const std::vector<PickleValue> devices,
                  ListOf(pickle, snapshot, "device_traces"));
  std::vector<std::vector<PickleValue>> traces;
  for (const PickleValue& device : devices) {
    if (device.kind != Kind::kList) return pickle.Bad("'device_traces' is no list of lists");
    traces.push_back(pickle.Items(device));
  }
  const auto largest =
      std::max_element(traces.begin(), traces.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (largest == traces.end() || largest->empty()) {
    return Error{.kind = ErrorKind::kBadFile,
                 .code = "replay.no_events",
                 .what = "cannot read the snapshot",
                 .where = std::string(name),
                 .why = "it holds no events",
                 .remedy = "record before the work: torch.cuda.memory._record_memory_history()"};
  }
  const auto recorded =
      std::count_if(traces.begin(), traces.end(), [](const auto& one) { return !one.empty(); });
  if (recorded > 1) {
    Log(LogLevel::kWarning, StrCat(name, " has events of ", recorded, " devices; those of device ",
                                   largest - traces.begin(), ", which has the most, are replayed"));
  }
  SnapshotTrace trace(pickle);
  for (const PickleValue& event : *largest) PLIMSOLL_TRY(trace.Add(event));
  PLIMSOLL_ASSIGN(const std::vector<PickleValue> segments, ListOf(pickle, snapshot, "segments"));
  for (const PickleValue& segment : segments) {
    if (NumberOf(pickle, segment, "device", 0) != largest - traces.begin()) continue;
    PLIMSOLL_TRY(AddHeldBlocks(pickle, segment, trace));
  }
  return trace.Take();
}

}  // namespace plimsoll::replay
