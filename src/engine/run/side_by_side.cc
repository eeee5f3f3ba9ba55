#include "engine/run/side_by_side.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "compile/passes/bodies.h"

namespace plimsoll::engine {
namespace {

// Bytes that a task touches.
struct Touched {
  Place place;
  int64_t bytes = 0;
  bool writes = false;

  bool Meets(const Touched& other) const {
    const bool same = place.base == other.place.base && place.index == other.place.index;
    return same && place.offset < other.place.offset + other.bytes &&
           other.place.offset < place.offset + bytes;
  }
};

std::vector<Touched> TouchedBy(const compile::CompiledModel& model, const Program& program,
                               const Task& task) {
  std::vector<Touched> touched;
  const graph::Node& node = model.graph[task.node];
  uint32_t operand = task.first;
  const auto add = [&](Bytes bytes, bool writes) {
    const Place& place = program.operands[operand++];
    const bool constant = place.base == Place::Base::kConstant;
    if (place.base == Place::Base::kNothing || constant || bytes == Bytes(0)) return;
    touched.push_back({place, bytes.value(), writes});
  };
  const auto size_of = [&](graph::ValueId value) {
    return value.valid() ? compile::PlannedSize(model.graph[value].type) : Bytes(0);
  };
  for (const graph::ValueId input : node.inputs) add(size_of(input), false);
  for (const graph::ValueId output : node.outputs) add(size_of(output), true);
  add(task.kernel->workspace(), true);
  return touched;
}

bool Conflict(const std::vector<Touched>& a, const std::vector<Touched>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Touched& one) {
    return std::any_of(b.begin(), b.end(), [&](const Touched& other) {
      return (one.writes || other.writes) && one.Meets(other);
    });
  });
}

// By task: the first of its branch.
std::vector<size_t> BranchesOf(const std::vector<std::vector<Touched>>& touched) {
  std::vector<size_t> branch(touched.size());
  std::iota(branch.begin(), branch.end(), size_t{0});
  for (size_t later = 1; later < touched.size(); ++later) {
    for (size_t earlier = 0; earlier < later; ++earlier) {
      const size_t from = std::max(branch[earlier], branch[later]);
      const size_t to = std::min(branch[earlier], branch[later]);
      if (from == to || !Conflict(touched[earlier], touched[later])) continue;
      std::replace(branch.begin(), branch.end(), from, to);
    }
  }
  return branch;
}

// The first task of the nodes, which follow each other and run one kernel each; as many as there
// are tasks where they do not.
uint32_t FirstTask(const Program& program, const std::map<graph::NodeId, size_t>& unit_of,
                   const compile::SideBySide& place) {
  const auto none = static_cast<uint32_t>(program.tasks.size());
  uint32_t first = none;
  for (size_t i = 0; i < place.nodes.size(); ++i) {
    const auto unit = unit_of.find(place.nodes[i]);
    if (unit == unit_of.end()) return none;
    const Program::Range& tasks = program.units[unit->second].tasks;
    if (i == 0) first = tasks.begin;
    const bool follows = tasks.begin == first + i && tasks.end == tasks.begin + 1;
    if (!follows || tasks.end > program.first_update) return none;
    const Task& task = program.tasks[tasks.begin];
    const bool plain = task.kind == Task::Kind::kRun && task.kernel != nullptr && !task.on_host &&
                       !task.uses_host_memory && task.batch == kEveryBatch;
    if (!plain) return none;
  }
  return first;
}

}  // namespace

void SetSideBySide(const compile::CompiledModel& model, Program& program) {
  std::map<graph::NodeId, size_t> unit_of;
  for (size_t i = 0; i < program.units.size() && !model.side_by_side.empty(); ++i) {
    unit_of[program.units[i].node] = i;
  }
  for (const compile::SideBySide& place : model.side_by_side) {
    const uint32_t first = FirstTask(program, unit_of, place);
    if (first == program.tasks.size()) continue;
    std::vector<std::vector<Touched>> touched;
    for (uint32_t i = 0; i < place.nodes.size(); ++i) {
      touched.push_back(TouchedBy(model, program, program.tasks[first + i]));
    }
    const std::vector<size_t> branch_of = BranchesOf(touched);
    std::map<size_t, size_t> number_of;  // by the first task of a branch
    std::vector<int64_t> branches;
    for (size_t i = 0; i < branch_of.size(); ++i) {
      const auto [number, added] = number_of.try_emplace(branch_of[i], branches.size());
      if (added) branches.push_back(0);
      branches[number->second] += place.nanoseconds[i];
    }
    if (!compile::IsWorthIt(place.nanoseconds, branches, model.threads)) continue;
    const compile::BranchShares shares = compile::ShareOut(branches, model.threads);
    const int used = 1 + *std::max_element(shares.thread_of.begin(), shares.thread_of.end());
    TasksAtOnce at_once{.end = first + static_cast<uint32_t>(place.nodes.size()), .shares = {}};
    at_once.shares.resize(static_cast<size_t>(used));
    for (uint32_t i = 0; i < branch_of.size(); ++i) {
      const int share = shares.thread_of[number_of[branch_of[i]]];
      at_once.shares[static_cast<size_t>(share)].push_back(first + i);
      program.tasks[first + i].in_one_thread = true;
    }
    program.tasks[first].side_by_side = static_cast<int32_t>(program.side_by_side.size());
    program.side_by_side.push_back(std::move(at_once));
  }
}

}  // namespace plimsoll::engine
