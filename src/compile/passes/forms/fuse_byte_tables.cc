#include "compile/passes/forms/fuse_byte_tables.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "graph/operator_row.h"
#include "kernels/catalogue.h"
#include "kernels/run_once.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kBytes = 256;
constexpr size_t kMostNodes = 32;

// Nodes from the last to the first, and the bytes that they are a function of.
struct ByteFunction {
  std::vector<NodeId> nodes;
  ValueId of;
};

class ByteTableFusing {
 public:
  explicit ByteTableFusing(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      const std::vector<NodeId> nodes = rewriter_.NodesOf(body);
      position_.clear();
      for (size_t i = 0; i < nodes.size(); ++i) position_[nodes[i].index()] = i;
      for (size_t i = nodes.size(); i-- > 0;) {
        if (!rewriter_.IsDropped(nodes[i])) Visit(nodes[i]);
      }
    }
    return counts_;
  }

 private:
  bool IsBytes(ValueId value) const {
    const DataType type = graph_[value].type.data_type;
    return type == DataType::kInt8 || type == DataType::kUint8;
  }

  bool IsSingleConstant(ValueId value) const {
    const graph::ConstantTensor& constant = graph_[graph_[value].constant];
    return constant.ElementCount() == 1 && constant.dims.size() <= 1 && !constant.missing;
  }

  // Whether each element that the node makes is a function of elements at its place alone.
  bool IsFunction(const Node& node) const {
    if (!MayRewrite(node) || node.outputs.size() != 1 || !kernels::IsDeterministic(node) ||
        !(graph::FactsOf(node).elementwise || IsElementwiseOfBytes(node))) {
      return false;
    }
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      return !input.valid() || !graph_[input].constant.valid() || IsSingleConstant(input);
    });
  }

  // The node that makes the value, where only nodes of the function read it.
  NodeId MakerFor(ValueId value, const std::vector<NodeId>& nodes) const {
    const NodeId maker = graph_[value].producer;
    const bool own = maker.valid() && position_.contains(maker.index()) &&
                     !rewriter_.IsOutput(value) && IsFunction(graph_[maker]) &&
                     std::ranges::all_of(rewriter_.readers(value), [&](NodeId reader) {
                       return std::ranges::find(nodes, reader) != nodes.end();
                     });
    return own ? maker : NodeId();
  }

  // The longest function that ends with the node; of fewer than two nodes where there is none.
  ByteFunction FunctionOf(NodeId last) const {
    ByteFunction found;
    std::vector<NodeId> nodes;
    std::vector<ValueId> read;
    for (NodeId next = last; next.valid() && nodes.size() < kMostNodes;) {
      nodes.push_back(next);
      for (const ValueId input : graph_[next].inputs) {
        const bool known = !input.valid() || graph_[input].constant.valid() ||
                           std::ranges::find(read, input) != read.end();
        if (!known) read.push_back(input);
      }
      std::erase(read, graph_[next].outputs[0]);
      if (read.empty()) break;
      if (read.size() == 1 && IsBytes(read[0])) found = {nodes, read[0]};
      // What is made last can have no readers among what comes before.
      const auto place = [&](ValueId value) -> size_t {
        const NodeId maker = graph_[value].producer;
        const auto at = maker.valid() ? position_.find(maker.index()) : position_.end();
        return at == position_.end() ? 0 : at->second + 1;
      };
      next = MakerFor(*std::ranges::max_element(read, {}, place), nodes);
    }
    return found;
  }

  bool HaveSameShape(ValueId a, ValueId b) const {
    const graph::Shape* const first = ShapeOf(graph_, a);
    const graph::Shape* const second = ShapeOf(graph_, b);
    return first != nullptr && second != nullptr && first->size() == second->size();
  }

  // What the nodes make of each byte.
  std::optional<HostTensor> TableOf(const ByteFunction& function) {
    std::unordered_map<size_t, HostTensor> made;
    auto bytes = kernels::AllocateOnHeap(graph_[function.of].type.data_type, {kBytes});
    if (!bytes.ok()) return std::nullopt;
    auto* const first = static_cast<uint8_t*>(bytes->data.get());
    std::iota(first, first + kBytes, uint8_t{0});
    made[function.of.index()] = *std::move(bytes);
    for (size_t i = function.nodes.size(); i-- > 0;) {
      const NodeId id = function.nodes[i];
      std::vector<HostTensor> inputs;
      for (const ValueId input : graph_[id].inputs) {
        inputs.emplace_back();
        if (!input.valid()) continue;
        if (!graph_[input].constant.valid()) {
          inputs.back() = made.at(input.index());
          continue;
        }
        auto constant = kernels::ToHostTensor(graph_[graph_[input].constant]);
        if (!constant.ok()) return std::nullopt;
        inputs.back() = *std::move(constant);
      }
      graph::ValueType& type = graph_[graph_[id].outputs[0]].type;
      const graph::ValueType own = type;
      type.shape = graph::Shape{kBytes};
      const auto results =
          kernels::RunOnce(graph_, id, inputs, kernels::AllocateOnHeap, /*deterministic=*/true);
      type = own;
      if (!results.ok() || (*results)[0].dims != kernels::Dims{kBytes}) return std::nullopt;
      made[graph_[id].outputs[0].index()] = (*results)[0];
    }
    return made.at(graph_[function.nodes[0]].outputs[0].index());
  }

  void Visit(NodeId last) {
    const Node& node = graph_[last];
    if (node.outputs.size() != 1 || !IsBytes(node.outputs[0]) || !IsFunction(node)) return;
    const ByteFunction function = FunctionOf(last);
    if (function.nodes.size() < 2 || !HaveSameShape(function.of, node.outputs[0])) return;
    const std::optional<HostTensor> table = TableOf(function);
    if (!table) return counts_.Declined(FusionPattern::kQuantized);
    const std::string name = StrCat(graph_[node.outputs[0]].name, "/table");
    const ValueId constant = rewriter_.AddConstant(last, name, kernels::ToConstant(*table));
    Node& changed = graph_[last];
    changed.domain = "plimsoll";
    changed.op = "ByteTable";
    changed.version = 1;
    changed.attributes = {};
    rewriter_.SetInputs(last, {function.of, constant});
    for (size_t i = 1; i < function.nodes.size(); ++i) rewriter_.Drop(function.nodes[i]);
    counts_.Took(FusionPattern::kQuantized);
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::unordered_map<size_t, size_t> position_;  // of a node of the body at hand
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseByteTables(Graph& graph, const FusionSwitches&) {
  return ByteTableFusing(graph).Run();
}

}  // namespace plimsoll::compile
