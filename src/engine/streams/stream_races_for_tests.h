#pragma once

#include <string>
#include <vector>

#include "compile/memory/storage/views.h"
#include "compile/passes/bodies.h"
#include "engine/run/streamed_run.h"
#include "graph/graph.h"
#include "plimsoll/base/text.h"

// Which bytes the tasks of streams touch, found from the program alone.
namespace plimsoll::engine {

struct TouchedBytes {
  Place place;
  int64_t size = 0;
  bool writes = false;
  std::string who;

  bool Clashes(const TouchedBytes& other) const {
    return (writes || other.writes) && place.base == other.place.base &&
           place.index == other.place.index && place.offset < other.place.offset + other.size &&
           other.place.offset < place.offset + size;
  }
};

inline std::vector<TouchedBytes> TouchedBy(const Executable& executable, const Task& task) {
  const graph::Graph& graph = executable.model().graph;
  const auto& operands = executable.program().operands;
  std::vector<TouchedBytes> touched;
  const auto add = [&](size_t operand, int64_t size, bool writes, const std::string& what) {
    const Place& place = operands[operand];
    const bool nowhere =
        place.base == Place::Base::kNothing || place.base == Place::Base::kConstant;
    if (nowhere || size == 0) return;
    touched.push_back({place, size, writes, StrCat(graph::Describe(graph, task.node), what)});
  };
  if (task.kind == Task::Kind::kCopy) {
    add(task.first, task.bytes, false, " copies from");
    add(task.first + 1, task.bytes, true, " copies to");
  } else if (task.kind == Task::Kind::kClear) {
    add(task.first, task.bytes, true, " clears");
  } else if (task.kind == Task::Kind::kSkipUnless || task.kind == Task::Kind::kTestLoop) {
    add(task.first, 1, false, " looks at");
  } else if (task.kind == Task::Kind::kCopySlice) {
    const SliceCopy& slice = executable.program().slices[task.target];
    const int64_t whole = (slice.layout.stride * slice.layout.blocks).value();
    add(task.first, slice.collects ? task.bytes : whole, false, " copies from");
    add(task.first + 1, slice.collects ? whole : task.bytes, true, " copies to");
  } else if (task.kind == Task::Kind::kRun) {
    const graph::Node& node = graph[task.node];
    for (size_t i = 0; i < task.inputs; ++i) {
      if (!node.inputs[i].valid()) continue;
      add(task.first + i, compile::PlannedSize(graph[node.inputs[i]].type).value(), false,
          " reads");
    }
    const bool is_view = compile::IsPlainView(node) && node.memory.reference_outputs.empty();
    for (size_t i = 0; i < task.outputs; ++i) {
      if (!node.outputs[i].valid()) continue;
      const size_t operand = task.first + task.inputs + i;
      const Place& from = operands[task.first];
      const Place& to = operands[operand];
      const bool stays =
          is_view && from.base == to.base && from.index == to.index && from.offset == to.offset;
      add(operand, compile::PlannedSize(graph[node.outputs[i]].type).value(), !stays, " writes");
    }
    add(task.first + task.inputs + task.outputs, task.kernel->workspace().value(), true,
        " works in");
  }
  return touched;
}

// Pairs of tasks that may run at once and touch the same bytes, one of them writing.
inline std::vector<std::string> RacesOf(const Executable& executable) {
  const StreamedRun run(std::shared_ptr<const Executable>(std::shared_ptr<void>(), &executable));
  const std::vector<StreamedRun::Segment>& segments = run.segments();
  std::vector<std::vector<bool>> before(segments.size());  // by segment: those that it follows
  std::vector<std::vector<TouchedBytes>> touched(segments.size());
  std::vector<std::string> races;
  for (size_t i = 0; i < segments.size(); ++i) {
    before[i].assign(segments.size(), false);
    std::vector<size_t> followed = segments[i].after;
    for (size_t j = 0; j < i; ++j) {
      if (segments[j].stream == segments[i].stream) followed.push_back(j);
    }
    for (const size_t one : followed) {
      before[i][one] = true;
      for (size_t j = 0; j < one; ++j) before[i][j] = before[i][j] || before[one][j];
    }
    for (const Program::Range& range : segments[i].tasks) {
      for (size_t task = range.begin; task < range.end; ++task) {
        for (TouchedBytes& one : TouchedBy(executable, executable.program().tasks[task])) {
          touched[i].push_back(std::move(one));
        }
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (before[i][j]) continue;
      for (const TouchedBytes& one : touched[i]) {
        for (const TouchedBytes& other : touched[j]) {
          if (one.Clashes(other)) races.push_back(StrCat(one.who, ", and ", other.who));
        }
      }
    }
  }
  return races;
}

}  // namespace plimsoll::engine
