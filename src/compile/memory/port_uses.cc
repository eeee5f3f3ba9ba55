#include "compile/memory/port_uses.h"

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
      : graph_(graph),
        buffers_(buffers),
        first_input_(FirstIn(graph.root().inputs)),
        first_output_(FirstIn(graph.root().outputs)) {}

  PortUse Of(size_t index) const {
    const std::vector<ValueId>& outputs = graph_.root().outputs;
    const ValueId value = outputs[index];
    if (graph_[value].constant.valid()) return {How::kCopied, "it is a constant of the model"};
    const plan::BufferId buffer = buffers_.buffer_of[value.index()];
    if (!buffer.valid()) return {};
    if (buffers_.problem.buffer(buffer).region != buffers_.zero_copy) {
      return {How::kCopied, buffers_.problem.buffer(buffer).no_zero_copy_reason};
    }
    if (const size_t input = first_input_[buffer.index()]; input != kNone) {
      const ValueId same = graph_.root().inputs[input];
      return {How::kCopied, StrCat("it is the input '", graph_[same].name, "' as it is")};
    }
    if (const size_t output = first_output_[buffer.index()]; output != index) {
      const ValueId same = outputs[output];
      return {How::kCopied, StrCat("it is the output '", graph_[same].name, "' once more")};
    }
    const graph::NodeId producer = graph_[value].producer;
    if (producer.valid() && !SubgraphsOf(graph_[producer]).empty()) {
      return {How::kBranchCopy, "a subgraph's NetOutput has no zero copy"};
    }
    return {};
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // By buffer: the first of the ports that lies in it.
  std::vector<size_t> FirstIn(const std::vector<ValueId>& ports) const {
    std::vector<size_t> first(buffers_.problem.buffers.size(), kNone);
    for (size_t i = 0; i < ports.size(); ++i) {
      const plan::BufferId buffer = buffers_.buffer_of[ports[i].index()];
      if (buffer.valid() && first[buffer.index()] == kNone) first[buffer.index()] = i;
    }
    return first;
  }

  const Graph& graph_;
  const PlannedBuffers& buffers_;
  const std::vector<size_t> first_input_;   // by buffer
  const std::vector<size_t> first_output_;  // by buffer
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
