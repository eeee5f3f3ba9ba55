#include "compile/memory/stream_waits.h"

#include <algorithm>
#include <map>

#include "compile/memory/storage/views.h"
#include "compile/passes/bodies.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

// Bytes [begin, end) of a storage, touched at a step.
struct Touch {
  Bytes begin;
  Bytes end;
  int64_t step = 0;
  bool writes = false;

  bool Meets(const Touch& other) const { return begin < other.end && other.begin < end; }
  bool Covers(const Touch& other) const { return begin <= other.begin && other.end <= end; }
};

class Finder {
 public:
  Finder(const Graph& graph, const JoinedStorages& joined, const Timeline& timeline)
      : graph_(graph), joined_(joined), timeline_(timeline) {
    FindUnits();
  }

  std::vector<StreamWait> Find() {
    for (const JoinedStorage& storage : joined_.all) AddConflicts(storage);
    AddMakers();
    return Take();
  }

 private:
  const Step& At(int64_t step) const { return timeline_.steps[static_cast<size_t>(step)]; }

  // The first and the last step of the node of the root that each step belongs to.
  void FindUnits() {
    const auto steps = static_cast<int64_t>(timeline_.steps.size());
    first_.resize(timeline_.steps.size());
    last_.resize(timeline_.steps.size());
    for (int64_t begin = 0; begin < steps;) {
      int64_t end = begin;
      for (int depth = 0; end < steps; ++end) {
        depth += At(end).kind == Step::Kind::kBegin ? 1 : 0;
        depth -= At(end).kind == Step::Kind::kEnd ? 1 : 0;
        if (depth == 0) break;
      }
      for (int64_t i = begin; i <= end; ++i) {
        first_[static_cast<size_t>(i)] = begin;
        last_[static_cast<size_t>(i)] = end;
      }
      begin = end + 1;
    }
  }

  // A view under another shape moves no byte where it lies in what it views.
  bool LeavesBytes(const Access& access) const {
    const Node& node = graph_[At(access.step).node];
    if (!IsPlainView(node) || !node.memory.reference_outputs.empty()) return false;
    const size_t from = node.inputs[0].index();
    const size_t to = access.value.index();
    return joined_.id_of[from] == joined_.id_of[to] &&
           joined_.offset_of[from] == joined_.offset_of[to];
  }

  void AddConflicts(const JoinedStorage& storage) {
    std::vector<Touch> touches;
    for (const Access& access : storage.accesses) {
      if (access.writes && LeavesBytes(access)) continue;
      const Bytes begin = joined_.OffsetOf(access.value);
      const Bytes end = begin + PlannedSize(graph_[access.value].type);
      touches.push_back({begin, end, access.step, access.writes});
    }
    const bool written = std::any_of(touches.begin(), touches.end(),
                                     [](const Touch& touch) { return touch.writes; });
    if (!written) return;
    std::stable_sort(touches.begin(), touches.end(),
                     [](const Touch& a, const Touch& b) { return a.step < b.step; });
    for (size_t i = 0; i < touches.size(); ++i) {
      for (size_t j = i; j-- > 0;) {
        const Touch& before = touches[j];
        if (!(before.writes || touches[i].writes) || !before.Meets(touches[i])) continue;
        Add(before.step, touches[i].step);
        // Whoever wrote all of it waited for what was there before.
        if (before.writes && before.Covers(touches[i]) && before.step < touches[i].step) break;
      }
    }
  }

  // A reader waits for the node that makes the value, also where that leaves the bytes as they are.
  void AddMakers() {
    std::map<ValueId, int64_t> made;
    for (const Access& access : timeline_.accesses) {
      if (access.writes) {
        made[access.value] = access.step;
      } else if (const auto maker = made.find(access.value); maker != made.end()) {
        Add(maker->second, access.step);
      }
    }
  }

  void Add(int64_t before, int64_t after) {
    if (At(before).stream == At(after).stream) return;
    found_.push_back({last_[static_cast<size_t>(before)], first_[static_cast<size_t>(after)]});
  }

  // In order, without those that say nothing new.
  std::vector<StreamWait> Take() {
    std::sort(found_.begin(), found_.end(), [](const StreamWait& a, const StreamWait& b) {
      return a.after != b.after ? a.after < b.after : a.before > b.before;
    });
    const size_t streams = timeline_.steps_of_stream.size();
    std::vector<int64_t> known(streams * streams, -1);  // by waiting stream, by stream: step
    std::vector<StreamWait> waits;
    for (const StreamWait& wait : found_) {
      const auto to = static_cast<size_t>(At(wait.after).stream);
      const auto from = static_cast<size_t>(At(wait.before).stream);
      int64_t& reached = known[to * streams + from];
      if (wait.before <= reached) continue;
      reached = wait.before;
      waits.push_back(wait);
    }
    return waits;
  }

  const Graph& graph_;
  const JoinedStorages& joined_;
  const Timeline& timeline_;
  std::vector<int64_t> first_;  // by step
  std::vector<int64_t> last_;   // by step
  std::vector<StreamWait> found_;
};

}  // namespace

std::vector<StreamWait> FindStreamWaits(const Graph& graph, const JoinedStorages& joined,
                                        const Timeline& timeline) {
  if (timeline.steps_of_stream.size() < 2) return {};
  return Finder(graph, joined, timeline).Find();
}

}  // namespace plimsoll::compile
