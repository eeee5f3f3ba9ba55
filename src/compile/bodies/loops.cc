#include "compile/bodies/loops.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

bool IsIf(const Node& node) { return node.domain.empty() && node.op == "If"; }

ValueId At(const std::vector<ValueId>& values, size_t index) {
  return index < values.size() ? values[index] : ValueId();
}

int64_t AxisAt(const Graph& graph, const Node& node, std::string_view attribute, size_t index,
               ValueId whole) {
  const std::vector<int64_t>* axes = node.attributes.Ints(attribute);
  const int64_t axis = axes != nullptr && index < axes->size() ? (*axes)[index] : 0;
  const bool known = whole.valid() && graph[whole].type.shape;
  const auto rank = known ? static_cast<int64_t>(graph[whole].type.shape->size()) : 0;
  return axis < 0 ? axis + rank : axis;
}

bool IsBackward(const Node& node, std::string_view attribute, size_t index) {
  const std::vector<int64_t>* directions = node.attributes.Ints(attribute);
  return directions != nullptr && index < directions->size() && (*directions)[index] == 1;
}

// The condition that a body gives is the one that it was given, or known to be true.
bool IsAlwaysTrue(const Graph& graph, ValueId value, ValueId running) {
  if (value == running) return true;
  const auto* known = graph[value].content ? graph[value].content->dims() : nullptr;
  return known != nullptr && known->size() == 1 && known->front() == graph::Dim(1);
}

LoopParts PartsOfWhile(const Graph& graph, const Node& node) {
  LoopParts parts;
  parts.body = node.attributes.Subgraph("body");
  const graph::Subgraph& body = graph[parts.body];
  parts.trips = At(node.inputs, 0);
  parts.condition = At(node.inputs, 1);
  parts.number = body.inputs[0];
  parts.running = body.inputs[1];
  if (!IsAlwaysTrue(graph, body.outputs[0], parts.running)) parts.goes_on = body.outputs[0];
  const size_t carried = node.inputs.size() - 2;
  for (size_t i = 0; i < carried; ++i) {
    parts.carried.push_back(
        {node.inputs[2 + i], body.inputs[2 + i], body.outputs[1 + i], At(node.outputs, i)});
  }
  for (size_t i = 1 + carried; i < body.outputs.size(); ++i) {
    parts.collected.push_back({At(node.outputs, i - 1), body.outputs[i]});
  }
  return parts;
}

LoopParts PartsOfScan(const Graph& graph, const Node& node) {
  LoopParts parts;
  parts.body = node.attributes.Subgraph("body");
  const graph::Subgraph& body = graph[parts.body];
  const auto walked = static_cast<size_t>(node.attributes.Int("num_scan_inputs", 0));
  const size_t states = node.inputs.size() - walked;
  for (size_t i = 0; i < states; ++i) {
    parts.carried.push_back({node.inputs[i], body.inputs[i], body.outputs[i], At(node.outputs, i)});
  }
  for (size_t i = 0; i < walked; ++i) {
    const ValueId whole = node.inputs[states + i];
    parts.read.push_back({whole, body.inputs[states + i],
                          AxisAt(graph, node, "scan_input_axes", i, whole),
                          IsBackward(node, "scan_input_directions", i)});
  }
  for (size_t i = 0; states + i < body.outputs.size(); ++i) {
    const ValueId whole = At(node.outputs, states + i);
    parts.collected.push_back({whole, body.outputs[states + i],
                               AxisAt(graph, node, "scan_output_axes", i, whole),
                               IsBackward(node, "scan_output_directions", i)});
  }
  const graph::ValueType& first = graph[parts.read[0].whole].type;
  if (first.shape) {
    parts.length = (*first.shape)[static_cast<size_t>(parts.read[0].axis)].AsNumber();
  }
  return parts;
}

void SeparateCarriedOf(Graph& graph, NodeId owner) {
  const LoopParts parts = PartsOfLoop(graph, owner);
  const size_t first = graph[owner].op == "Loop" ? 1 : 0;
  for (size_t i = 0; i < parts.carried.size(); ++i) {
    const ValueId result = parts.carried[i].result;
    const bool anothers = std::ranges::any_of(parts.carried, [&](const CarriedValue& other) {
      return other.input == result && other.input != parts.carried[i].input;
    });
    if (!anothers) continue;
    const NodeId id(graph.nodes.size());
    const ValueId copy(graph.values.size());
    graph::Value value = graph[result];
    value.name = StrCat(value.name, " (taken by ", graph[parts.carried[i].input].name, ")");
    value.producer = id;
    graph.values.push_back(std::move(value));
    Node node;
    node.name = graph[copy].name;
    node.op = "Identity";
    node.version = graph[owner].version;
    node.inputs = {result};
    node.outputs = {copy};
    node.memory.stream = graph[owner].memory.stream;
    node.memory.batch_label = graph[owner].memory.batch_label;
    node.home = parts.body;
    graph.nodes.push_back(std::move(node));
    graph[parts.body].nodes.push_back(id);
    graph[parts.body].outputs[first + i] = copy;
  }
}

}  // namespace

bool IsLoop(const Node& node) {
  if (!node.domain.empty()) return false;
  return node.op == "Loop" || (node.op == "Scan" && node.version >= 9);
}

bool RunsRepeatedly(const Graph& graph, SubgraphId body) {
  while (body.valid() && graph[body].owner.valid()) {
    const Node& owner = graph[graph[body].owner];
    if (!IsIf(owner)) return true;
    body = owner.home;
  }
  return false;
}

LoopParts PartsOfLoop(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  return node.op == "Loop" ? PartsOfWhile(graph, node) : PartsOfScan(graph, node);
}

SliceLayout LayoutOf(const Graph& graph, const WalkedValue& walked) {
  const graph::ValueType& type = graph[walked.whole].type;
  const std::vector<int64_t> dims = StaticDims(*type.shape);
  SliceLayout layout{.blocks = 1, .block = {}, .stride = {}, .length = 0};
  int64_t inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (axis < walked.axis) layout.blocks *= dims[i];
    if (axis == walked.axis) layout.length = dims[i];
    if (axis > walked.axis) inner *= dims[i];
  }
  layout.block = graph::SizeOf(type.data_type, inner);
  layout.stride = layout.block * layout.length;
  return layout;
}

std::optional<std::string> WhyNotInPlan(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (IsIf(node)) return std::nullopt;
  if (!IsLoop(node)) return StrCat(Describe(graph, id), " runs its body as often as data tells");
  const LoopParts parts = PartsOfLoop(graph, id);
  for (const auto* slices : {&parts.read, &parts.collected}) {
    for (const WalkedValue& walked : *slices) {
      if (graph::Bits(graph[walked.slice].type.data_type) < 8) {
        return StrCat(Describe(graph, id), " walks elements of less than a byte");
      }
    }
  }
  for (const CarriedValue& carried : parts.carried) {
    if (graph[carried.initial].type == graph[carried.input].type &&
        graph[carried.result].type == graph[carried.input].type) {
      continue;
    }
    return StrCat(Describe(graph, id), " carries '", graph[carried.input].name,
                  "', whose shape changes");
  }
  return std::nullopt;
}

void SeparateCarried(Graph& graph) {
  for (size_t i = 0; i < graph.subgraphs.size(); ++i) {
    for (const NodeId id : std::vector<NodeId>(graph.subgraphs[i].nodes)) {
      if (IsLoop(graph[id])) SeparateCarriedOf(graph, id);
    }
  }
}

}  // namespace plimsoll::compile
