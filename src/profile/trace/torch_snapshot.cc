#include "profile/trace/torch_snapshot.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plimsoll/base/text.h"
#include "profile/trace/pickle_writer.h"

namespace plimsoll::profile {
namespace {

using Address = uint64_t;

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const Recording& recording) : recording_(recording) {
    const auto see = [&](const Event& event) {
      devices_ = std::max(devices_, event.device + 1);
      const bool holds = event.kind == Event::Kind::kRunBegin || event.allocated() != 0;
      if (!holds || event.bytes <= 0) return;
      ranges_[event.device].emplace_back(event.address, event.address + Size(event));
    };
    for (const Event& event : recording.held) {
      see(event);
      held_[{event.device, event.address}] = &event;
    }
    for (const Event& event : recording.events) see(event);
    for (auto& [device, ranges] : ranges_) Merge(ranges);
  }

  std::string Write() {
    pickle_.BeginDictionary();
    pickle_.Text("device_traces");
    pickle_.BeginList();
    for (int device = 0; device < devices_; ++device) WriteTrace(device);
    pickle_.EndList();
    pickle_.Text("segments");
    pickle_.BeginList();
    for (const auto& [device, ranges] : ranges_) {
      for (const Range& range : ranges) WriteSegment(device, range);
    }
    pickle_.EndList();
    pickle_.Text("external_annotations");
    pickle_.BeginList();
    pickle_.EndList();
    pickle_.EndDictionary();
    return pickle_.Finish();
  }

 private:
  using Range = std::pair<Address, Address>;

  static Address Size(const Event& event) { return static_cast<Address>(event.bytes); }

  static void Merge(std::vector<Range>& ranges) {
    std::sort(ranges.begin(), ranges.end());
    std::vector<Range> merged;
    for (const Range& range : ranges) {
      if (!merged.empty() && range.first < merged.back().second) {
        merged.back().second = std::max(merged.back().second, range.second);
      } else {
        merged.push_back(range);
      }
    }
    ranges = std::move(merged);
  }

  void WriteFrames(const Event* event) {
    pickle_.Text("frames");
    pickle_.BeginList();
    const auto frame = [&](std::string_view name, std::string_view file, int64_t line) {
      pickle_.BeginDictionary();
      pickle_.Entry("name", name);
      pickle_.Entry("filename", file);
      pickle_.Entry("line", line);
      pickle_.EndDictionary();
    };
    if (event != nullptr) {
      const PlanTable* const plan = recording_.Plan(event->plan);
      const bool constant = event->component != Component::kFeatureMaps;
      frame(recording_.Name(event->name),
            constant          ? recording_.Name(event->item)
            : plan == nullptr ? ""
                              : plan->graph,
            event->step);
    }
    pickle_.EndList();
  }

  void WriteEntry(const char* action, const Event& event) {
    pickle_.BeginDictionary();
    pickle_.Entry("action", action);
    pickle_.Entry("addr", static_cast<int64_t>(event.address));
    pickle_.Entry("size", event.bytes);
    pickle_.Entry("stream", event.stream);
    pickle_.Entry("time_us", event.time / 1000);
    WriteFrames(&event);
    pickle_.EndDictionary();
  }

  void WriteTrace(int device) {
    constexpr int64_t kPiece = 1000;
    int64_t written = 0;
    pickle_.BeginList();
    for (const Event& event : recording_.events) {
      if (event.device != device || event.allocated() == 0) continue;
      if (++written % kPiece == 0) pickle_.SplitList();
      if (event.kind == Event::Kind::kAllocate) {
        held_[{device, event.address}] = &event;
        WriteEntry("alloc", event);
      } else {
        held_.erase({device, event.address});
        WriteEntry("free_requested", event);
        WriteEntry("free_completed", event);
      }
    }
    pickle_.EndList();
  }

  void WriteBlock(Address from, Address to, const Event* held) {
    if (from >= to) return;
    pickle_.BeginDictionary();
    pickle_.Entry("address", static_cast<int64_t>(from));
    pickle_.Entry("size", static_cast<int64_t>(to - from));
    pickle_.Entry("requested_size", static_cast<int64_t>(to - from));
    pickle_.Entry("state", held == nullptr ? "inactive" : "active_allocated");
    WriteFrames(held);
    pickle_.EndDictionary();
  }

  // What is still held at the end, and the room between.
  void WriteSegment(int device, const Range& range) {
    int64_t active = 0;
    const auto first = held_.lower_bound({device, range.first});
    const auto last = held_.lower_bound({device, range.second});
    for (auto held = first; held != last; ++held) active += held->second->bytes;
    pickle_.BeginDictionary();
    pickle_.Entry("device", device);
    pickle_.Entry("address", static_cast<int64_t>(range.first));
    pickle_.Entry("total_size", static_cast<int64_t>(range.second - range.first));
    pickle_.Entry("allocated_size", active);
    pickle_.Entry("active_size", active);
    pickle_.Entry("requested_size", active);
    pickle_.Entry("stream", 0);
    pickle_.Entry("segment_type", "large");
    WriteFrames(nullptr);
    pickle_.Text("blocks");
    pickle_.BeginList();
    Address at = range.first;
    for (auto held = first; held != last; ++held) {
      // Constants of a file may share bytes.
      const Address begin = std::max(held->first.second, at);
      const Address end = std::max(held->first.second + Size(*held->second), at);
      WriteBlock(at, begin, nullptr);
      WriteBlock(begin, end, held->second);
      at = std::max(at, end);
    }
    WriteBlock(at, range.second, nullptr);
    pickle_.EndList();
    pickle_.EndDictionary();
  }

  const Recording& recording_;
  int devices_ = 1;
  std::map<int, std::vector<Range>> ranges_;
  std::map<std::pair<int, Address>, const Event*> held_;
  PickleWriter pickle_;
};

}  // namespace

std::string TorchSnapshot(const Recording& recording) { return SnapshotWriter(recording).Write(); }

}  // namespace plimsoll::profile
