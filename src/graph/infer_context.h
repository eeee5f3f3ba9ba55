#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::graph {

// What a shape rule sees of one node: types, shapes and known content of the inputs, attributes;
// and where it puts its answers. A rule never looks at what the file declared.
//
// Rules cope with partial knowledge: an input whose rank is unknown gives an output whose rank is
// unknown, never an error. They fail only on what cannot be right.
class InferContext {
 public:
  // Infers a body with these input types and gives its output types.
  using SubgraphRunner = std::function<Result<std::vector<ValueType>>(
      SubgraphId, std::span<const ValueType>, std::span<const std::optional<Content>>)>;

  InferContext(Graph& graph, NodeId node, SubgraphRunner run_subgraph);

  const Node& node() const { return graph_.nodes[id_.index()]; }
  const Graph& graph() const { return graph_; }
  const Attributes& attributes() const { return node().attributes; }
  int version() const { return node().version; }

  size_t input_count() const { return node().inputs.size(); }
  size_t output_count() const { return node().outputs.size(); }
  bool has_input(size_t i) const;
  bool has_output(size_t i) const;
  const ValueType& input_type(size_t i) const;  // unknown where absent
  DataType input_data_type(size_t i) const { return input_type(i).data_type; }
  const Shape* input_shape(size_t i) const;      // null where the rank is unknown
  const Content* input_content(size_t i) const;  // null where not known
  // Content of a small integer input, where all its elements are known numbers.
  std::optional<std::vector<int64_t>> input_integers(size_t i) const;
  // Content of an integer input as dimensions, symbolic ones included.
  const std::vector<Dim>* input_dims(size_t i) const;
  std::optional<std::vector<double>> input_doubles(size_t i) const;

  void SetOutput(size_t i, ValueType type);
  void SetOutput(size_t i, DataType type, Shape shape);
  void SetOutputOfUnknownRank(size_t i, DataType type);
  void SetContent(size_t i, Content content);  // after SetOutput

  // A dimension that only data will tell; distinct for each output, axis and node.
  Dim UnknownDim(size_t output, size_t axis) const;

  Result<std::vector<ValueType>> InferSubgraph(
      SubgraphId id, std::span<const ValueType> inputs,
      std::span<const std::optional<Content>> contents = {});

  // "the shapes of node 3 'add1' (Add) cannot be worked out: <why>". Kind kBadFile, code
  // graph.shape.
  Error Fail(std::string why) const;

 private:
  Graph& graph_;
  NodeId id_;
  SubgraphRunner run_subgraph_;
};

// An axis in [-rank, rank) as [0, rank); nothing outside.
std::optional<int64_t> NormalizeAxis(int64_t axis, int64_t rank);

// Numpy's rule. Two symbols that differ broadcast to the one that is not 1 where that is certain,
// else to the maximum. Nothing when two numbers cannot broadcast.
std::optional<Shape> Broadcast(std::span<const Shape* const> shapes);

// The axes of a reduction, squeeze or the like: attribute `axes` up to the version where they
// became input `input`, that input's content after. Empty optional: there, but not known yet.
struct AxesArgument {
  bool given = false;
  std::optional<std::vector<int64_t>> axes;  // known numbers, not yet normalised
};
AxesArgument ReadAxes(const InferContext& context, size_t input,
                      std::string_view attribute = "axes");

}  // namespace plimsoll::graph
