#include "compile/port_uses.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::ValueId;
using How = PortUse::How;

PortUse InputUse(const Graph& graph, const PlannedBuffers& buffers, ValueId value) {
  const plan::BufferId buffer = buffers.buffer_of[value.index()];
  if (!buffer.valid() || graph[value].constant.valid()) return {};
  if (buffers.problem.buffer(buffer).region == buffers.zero_copy) return {};
  return {How::kCopied, buffers.problem.buffer(buffer).no_zero_copy_reason};
}

class OutputUses {
 public:
  OutputUses(const Graph& graph, const PlannedBuffers& buffers)
      : graph_(graph), buffers_(buffers) {}

  PortUse Of(size_t index) const {
    const std::vector<ValueId>& outputs = graph_.root().outputs;
    const ValueId value = outputs[index];
    if (graph_[value].constant.valid()) return {How::kCopied, "it is a constant of the model"};
    const plan::BufferId buffer = buffers_.buffer_of[value.index()];
    if (!buffer.valid()) return {};
    if (buffers_.problem.buffer(buffer).region != buffers_.zero_copy) {
      return {How::kCopied, buffers_.problem.buffer(buffer).no_zero_copy_reason};
    }
    if (const ValueId input = Shares(graph_.root().inputs, buffer); input.valid()) {
      return {How::kCopied, StrCat("it is the input '", graph_[input].name, "' as it is")};
    }
    const std::vector<ValueId> before(outputs.begin(),
                                      outputs.begin() + static_cast<int64_t>(index));
    if (const ValueId output = Shares(before, buffer); output.valid()) {
      return {How::kCopied, StrCat("it is the output '", graph_[output].name, "' once more")};
    }
    const graph::NodeId producer = graph_[value].producer;
    if (producer.valid() && !SubgraphsOf(graph_[producer]).empty()) {
      return {How::kBranchCopy, "a subgraph's NetOutput has no zero copy"};
    }
    return {};
  }

 private:
  ValueId Shares(const std::vector<ValueId>& ports, plan::BufferId buffer) const {
    const auto found = std::find_if(ports.begin(), ports.end(), [&](ValueId port) {
      return buffers_.buffer_of[port.index()] == buffer;
    });
    return found == ports.end() ? ValueId() : *found;
  }

  const Graph& graph_;
  const PlannedBuffers& buffers_;
};

}  // namespace

PortUses FindPortUses(const Graph& graph, const PlannedBuffers& buffers) {
  PortUses uses;
  for (const ValueId input : graph.root().inputs) {
    uses.inputs.push_back(InputUse(graph, buffers, input));
  }
  const OutputUses outputs(graph, buffers);
  for (size_t i = 0; i < graph.root().outputs.size(); ++i) uses.outputs.push_back(outputs.Of(i));
  return uses;
}

}  // namespace plimsoll::compile
