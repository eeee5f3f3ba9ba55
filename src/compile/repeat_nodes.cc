#include "compile/repeat_nodes.h"

#include <algorithm>
#include <map>

#include "compile/compile_model.h"
#include "compile/passes/bodies.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"
#include "kernels/catalogue.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kMostMakers = 6;  // of one value
// Values of the peak's 64th part on, and inputs that live longer for it of that part of a value.
constexpr int64_t kSmallPart = 64;
constexpr int64_t kSmallInputPart = 4;

class RepetitionFinder {
 public:
  RepetitionFinder(const CompiledModel& model, Bytes most, RepeatedWork work)
      : model_(model),
        graph_(model.graph),
        work_(work),
        step_of_(graph_.nodes.size(), -1),
        accesses_(graph_.values.size()),
        returned_(graph_.values.size()) {
    const Timeline& timeline = model.planned.timeline;
    for (size_t i = 0; i < timeline.steps.size(); ++i) {
      step_of_[timeline.steps[i].node.index()] = static_cast<int64_t>(i);
    }
    for (const Access& access : timeline.accesses)
      accesses_[access.value.index()].push_back(access);
    for (const ValueId output : graph_.root().outputs) returned_[output.index()] = true;
    const std::vector<Bytes> live = LiveBytes(model.planned);
    high_before_.resize(live.size() + 1);
    for (size_t i = 0; i < live.size(); ++i) {
      high_before_[i + 1] = high_before_[i] + (live[i] > most ? 1 : 0);
    }
  }

  std::vector<Repetition> Find() const {
    const Bytes peak = FeatureMapPeak(model_.planned);
    std::vector<Repetition> found;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId value(i);
      if (accesses_[i].size() < 2 || SizeOf(value) * kSmallPart < peak) continue;
      Repetition repetition{.value = value, .makers = {}, .readers = GroupsOf(value)};
      if (repetition.readers.empty()) continue;
      const int64_t needed = step_of_[repetition.readers.back().front().index()];
      if (AddMakers(value, needed, repetition.makers)) found.push_back(std::move(repetition));
    }
    std::stable_sort(found.begin(), found.end(), [&](const Repetition& a, const Repetition& b) {
      return SizeOf(a.value) > SizeOf(b.value);
    });
    return found;
  }

 private:
  Bytes SizeOf(ValueId value) const { return PlannedSize(graph_[value].type); }

  bool IsRepeatable(NodeId id) const {
    if (!id.valid()) return false;
    const Node& node = graph_[id];
    const bool plain = node.home == Graph::kRoot && node.outputs.size() == 1 && MayRewrite(node) &&
                       SubgraphsOf(node).empty() && !IsTransfer(node) &&
                       node.memory.batch_label.empty() && kernels::IsDeterministic(node);
    if (!plain || returned_[node.outputs[0].index()]) return false;
    if (work_ == RepeatedWork::kAny) return true;
    const kernels::KernelPointer& kernel = model_.kernels[id.index()];
    const bool own_memory = kernel != nullptr && kernel->workspace() > Bytes(0);
    return graph::FactsOf(node).operations == nullptr && !own_memory;
  }

  // Readers behind each high stretch of the value's life in which nobody touches it. A high step
  // that reads it counts too where it could be the last one to do so.
  std::vector<std::vector<NodeId>> GroupsOf(ValueId value) const {
    if (!IsRepeatable(graph_[value].producer)) return {};
    std::vector<std::vector<NodeId>> groups;
    int64_t last = -1;  // step of the access before
    bool made = false;
    for (const Access& access : accesses_[value.index()]) {
      const NodeId node = model_.planned.timeline.steps[static_cast<size_t>(access.step)].node;
      if (graph_[node].home != Graph::kRoot || access.writes == made) return {};
      const int64_t from = last == step_of_[graph_[value].producer.index()] ? last + 1 : last;
      const bool high = made && high_before_[static_cast<size_t>(access.step)] >
                                    high_before_[static_cast<size_t>(from)];
      if (high) groups.emplace_back();
      if (!groups.empty()) groups.back().push_back(node);
      last = access.step;
      made = true;
    }
    return groups;
  }

  // Whether what makes the value can run once more at step `needed`; adds what has to.
  bool AddMakers(ValueId value, int64_t needed, std::vector<NodeId>& makers) const {
    const NodeId maker = graph_[value].producer;
    if (std::ranges::find(makers, maker) != makers.end()) return true;
    if (!IsRepeatable(maker)) return false;
    Bytes longer;
    for (const ValueId input : graph_[maker].inputs) {
      if (!input.valid() || !graph_[input].producer.valid()) continue;
      const std::vector<Access>& accesses = accesses_[input.index()];
      if (accesses.empty() || accesses.back().step >= needed) continue;
      if ((longer + SizeOf(input)) * kSmallInputPart <= SizeOf(value)) {
        longer += SizeOf(input);
        continue;
      }
      if (!AddMakers(input, needed, makers)) return false;
    }
    makers.push_back(maker);
    return makers.size() <= kMostMakers;
  }

  const CompiledModel& model_;
  const Graph& graph_;
  const RepeatedWork work_;
  std::vector<int64_t> step_of_;               // by node
  std::vector<std::vector<Access>> accesses_;  // by value, in the order of steps
  std::vector<bool> returned_;                 // by value
  std::vector<int64_t> high_before_;           // how many steps before this are high
};

}  // namespace

std::vector<Repetition> FindRepetitions(const CompiledModel& model, Bytes most, RepeatedWork work) {
  return RepetitionFinder(model, most, work).Find();
}

int Repeat(Graph& graph, std::span<const Repetition> repetitions) {
  std::map<NodeId, size_t> place;  // of the root's nodes as they were
  for (const NodeId id : graph.root().nodes) place.emplace(id, place.size());
  Rewriter rewriter(graph);
  int added = 0;
  for (const Repetition& repetition : repetitions) {
    for (const std::vector<NodeId>& readers : repetition.readers) {
      const NodeId first =
          *std::ranges::min_element(readers, {}, [&](NodeId reader) { return place.at(reader); });
      std::map<ValueId, ValueId> again;  // by the value that was there before
      for (const NodeId maker : repetition.makers) {
        Node node = graph[maker];
        const ValueId made = node.outputs[0];
        ++added;
        node.name = StrCat(node.name, "/again", added);
        for (ValueId& input : node.inputs) {
          if (const auto other = again.find(input); other != again.end()) input = other->second;
        }
        const ValueId value = rewriter.InsertBefore(first, std::move(node));
        graph[value].name = StrCat(graph[made].name, "/again", added);
        graph[value].type = graph[made].type;
        again.emplace(made, value);
      }
      for (const NodeId reader : readers) {
        for (size_t i = 0; i < graph[reader].inputs.size(); ++i) {
          if (graph[reader].inputs[i] != repetition.value) continue;
          rewriter.SetInput(reader, i, again.at(repetition.value));
        }
      }
    }
  }
  return added;
}

}  // namespace plimsoll::compile
