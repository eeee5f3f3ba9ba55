#include "compile/passes/fuse/patterns.h"

#include <algorithm>
#include <cmath>

#include "compile/passes/rewriter.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

bool Is(const graph::Node& node, std::string_view op) {
  return node.domain.empty() && node.op == op;
}

NodeId MadeBy(const Graph& graph, ValueId value, std::string_view op, SubgraphId home) {
  if (!value.valid()) return {};
  const NodeId producer = graph[value].producer;
  if (!producer.valid()) return {};
  const graph::Node& node = graph[producer];
  return Is(node, op) && MayRewrite(node) && node.home == home ? producer : NodeId();
}

std::vector<SubgraphId> SteadyBodies(const Graph& graph) {
  std::vector<SubgraphId> bodies;
  const auto visit = [&](auto&& self, SubgraphId body) -> void {
    for (const NodeId node : graph[body].nodes) {
      if (!Is(graph[node], "If")) continue;
      for (const SubgraphId inner : SubgraphsOf(graph[node])) self(self, inner);
    }
    bodies.push_back(body);
  };
  visit(visit, Graph::kRoot);
  return bodies;
}

std::vector<double> ElementsOf(const Graph& graph, ValueId value, int64_t most) {
  if (!value.valid() || !graph[value].constant.valid()) return {};
  const graph::ConstantTensor& tensor = graph[graph[value].constant];
  return tensor.ElementCount() <= most ? tensor.Doubles() : std::vector<double>();
}

std::vector<int64_t> IntegersOf(const Graph& graph, ValueId value) {
  if (!value.valid() || !graph[value].constant.valid()) return {};
  return graph[graph[value].constant].Integers();
}

std::optional<double> ScalarOf(const Graph& graph, ValueId value) {
  const std::vector<double> elements = ElementsOf(graph, value, 1);
  return elements.size() == 1 ? std::optional(elements[0]) : std::nullopt;
}

bool NearlyEqual(double a, double b) {
  constexpr double kPrecision = 1e-6;
  return std::abs(a - b) <= kPrecision * std::max(std::abs(a), std::abs(b));
}

bool IsScalar(const Graph& graph, ValueId value, double number) {
  const std::optional<double> scalar = ScalarOf(graph, value);
  return scalar && NearlyEqual(*scalar, number);
}

const Shape* ShapeOf(const Graph& graph, ValueId value) {
  if (!value.valid()) return nullptr;
  const graph::ValueType& type = graph[value].type;
  return type.is_tensor() && type.shape ? &*type.shape : nullptr;
}

std::optional<int64_t> DimOf(const Graph& graph, ValueId value, int64_t axis) {
  const Shape* shape = ShapeOf(graph, value);
  if (shape == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return (*shape)[static_cast<size_t>(axis)].AsNumber();
}

bool SameShape(const Graph& graph, ValueId a, ValueId b) {
  const Shape* left = ShapeOf(graph, a);
  const Shape* right = ShapeOf(graph, b);
  return left != nullptr && right != nullptr && *left == *right;
}

bool SameType(const Graph& graph, ValueId a, ValueId b) {
  return SameShape(graph, a, b) && graph[a].type.data_type == graph[b].type.data_type;
}

bool IsFloat32(const Graph& graph, ValueId value) {
  return value.valid() && graph[value].type.is_tensor() &&
         graph[value].type.data_type == graph::DataType::kFloat32;
}

bool IsHalf(const graph::ValueType& type) {
  return type.is_tensor() && (type.data_type == graph::DataType::kFloat16 ||
                              type.data_type == graph::DataType::kBfloat16);
}

bool IsWideningCast(const Graph& graph, const Node& node) {
  return Is(node, "Cast") && IsHalf(graph[node.inputs[0]].type) &&
         IsFloat32(graph, node.outputs[0]);
}

bool IsElementwiseOfBytes(const graph::Node& node) {
  constexpr std::string_view kOfBytes[] = {"QLinearAdd", "QLinearMul", "QLinearSigmoid",
                                           "QLinearLeakyRelu"};
  constexpr std::string_view kBetween[] = {"QuantizeLinear", "DequantizeLinear"};
  const auto among = [&](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), node.op) != names.end();
  };
  return (node.domain == graph::kContributedDomain && among(kOfBytes)) ||
         (node.domain.empty() && among(kBetween) && node.attributes.Int("block_size", 0) == 0);
}

graph::Node NewNode(const graph::Node& like, std::string op, std::vector<ValueId> inputs,
                    graph::Attributes attributes) {
  graph::Node node;
  node.name = StrCat(like.name.empty() ? like.op : like.name, "/", op);
  node.op = std::move(op);
  node.version = like.version;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return node;
}

bool RoundsToIntegers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return Is(node, "QuantizeLinear") || Is(node, "DynamicQuantizeLinear");
  });
}

std::vector<int64_t> SizesOf(const graph::Node& node, std::string_view name, size_t count,
                             int64_t otherwise) {
  const std::vector<int64_t>* const given = node.attributes.Ints(name);
  return given == nullptr || given->empty() ? std::vector<int64_t>(count, otherwise) : *given;
}

}  // namespace plimsoll::compile
