#include "compile/passes/forms/split_products.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/merge_views.h"
#include "compile/passes/rewriter.h"
#include "graph/infer_context.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Attributes;
using graph::Dim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

using enum FusionPattern;
using Ints = std::vector<int64_t>;

// Columns of a product that are packed together; parts begin between them.
constexpr int64_t kTogether = 16;
constexpr int64_t kLeastColumns = 32;

// Columns [begin, begin + count).
struct Columns {
  int64_t begin = 0;
  int64_t count = 0;
};

bool IsView(const Node& node) {
  return Is(node, "Reshape") || Is(node, "Squeeze") || Is(node, "Unsqueeze");
}

// A product of floats by one constant matrix, as far as its shapes are known.
bool MultipliesByConstant(const Graph& graph, const Node& node) {
  const bool product = Is(node, "MatMul") || Is(node, "Gemm") ||
                       (node.domain == "plimsoll" && node.op == "FusedMatMul");
  if (!product || !MayRewrite(node) || !IsFloat32(graph, node.outputs[0])) return false;
  const Shape* const made = ShapeOf(graph, node.outputs[0]);
  const Shape* const right = ShapeOf(graph, node.inputs[1]);
  return made != nullptr && made->size() >= 2 && right != nullptr && right->size() == 2 &&
         graph[node.inputs[1]].constant.valid();
}

// Each part of columns with the value that holds it.
struct Part {
  Columns columns;
  ValueId value;
};

class ColumnTaking {
 public:
  explicit ColumnTaking(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      home_ = body;
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !Is(graph_[id], "Transpose") || !MayRewrite(graph_[id])) {
          continue;
        }
        if (Visit(id)) counts_.Took(kMatMulSplit);
      }
    }
    return counts_;
  }

 private:
  // What the Transpose does to columns seen as [parts, ...].
  struct Packed {
    ValueId whole;  // [..., columns]
    Shape seen;     // of one part, before it is transposed
    Ints order;     // of its axes, after
    int64_t parts = 0;
  };

  bool Visit(NodeId id) {
    const std::optional<Packed> packed = ReadPacked(id);
    if (!packed) return false;
    const ValueId moved = LastView(graph_[id].outputs[0]);
    const std::optional<std::vector<std::pair<NodeId, int64_t>>> takers =
        TakersOf(moved, packed->parts);
    if (!takers) return false;
    const Shape& whole = *ShapeOf(graph_, packed->whole);
    const int64_t columns = whole.back().number() / packed->parts;
    if (columns < kLeastColumns || columns % kTogether != 0) return false;
    Shape taken = whole;
    taken.back() = Dim(columns);
    Shape turned;
    for (const int64_t axis : packed->order)
      turned.push_back(packed->seen[static_cast<size_t>(axis)]);
    const auto seen = ReshapeTarget(taken, packed->seen);
    std::vector<std::optional<Ints>> results;
    for (const auto& [taker, part] : *takers) {
      results.push_back(ReshapeTarget(turned, *ShapeOf(graph_, graph_[taker].outputs[0])));
      if (!results.back()) return false;
    }
    if (!seen) return false;
    for (size_t i = 0; i < takers->size(); ++i) {
      const auto& [taker, part] = (*takers)[i];
      Replace(taker, *packed, part * columns, columns, *seen, turned, *results[i]);
    }
    rewriter_.DropUnused(graph_[moved].producer);
    return true;
  }

  ValueId MatrixBehind(ValueId value) const {
    const NodeId maker = graph_[value].producer;
    if (!maker.valid() || graph_[maker].home != home_) return {};
    const Node& node = graph_[maker];
    if (MultipliesByConstant(graph_, node)) return value;
    if (!Is(node, "Add") || !SameType(graph_, node.inputs[0], node.outputs[0])) return {};
    const bool biased = graph_[node.inputs[1]].constant.valid();
    if (!biased || !rewriter_.HasOneReader(node.inputs[0])) return {};
    const NodeId product = graph_[node.inputs[0]].producer;
    return product.valid() && MultipliesByConstant(graph_, graph_[product]) ? value : ValueId();
  }

  // Axes of 1 may stand anywhere.
  std::optional<Packed> ReadPacked(NodeId id) const {
    const Node& node = graph_[id];
    const ValueId view = node.inputs[0];
    const Ints* const perm = node.attributes.Ints("perm");
    const NodeId viewer = graph_[view].producer;
    if (perm == nullptr || !viewer.valid() || !IsView(graph_[viewer]) ||
        graph_[viewer].home != home_ || !rewriter_.HasOneReader(view)) {
      return std::nullopt;
    }
    Packed packed;
    packed.whole = graph_[viewer].inputs[0];
    if (!rewriter_.HasOneReader(packed.whole) || !MatrixBehind(packed.whole).valid()) {
      return std::nullopt;
    }
    const Shape* const whole = ShapeOf(graph_, packed.whole);
    const Shape* const seen = ShapeOf(graph_, view);
    if (seen == nullptr || seen->size() != perm->size() || !whole->back().is_number()) {
      return std::nullopt;
    }
    const auto first = std::ranges::find_if(
        *perm, [&](int64_t axis) { return (*seen)[static_cast<size_t>(axis)] != Dim(1); });
    if (first == perm->end()) return std::nullopt;
    const auto axis = static_cast<size_t>(*first);
    Shape rows;
    std::copy_if(whole->begin(), whole->end() - 1, std::back_inserter(rows),
                 [](const Dim& dim) { return dim != Dim(1); });
    Shape before;
    std::copy_if(seen->begin(), seen->begin() + *first, std::back_inserter(before),
                 [](const Dim& dim) { return dim != Dim(1); });
    Dim columns(1);
    for (size_t i = axis; i < seen->size(); ++i) columns = columns * (*seen)[i];
    if (rows != before || columns != whole->back() || !(*seen)[axis].is_number()) {
      return std::nullopt;
    }
    packed.parts = (*seen)[axis].number();
    packed.seen = *seen;
    packed.seen.erase(packed.seen.begin() + *first);
    for (const int64_t from : *perm) {
      if (from != *first) packed.order.push_back(from - (from > *first ? 1 : 0));
    }
    return packed;
  }

  // Behind views that alone read the value.
  ValueId LastView(ValueId value) const {
    while (rewriter_.HasOneReader(value)) {
      const NodeId reader = rewriter_.readers(value).front();
      const Node& node = graph_[reader];
      if (!IsView(node) || node.home != home_ || !MayRewrite(node) || node.inputs[0] != value)
        break;
      value = node.outputs[0];
    }
    return value;
  }

  // Who takes which of the parts along the first axis; nothing where somebody reads otherwise.
  std::optional<std::vector<std::pair<NodeId, int64_t>>> TakersOf(ValueId value,
                                                                  int64_t parts) const {
    const Shape* const shape = ShapeOf(graph_, value);
    if (shape == nullptr || shape->empty() || (*shape)[0] != Dim(parts) ||
        rewriter_.IsOutput(value)) {
      return std::nullopt;
    }
    std::vector<std::pair<NodeId, int64_t>> takers;
    for (const NodeId reader : rewriter_.readers(value)) {
      const Node& node = graph_[reader];
      if (!Is(node, "Gather") || !MayRewrite(node) || node.home != home_ ||
          node.inputs[0] != value || node.attributes.Int("axis", 0) != 0 ||
          ShapeOf(graph_, node.outputs[0]) == nullptr) {
        return std::nullopt;
      }
      const Ints index = IntegersOf(graph_, node.inputs[1]);
      if (index.size() != 1 || index[0] < -parts || index[0] >= parts) return std::nullopt;
      takers.emplace_back(reader, index[0] < 0 ? index[0] + parts : index[0]);
    }
    return takers;
  }

  void Replace(NodeId taker, const Packed& packed, int64_t begin, int64_t columns, const Ints& seen,
               const Shape& turned, const Ints& result) {
    const Shape& whole = *ShapeOf(graph_, packed.whole);
    const std::string name = graph_[taker].name;
    const auto last = static_cast<int64_t>(whole.size()) - 1;
    Attributes ends;
    ends.Set("axes", Ints{last});
    ends.Set("starts", Ints{begin});
    ends.Set("ends", Ints{begin + columns});
    Shape taken = whole;
    taken.back() = Dim(columns);
    Node slice = NewNode(graph_[taker], "Slice", {packed.whole}, std::move(ends));
    slice.version = 1;
    slice.name = StrCat(name, "/columns");
    ValueId value = Insert(taker, std::move(slice), taken);
    value = InsertView(taker, value, StrCat(name, "/seen"), seen, packed.seen);
    Ints identity(packed.order.size());
    std::iota(identity.begin(), identity.end(), 0);
    if (packed.order != identity) {
      Attributes perm;
      perm.Set("perm", packed.order);
      Node transpose = NewNode(graph_[taker], "Transpose", {value}, std::move(perm));
      transpose.name = StrCat(name, "/turned");
      value = Insert(taker, std::move(transpose), turned);
    }
    const ValueId shape = rewriter_.AddInt64s(taker, StrCat(name, "/shape"), result);
    Node& node = graph_[taker];
    node.op = "Reshape";
    node.version = kReshapeVersion;
    node.attributes = Attributes();
    rewriter_.SetInputs(taker, {value, shape});
  }

  ValueId Insert(NodeId place, Node node, Shape shape) {
    const ValueId made = rewriter_.InsertBefore(place, std::move(node));
    graph_[made].type = graph::ValueType::Tensor(graph::DataType::kFloat32, std::move(shape));
    return made;
  }

  ValueId InsertView(NodeId place, ValueId value, const std::string& name, const Ints& target,
                     const Shape& shape) {
    const ValueId to = rewriter_.AddInt64s(place, StrCat(name, "/shape"), target);
    Node view = NewNode(graph_[place], "Reshape", {value, to});
    view.version = kReshapeVersion;
    view.name = name;
    return Insert(place, std::move(view), shape);
  }

  static constexpr int kReshapeVersion = 13;

  Graph& graph_;
  Rewriter rewriter_;
  SubgraphId home_;
  FusionCounts counts_;
};

class ProductSplitting {
 public:
  explicit ProductSplitting(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MultipliesByConstant(graph_, graph_[id])) continue;
        const auto parts = PartsOf(id);
        if (parts.empty()) continue;
        if (!Fits(id, parts)) {
          counts_.Declined(kMatMulSplit);
          continue;
        }
        Split(id, parts);
        counts_.Took(kMatMulSplit);
      }
    }
    return counts_;
  }

 private:
  // Empty where somebody reads something else than a part of the columns.
  std::vector<Part> PartsOf(NodeId id) const {
    const ValueId made = graph_[id].outputs[0];
    const Shape& shape = *ShapeOf(graph_, made);
    if (rewriter_.IsOutput(made) || !shape.back().is_number()) return {};
    std::vector<Part> parts;
    for (const NodeId reader : rewriter_.readers(made)) {
      const Node& node = graph_[reader];
      if (!MayRewrite(node) || node.home != graph_[id].home || node.inputs[0] != made) return {};
      const bool known = Is(node, "Split")   ? AddSplit(node, shape, parts)
                         : Is(node, "Slice") ? AddSlice(node, shape, parts)
                                             : false;
      if (!known) return {};
    }
    return parts;
  }

  bool AddSplit(const Node& node, const Shape& shape, std::vector<Part>& parts) const {
    const auto rank = static_cast<int64_t>(shape.size());
    if (graph::NormalizeAxis(node.attributes.Int("axis", 0), rank) != rank - 1) return false;
    int64_t begin = 0;
    for (const ValueId output : node.outputs) {
      const auto count = output.valid() ? DimOf(graph_, output, -1) : std::nullopt;
      if (!count || rewriter_.IsOutput(output)) return false;
      parts.push_back({{begin, *count}, output});
      begin += *count;
    }
    return true;
  }

  bool AddSlice(const Node& node, const Shape& shape, std::vector<Part>& parts) const {
    const auto read = [&](std::string_view name, size_t input) {
      if (const Ints* given = node.attributes.Ints(name)) return *given;
      return input < node.inputs.size() && node.inputs[input].valid()
                 ? IntegersOf(graph_, node.inputs[input])
                 : Ints();
    };
    const auto rank = static_cast<int64_t>(shape.size());
    const Ints starts = read("starts", 1);
    const Ints axes = read("axes", 3);
    const Ints steps = read("steps", 4);
    const bool stepped = node.inputs.size() > 4 && node.inputs[4].valid();
    if (starts.size() != 1 || axes.size() != 1 || (stepped && steps != Ints{1}) ||
        graph::NormalizeAxis(axes[0], rank) != rank - 1) {
      return false;
    }
    const auto count = DimOf(graph_, node.outputs[0], -1);
    if (!count || rewriter_.IsOutput(node.outputs[0])) return false;
    const int64_t columns = shape.back().number();
    const int64_t begin =
        std::clamp(starts[0] < 0 ? starts[0] + columns : starts[0], int64_t{0}, columns);
    parts.push_back({{begin, *count}, node.outputs[0]});
    return true;
  }

  // Rows that lie apart are worth it: those of one alone are read where they are.
  bool Fits(NodeId id, const std::vector<Part>& parts) const {
    const Node& node = graph_[id];
    const Shape& shape = *ShapeOf(graph_, node.outputs[0]);
    const bool one_row =
        std::all_of(shape.begin(), shape.end() - 1, [](const Dim& dim) { return dim == Dim(1); });
    if (one_row || parts.size() < 2 || node.attributes.Int("columns", 0) != 0) return false;
    int64_t sum = 0;
    for (const Part& part : parts) {
      sum += part.columns.count;
      if (part.columns.count < kLeastColumns || part.columns.begin % kTogether != 0) return false;
    }
    if (sum > shape.back().number()) return false;
    const bool residual = node.inputs.size() > 3 && node.inputs[3].valid();
    if (residual || node.attributes.Float("beta", 1) != 1) return false;
    if (node.inputs.size() < 3 || !node.inputs[2].valid()) return true;
    const Shape* const bias = ShapeOf(graph_, node.inputs[2]);
    return graph_[node.inputs[2]].constant.valid() && bias->size() == 1 &&
           bias->back() == shape.back();
  }

  void Split(NodeId id, const std::vector<Part>& parts) {
    std::vector<NodeId> readers;
    for (const Part& part : parts) {
      const NodeId reader = graph_[part.value].producer;
      const ValueId made = rewriter_.InsertBefore(reader, PartOf(id, part, reader));
      graph_[made].type = graph_[part.value].type;
      graph_[made].name = StrCat(graph_[part.value].name, "/product");
      rewriter_.ReplaceUses(part.value, made);
      if (readers.empty() || readers.back() != reader) readers.push_back(reader);
    }
    for (const NodeId reader : readers) rewriter_.DropUnused(reader);
  }

  Node PartOf(NodeId id, const Part& part, NodeId place) {
    const Node& whole = graph_[id];
    Node node;
    node.name = StrCat(whole.name, "/", part.columns.begin);
    node.domain = "plimsoll";
    node.op = "FusedMatMul";
    node.version = 1;
    node.attributes = whole.attributes;
    node.attributes.Set("first_column", part.columns.begin);
    node.attributes.Set("columns", part.columns.count);
    node.inputs = {whole.inputs[0], whole.inputs[1]};
    if (whole.inputs.size() < 3 || !whole.inputs[2].valid()) return node;
    graph::ConstantTensor bias = graph_[graph_[whole.inputs[2]].constant];
    if (!bias.bytes.empty()) {
      bias.bytes = bias.bytes.subspan(static_cast<size_t>(part.columns.begin) * sizeof(float),
                                      static_cast<size_t>(part.columns.count) * sizeof(float));
    }
    bias.dims = {part.columns.count};
    bias.name = StrCat(bias.name, "/", part.columns.begin);
    std::string name = bias.name;
    node.inputs.push_back(rewriter_.AddConstant(place, std::move(name), std::move(bias)));
    return node;
  }

  Graph& graph_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts TakeColumns(Graph& graph, const FusionSwitches& /*switches*/) {
  return ColumnTaking(graph).Run();
}

FusionCounts SplitProducts(Graph& graph, const FusionSwitches& /*switches*/) {
  return ProductSplitting(graph).Run();
}

}  // namespace plimsoll::compile
