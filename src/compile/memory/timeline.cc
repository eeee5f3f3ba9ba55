#include "compile/memory/timeline.h"

#include <algorithm>
#include <map>

#include "compile/passes/bodies.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

class Recorder {
 public:
  Recorder(const Graph& graph, const Storages& storages, const std::vector<bool>& constant)
      : graph_(graph), storages_(storages), constant_(constant) {}

  void Run(NodeId id) {
    const Node& node = graph_[id];
    const std::vector<SubgraphId> bodies = SubgraphsOf(node);
    if (bodies.empty()) {
      const int64_t step = Add(id, Step::Kind::kRun);
      for (const ValueId input : node.inputs) Touch(input, step, false);
      for (const ValueId output : node.outputs) Touch(output, step, true);
      return;
    }
    const bool once = node.domain.empty() && node.op == "If";
    const int64_t begin = Add(id, Step::Kind::kBegin);
    for (const ValueId input : node.inputs) Touch(input, begin, false);
    if (!once) {
      for (const ValueId output : node.outputs) Touch(output, begin, true);
    }
    for (const SubgraphId body : bodies) RunBody(body, begin);
    const int64_t end = Add(id, Step::Kind::kEnd);
    for (const SubgraphId body : bodies) {
      for (const ValueId output : graph_[body].outputs) Touch(output, end, false);
      for (const ValueId input : graph_[body].inputs) Touch(input, end, false);
    }
    for (const ValueId output : node.outputs) Touch(output, end, true);
    if (!once) {
      for (const ValueId value : ReadsOf(graph_, id)) Touch(value, end, false);
    }
  }

  Timeline Take() {
    std::map<int, int> dense;
    for (const auto& [stream, steps] : steps_of_) {
      dense.emplace(stream, static_cast<int>(dense.size()));
      timeline_.steps_of_stream.push_back(steps);
    }
    for (Step& step : timeline_.steps) step.stream = dense.at(step.stream);
    return std::move(timeline_);
  }

 private:
  void RunBody(SubgraphId body, int64_t begin) {
    for (const ValueId input : graph_[body].inputs) Touch(input, begin, true);
    for (const NodeId id : graph_[body].nodes) {
      const Node& node = graph_[id];
      const bool folded =
          !node.outputs.empty() &&
          std::all_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId output) { return !output.valid() || constant_[output.index()]; });
      if (!folded) Run(id);
    }
  }

  int64_t Add(NodeId id, Step::Kind kind) {
    const int stream = graph_[id].memory.stream;
    timeline_.steps.push_back({id, kind, stream, steps_of_[stream]++});
    return static_cast<int64_t>(timeline_.steps.size()) - 1;
  }

  void Touch(ValueId value, int64_t step, bool writes) {
    if (!value.valid() || !storages_.places[value.index()].storage.valid()) return;
    timeline_.accesses.push_back({value, step, writes});
  }

  const Graph& graph_;
  const Storages& storages_;
  const std::vector<bool>& constant_;
  std::map<int, int64_t> steps_of_;  // by stream as nodes ask for it
  Timeline timeline_;
};

}  // namespace

Timeline BuildTimeline(const Graph& graph, const Storages& storages,
                       const std::vector<bool>& constant, const std::vector<NodeId>& root_order) {
  Recorder recorder(graph, storages, constant);
  for (const NodeId id : root_order) recorder.Run(id);
  return recorder.Take();
}

}  // namespace plimsoll::compile
