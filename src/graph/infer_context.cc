#include "graph/infer_context.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::graph {

InferContext::InferContext(Graph& graph, NodeId node, SubgraphRunner run_subgraph)
    : graph_(graph), id_(node), run_subgraph_(std::move(run_subgraph)) {}

bool InferContext::has_input(size_t i) const {
  return i < node().inputs.size() && node().inputs[i].valid();
}

bool InferContext::has_output(size_t i) const {
  return i < node().outputs.size() && node().outputs[i].valid();
}

const ValueType& InferContext::input_type(size_t i) const {
  static const ValueType unknown;
  return has_input(i) ? graph_[node().inputs[i]].type : unknown;
}

const Shape* InferContext::input_shape(size_t i) const {
  const ValueType& type = input_type(i);
  return type.is_tensor() && type.shape ? &*type.shape : nullptr;
}

const Content* InferContext::input_content(size_t i) const {
  if (!has_input(i)) return nullptr;
  const auto& content = graph_[node().inputs[i]].content;
  return content ? &*content : nullptr;
}

std::optional<std::vector<int64_t>> InferContext::input_integers(size_t i) const {
  const std::vector<Dim>* dims = input_dims(i);
  if (dims == nullptr || !IsStatic(*dims)) return std::nullopt;
  return StaticDims(*dims);
}

const std::vector<Dim>* InferContext::input_dims(size_t i) const {
  const Content* content = input_content(i);
  return content == nullptr ? nullptr : content->dims();
}

std::optional<std::vector<double>> InferContext::input_doubles(size_t i) const {
  const Content* content = input_content(i);
  if (content == nullptr) return std::nullopt;
  if (const auto* doubles = content->doubles()) return *doubles;
  const auto integers = input_integers(i);
  if (!integers) return std::nullopt;
  return std::vector<double>(integers->begin(), integers->end());
}

void InferContext::SetOutput(size_t i, ValueType type) {
  if (has_output(i)) graph_[node().outputs[i]].type = std::move(type);
}

void InferContext::SetOutput(size_t i, DataType type, Shape shape) {
  SetOutput(i, ValueType::Tensor(type, std::move(shape)));
}

void InferContext::SetOutputOfUnknownRank(size_t i, DataType type) {
  SetOutput(i, ValueType::Tensor(type));
}

void InferContext::SetContent(size_t i, Content content) {
  if (!has_output(i) || static_cast<int64_t>(content.size()) > kMaxContentElements) return;
  graph_[node().outputs[i]].content = std::move(content);
}

Dim InferContext::UnknownDim(size_t output, size_t axis) const {
  const std::string name =
      has_output(output) ? graph_[node().outputs[output]].name : StrCat(output);
  return Dim::Symbol(StrCat("?", name, ".", axis, "@", id_.index()));
}

Result<std::vector<ValueType>> InferContext::InferSubgraph(
    SubgraphId id, std::span<const ValueType> inputs,
    std::span<const std::optional<Content>> contents) {
  if (!id.valid()) return Fail("it lacks the body that it should carry");
  return run_subgraph_(id, inputs, contents);
}

Error InferContext::Fail(std::string why) const {
  return {ErrorKind::kBadFile,
          "graph.shape",
          "shapes cannot be worked out",
          Describe(graph_, id_),
          std::move(why),
          "check the model's export, or the shapes given for its inputs"};
}

std::optional<int64_t> NormalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::optional<Shape> Broadcast(std::span<const Shape* const> shapes) {
  size_t rank = 0;
  for (const Shape* shape : shapes) rank = std::max(rank, shape->size());
  Shape out(rank, Dim(1));
  for (const Shape* shape : shapes) {
    for (size_t i = 0; i < shape->size(); ++i) {
      Dim& have = out[rank - shape->size() + i];
      const Dim& more = (*shape)[i];
      if (more == have || more == Dim(1)) continue;
      if (have == Dim(1)) {
        have = more;
      } else if (have.is_number() && more.is_number()) {
        return std::nullopt;
      } else if (!have.is_number() && !more.is_number()) {
        have = Dim::Max(have, more);
      } else if (more.is_number()) {
        have = more;
      }
    }
  }
  return out;
}

AxesArgument ReadAxes(const InferContext& context, size_t input, std::string_view attribute) {
  AxesArgument argument;
  if (const auto* axes = context.attributes().Ints(attribute)) {
    argument.given = true;
    argument.axes = *axes;
  } else if (context.has_input(input)) {
    argument.given = true;
    argument.axes = context.input_integers(input);
  }
  return argument;
}

}  // namespace plimsoll::graph
