#include "compile/memory/storage/views.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "graph/infer_context.h"
#include "graph/operator_row.h"
#include "graph/registered_operators.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Dim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::ValueId;
using graph::View;

const Shape* ShapeOfValue(const Graph& graph, ValueId id) {
  if (!id.valid() || !graph[id].type.is_tensor() || !graph[id].type.shape) return nullptr;
  return &*graph[id].type.shape;
}

// Whether everything before the axis is 1, so that the slices along it lie one behind the other.
bool OutermostAxis(const Shape& shape, int64_t axis) {
  return std::all_of(shape.begin(), shape.begin() + axis, [](const Dim& d) { return d == Dim(1); });
}

std::vector<WindowOf> Whole(const Node& node) {
  if (node.inputs.empty() || !node.inputs[0].valid() || !node.outputs[0].valid()) return {};
  return {{node.outputs[0], node.inputs[0], Bytes(0)}};
}

// The parts of `whole` along the node's axis, one behind the other, where nothing but 1 lies before
// that axis.
std::vector<WindowOf> PartsOf(const Graph& graph, const Node& node, ValueId whole,
                              const std::vector<ValueId>& parts) {
  const Shape* shape = ShapeOfValue(graph, whole);
  if (shape == nullptr) return {};
  const auto axis =
      graph::NormalizeAxis(node.attributes.Int("axis", 0), static_cast<int64_t>(shape->size()));
  if (!axis || !OutermostAxis(*shape, *axis)) return {};
  std::vector<WindowOf> windows;
  Bytes offset;
  for (const ValueId part : parts) {
    if (!part.valid()) return {};
    windows.push_back({part, whole, offset});
    offset += PlannedSize(graph[part].type);
  }
  return windows;
}

std::optional<std::vector<int64_t>> KnownIntegers(const Graph& graph, const Node& node,
                                                  size_t input) {
  if (input >= node.inputs.size() || !node.inputs[input].valid()) return std::nullopt;
  const auto& content = graph[node.inputs[input]].content;
  if (!content || content->dims() == nullptr || !graph::IsStatic(*content->dims())) {
    return std::nullopt;
  }
  return graph::StaticDims(*content->dims());
}

// One axis cut, in steps of 1, with nothing but 1 before it.
std::vector<WindowOf> SliceWindow(const Graph& graph, const Node& node) {
  const Shape* from = ShapeOfValue(graph, node.inputs[0]);
  const Shape* to = ShapeOfValue(graph, node.outputs[0]);
  const auto* start_attribute = node.attributes.Ints("starts");
  const auto starts =
      start_attribute != nullptr ? std::optional(*start_attribute) : KnownIntegers(graph, node, 1);
  if (from == nullptr || to == nullptr || !starts || from->size() != to->size()) return {};
  const auto steps = KnownIntegers(graph, node, 4);
  if (node.inputs.size() > 4 && node.inputs[4].valid() && !steps) return {};
  if (steps && std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s != 1; }))
    return {};
  const auto* axes_attribute = node.attributes.Ints("axes");
  auto axes =
      axes_attribute != nullptr ? std::optional(*axes_attribute) : KnownIntegers(graph, node, 3);
  if (!axes) {
    if (node.inputs.size() > 3 && node.inputs[3].valid()) return {};
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  int64_t elements_before = 0;
  bool cut = false;
  for (size_t i = 0; i < from->size(); ++i) {
    if ((*from)[i] == (*to)[i]) continue;
    if (cut || !OutermostAxis(*from, static_cast<int64_t>(i)) || !(*from)[i].is_number()) return {};
    cut = true;
    const auto named = std::find_if(axes->begin(), axes->end(), [&](int64_t axis) {
      return graph::NormalizeAxis(axis, static_cast<int64_t>(from->size())) ==
             static_cast<int64_t>(i);
    });
    const auto place = static_cast<size_t>(named - axes->begin());
    if (named == axes->end() || place >= starts->size()) return {};
    int64_t start = (*starts)[place];
    if (start < 0) start += (*from)[i].number();
    start = std::clamp<int64_t>(start, 0, (*from)[i].number());
    const Shape inner((*from).begin() + static_cast<int64_t>(i) + 1, (*from).end());
    const Dim row = ElementCount(inner);
    if (!row.is_number()) return {};
    elements_before = SaturatingMultiply(start, row.number());
  }
  if (graph::Bits(graph[node.inputs[0]].type.data_type) < 8) return {};
  return {{node.outputs[0], node.inputs[0],
           graph::SizeOf(graph[node.inputs[0]].type.data_type, elements_before)}};
}

// One known index along an axis with nothing but 1 before it.
std::vector<WindowOf> IndexWindow(const Graph& graph, const Node& node) {
  const Shape* shape = ShapeOfValue(graph, node.inputs[0]);
  const auto indices = KnownIntegers(graph, node, 1);
  if (shape == nullptr || !indices || indices->size() != 1) return {};
  const auto axis =
      graph::NormalizeAxis(node.attributes.Int("axis", 0), static_cast<int64_t>(shape->size()));
  if (!axis || !OutermostAxis(*shape, *axis)) return {};
  const Dim& length = (*shape)[static_cast<size_t>(*axis)];
  const auto index =
      length.is_number() ? graph::NormalizeAxis((*indices)[0], length.number()) : std::nullopt;
  if (!index || graph::Bits(graph[node.inputs[0]].type.data_type) < 8) return {};
  return {{node.outputs[0], node.inputs[0], PlannedSize(graph[node.outputs[0]].type) * *index}};
}

bool MovesOnlyOnes(const Graph& graph, const Node& node) {
  const Shape* shape = ShapeOfValue(graph, node.inputs[0]);
  const auto* perm = node.attributes.Ints("perm");
  if (shape == nullptr) return false;
  int64_t last = -1;
  for (size_t i = 0; i < shape->size(); ++i) {
    const int64_t from = perm != nullptr ? (*perm)[i] : static_cast<int64_t>(shape->size() - 1 - i);
    if ((*shape)[static_cast<size_t>(from)] == Dim(1)) continue;
    if (from < last) return false;
    last = from;
  }
  return true;
}

bool SameType(const Graph& graph, const Node& node) {
  return graph[node.inputs[0]].type == graph[node.outputs[0]].type;
}

}  // namespace

bool IsPlainView(const Node& node) {
  if (!node.domain.empty()) {
    return node.attributes.Int("view", 0) == 1 &&
           graph::FindRegisteredOperator(node.domain, node.op, node.version) == nullptr;
  }
  return graph::FactsOf(node).view == View::kWhole;
}

std::vector<WindowOf> WindowsOf(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.inputs.empty() || node.outputs.empty()) return {};
  std::vector<WindowOf> references;
  for (const auto& reference : node.memory.reference_outputs) {
    const auto output = static_cast<size_t>(reference.output);
    const auto input = static_cast<size_t>(reference.input);
    if (output < node.outputs.size() && input < node.inputs.size()) {
      references.push_back({node.outputs[output], node.inputs[input], Bytes(0)});
    }
  }
  if (!references.empty()) return references;
  if (!node.inputs[0].valid() || !node.outputs[0].valid()) return {};
  if (IsPlainView(node)) return Whole(node);
  const std::vector<WindowOf> none;
  switch (graph::FactsOf(node).view) {
    case View::kNone:
      return none;
    case View::kWhole:
      return Whole(node);
    case View::kWholeIfUnchanged:
      return SameType(graph, node) && kernels::IsDeterministic(node) ? Whole(node) : none;
    case View::kPermutation:
      return MovesOnlyOnes(graph, node) ? Whole(node) : none;
    case View::kSplit:
      return PartsOf(graph, node, node.inputs[0], node.outputs);
    case View::kJoin:
      return PartsOf(graph, node, node.outputs[0], node.inputs);
    case View::kSlice:
      return SliceWindow(graph, node);
    case View::kIndex:
      return IndexWindow(graph, node);
  }
  return none;
}

}  // namespace plimsoll::compile
