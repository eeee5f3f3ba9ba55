#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Questions that passes ask while they look for a pattern.

// Whether the node is this operator of the ONNX standard.
bool Is(const graph::Node& node, std::string_view op);
// The node that makes the value, when it is this operator of the standard, may be rewritten and
// stands in the body `home`; else not valid.
graph::NodeId MadeBy(const graph::Graph& graph, graph::ValueId value, std::string_view op,
                     graph::SubgraphId home);

// Bodies in which what shape inference says of a value is true of every run through them: the root
// and the branches of `If`, nested or not. Inner ones come first.
std::vector<graph::SubgraphId> SteadyBodies(const graph::Graph& graph);

// The elements of a constant that is there and of at most `most` elements; empty otherwise.
std::vector<double> ElementsOf(const graph::Graph& graph, graph::ValueId value, int64_t most);
std::vector<int64_t> IntegersOf(const graph::Graph& graph, graph::ValueId value);
// The only element of a constant.
std::optional<double> ScalarOf(const graph::Graph& graph, graph::ValueId value);
// Whether the value is a constant of one element that equals `number` to the precision of a float.
bool IsScalar(const graph::Graph& graph, graph::ValueId value, double number);
bool NearlyEqual(double a, double b);

// The shape of a tensor whose rank is known; null otherwise.
const graph::Shape* ShapeOf(const graph::Graph& graph, graph::ValueId value);
// The number that a dimension is; nothing where it is symbolic or out of range. Negative axes count
// from the end.
std::optional<int64_t> DimOf(const graph::Graph& graph, graph::ValueId value, int64_t axis);
bool SameShape(const graph::Graph& graph, graph::ValueId a, graph::ValueId b);
bool SameType(const graph::Graph& graph, graph::ValueId a, graph::ValueId b);  // and element type
bool IsFloat32(const graph::Graph& graph, graph::ValueId value);
bool IsHalf(const graph::ValueType& type);  // a tensor of float16 or bfloat16
bool IsWideningCast(const graph::Graph& graph, const graph::Node& node);  // halves to float32

// Whether the node is an operator over bytes that treats each element by itself where scales and
// zero points are one number each.
bool IsElementwiseOfBytes(const graph::Node& node);

// Whether floats become whole numbers somewhere: there a last bit decides what follows.
bool RoundsToIntegers(const graph::Graph& graph);

// A node of the standard at the version of `like`, named after it.
graph::Node NewNode(const graph::Node& like, std::string op, std::vector<graph::ValueId> inputs,
                    graph::Attributes attributes = {});

// An attribute of `count` integers, one or two a spatial axis; `otherwise` in each place where it
// is not given.
std::vector<int64_t> SizesOf(const graph::Node& node, std::string_view name, size_t count,
                             int64_t otherwise);

}  // namespace plimsoll::compile
