#include "compile/passes/fuse/fuse_products.h"

#include <algorithm>

#include "compile/passes/fuse/channel_constants.h"
#include "compile/passes/fuse/fused_activation.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/merge_views.h"
#include "compile/passes/rewriter.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

using enum FusionPattern;

constexpr int64_t kMostColumns = 1 << 20;

// activation(alpha * A x B + bias + residual), A and B with their last two dimensions swapped where
// it says so.
struct Product {
  ValueId a;
  ValueId b;
  ValueId bias;
  ValueId residual;
  bool swap_a = false;
  bool swap_b = false;
  double alpha = 1;
  int64_t sum_steps = 0;
  bool bias_last = false;
  Attributes activation;
};

class ProductFusing {
 public:
  ProductFusing(Graph& graph, const FusionSwitches& switches)
      : graph_(graph), switches_(switches), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      const std::vector<NodeId> nodes = rewriter_.NodesOf(body);
      place_.assign(graph_.nodes.size(), 0);
      for (size_t i = 0; i < nodes.size(); ++i) place_[nodes[i].index()] = i;
      for (const NodeId id : nodes) Visit(id);
    }
    return counts_;
  }

 private:
  void Visit(NodeId id) {
    std::optional<Product> product = Read(id);
    if (!product) return;
    const int before = counts_.effects();
    TakeOperands(id, *product);
    NodeId last = id;
    for (NodeId next = id; next.valid(); next = TakeReader(last, *product)) last = next;
    if (counts_.effects() == before) return;
    Write(last, id, *product);
  }

  // A product that may still be fused; nothing for other nodes and for unusual ones.
  std::optional<Product> Read(NodeId id) {
    if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) return std::nullopt;
    const Node& node = graph_[id];
    const bool matmul = Is(node, "MatMul");
    if (!matmul && !Is(node, "Gemm")) return std::nullopt;
    Product product;
    product.a = node.inputs[0];
    product.b = node.inputs[1];
    for (const ValueId value : {product.a, product.b}) {
      const Shape* shape = ShapeOf(graph_, value);
      if (!IsFloat32(graph_, value) || shape == nullptr || shape->size() < 2) return std::nullopt;
    }
    if (ShapeOf(graph_, node.outputs[0]) == nullptr) return std::nullopt;
    product.sum_steps = node.attributes.Int("sum_steps", 0);
    product.bias_last = node.attributes.Int("bias_last", 0) != 0;
    if (matmul) return product;
    product.swap_a = node.attributes.Int("transA", 0) != 0;
    product.swap_b = node.attributes.Int("transB", 0) != 0;
    product.alpha = node.attributes.Float("alpha", 1);
    if (node.inputs.size() < 3 || !node.inputs[2].valid()) return product;
    if (node.attributes.Float("beta", 1) != 1) return std::nullopt;
    const ValueId addend = node.inputs[2];
    product.bias = AsBias(addend, node.outputs[0], id);
    if (product.bias.valid()) return product;
    if (!SameType(graph_, addend, node.outputs[0])) return std::nullopt;
    product.residual = addend;
    return product;
  }

  // The value as a vector with one element per column of `made`; not valid where it is none.
  // Constant vectors with leading ones are seen as plain ones.
  ValueId AsBias(ValueId value, ValueId made, NodeId place) {
    const Shape* shape = ShapeOf(graph_, value);
    const Shape* result = ShapeOf(graph_, made);
    if (shape == nullptr || !IsFloat32(graph_, value) || shape->empty() ||
        shape->size() > result->size() || shape->back() != result->back() ||
        !shape->back().is_number()) {
      return {};
    }
    if (shape->size() == 1) return value;
    const bool leading_ones = std::all_of(shape->begin(), shape->end() - 1,
                                          [](const auto& dim) { return dim == graph::Dim(1); });
    if (!leading_ones || !graph_[value].constant.valid()) return {};
    graph::ConstantTensor vector = graph_[graph_[value].constant];
    vector.dims = {vector.dims.back()};
    return rewriter_.AddConstant(place, StrCat(graph_[value].name, "/vector"), std::move(vector));
  }

  void TakeOperands(NodeId id, Product& product) {
    TakeOperand(id, product.a, product.swap_a, product.alpha);
    TakeOperand(id, product.b, product.swap_b, product.alpha);
    TakeHalves(product.b, product.swap_b);
  }

  // Constant weights stay halves, turned or not: the product widens them as it goes.
  void TakeHalves(ValueId& operand, bool& swapped) {
    const NodeId maker = graph_[operand].producer;
    if (!maker.valid() || !IsWideningCast(graph_, graph_[maker])) return;
    ValueId source = graph_[maker].inputs[0];
    const NodeId turned = graph_[source].producer;
    const bool swap = turned.valid() && IsSwap(turned) && switches_.IsOn(kMatMulTranspose);
    if (swap) source = graph_[turned].inputs[0];
    if (!graph_[source].constant.valid() || !switches_.IsOn(kHalfWiden)) return;
    operand = source;
    swapped ^= swap;
    counts_.Took(kHalfWiden);
  }

  void TakeOperand(NodeId id, ValueId& operand, bool& swapped, double& alpha) {
    while (true) {
      const NodeId maker = graph_[operand].producer;
      if (!maker.valid() || !MayRewrite(graph_[maker]) || graph_[maker].home != graph_[id].home) {
        return;
      }
      // Whose product is rounded before.
      if (graph_[maker].attributes.Int("float_steps", 0) != 0) return;
      const bool swap = IsSwap(maker);
      double factor = alpha;
      const ValueId source = swap ? graph_[maker].inputs[0] : WithoutScale(maker, operand, factor);
      const FusionPattern pattern = swap ? kMatMulTranspose : kMatMulScale;
      if (!source.valid() || !switches_.IsOn(pattern)) return;
      if (!rewriter_.HasOneReader(operand)) return counts_.Declined(pattern);
      if (swap) swapped = !swapped;
      alpha = factor;
      operand = source;
      counts_.Took(pattern);
    }
  }

  bool IsSwap(NodeId id) const {
    const Node& node = graph_[id];
    const std::vector<int64_t>* perm = node.attributes.Ints("perm");
    if (!Is(node, "Transpose") || perm == nullptr || perm->size() < 2) return false;
    const auto rank = static_cast<int64_t>(perm->size());
    for (int64_t i = 0; i < rank - 2; ++i) {
      if ((*perm)[static_cast<size_t>(i)] != i) return false;
    }
    return perm->back() == rank - 2;
  }

  // The operand that `id` multiplies by a constant scalar to make `made`; not valid where it does
  // not.
  ValueId WithoutScale(NodeId id, ValueId made, double& alpha) const {
    const Node& node = graph_[id];
    const bool mul = Is(node, "Mul");
    if (!mul && !Is(node, "Div")) return {};
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (side == 1 && !mul) break;
      const std::optional<double> factor = ScalarOf(graph_, node.inputs[1 - side]);
      if (!factor || (!mul && *factor == 0)) continue;
      if (!SameType(graph_, node.inputs[side], made)) continue;
      alpha *= mul ? *factor : 1 / *factor;
      return node.inputs[side];
    }
    return {};
  }

  // Takes in what alone reads the product that `last` makes. Gives the node taken over; not valid
  // when there is nothing more to take.
  NodeId TakeReader(NodeId last, Product& product) {
    const ValueId made = graph_[last].outputs[0];
    const NodeId reader = OnlyReader(rewriter_, made, graph_[last].home);
    if (product.activation.size() > 0) return {};
    if (!reader.valid()) {
      for (const NodeId other : rewriter_.readers(made)) Decline(other, made);
      return {};
    }
    const std::optional<FusionPattern> taken = Take(last, reader, made, product);
    if (!taken) {
      Decline(reader, made);
      return {};
    }
    counts_.Took(*taken);
    return reader;
  }

  std::optional<FusionPattern> Take(NodeId last, NodeId reader, ValueId made, Product& product) {
    if (switches_.IsOn(kMatMulScale) &&
        (TakeScale(reader, made, product) || TakeFactors(reader, made, product))) {
      return kMatMulScale;
    }
    if (switches_.IsOn(kMatMulReshape) && TakeView(reader, made, product)) return kMatMulReshape;
    if (switches_.IsOn(kMatMulBiasAdd) && TakeBias(reader, made, product)) return kMatMulBiasAdd;
    if (switches_.IsOn(kMatMulAdd) && TakeResidual(last, reader, made, product)) return kMatMulAdd;
    if (switches_.IsOn(kMatMulActivation) && TakeActivation(reader, made, product)) {
      return kMatMulActivation;
    }
    return std::nullopt;
  }

  // Counts what `reader` does to a product where it is of a kind that could be fused.
  void Decline(NodeId reader, ValueId made) {
    const Node& node = graph_[reader];
    const ValueId other = OtherInput(node, made);
    const bool constant = other.valid() && graph_[other].constant.valid();
    if ((Is(node, "Mul") || Is(node, "Div")) && constant) {
      counts_.Declined(kMatMulScale);
    } else if (Is(node, "Add") && other.valid()) {
      const Shape* const shape = ShapeOf(graph_, other);
      const bool vector = shape != nullptr && shape->size() == 1;
      counts_.Declined(constant || vector ? kMatMulBiasAdd : kMatMulAdd);
    } else if (IsView(node) && node.inputs[0] == made) {
      const Shape* const to = ShapeOf(graph_, node.outputs[0]);
      const Shape* const from = ShapeOf(graph_, made);
      const bool keeps_columns = to != nullptr && to->size() >= 2 && to->back() == from->back();
      if (keeps_columns) counts_.Declined(kMatMulReshape);
    } else if (ActivationAttributes(graph_, node) && node.inputs[0] == made) {
      counts_.Declined(kMatMulActivation);
    }
  }

  static bool IsView(const Node& node) {
    return Is(node, "Reshape") || Is(node, "Squeeze") || Is(node, "Unsqueeze");
  }

  bool TakeScale(NodeId reader, ValueId made, Product& product) {
    if (product.bias.valid() || product.residual.valid()) return false;
    return WithoutScale(reader, graph_[reader].outputs[0], product.alpha) == made;
  }

  // A constant factor per column goes into constant weights and bias.
  bool TakeFactors(NodeId reader, ValueId made, Product& product) {
    if (!Is(graph_[reader], "Mul") || product.residual.valid() || product.sum_steps != 0) {
      return false;
    }
    const ValueId other = OtherInput(graph_[reader], made);
    if (!other.valid() || !graph_[product.b].constant.valid() ||
        ShapeOf(graph_, product.b)->size() != 2 ||
        !SameType(graph_, graph_[reader].outputs[0], made)) {
      return false;
    }
    const ValueId vector = AsBias(other, made, reader);
    if (!vector.valid()) return false;
    const Numbers factors = NumbersOf(graph_, vector, kMostColumns);
    std::optional<graph::ConstantTensor> bias;
    if (product.bias.valid()) {
      Numbers numbers = NumbersOf(graph_, product.bias, kMostColumns);
      if (numbers.elements.size() != factors.elements.size()) return false;
      for (size_t i = 0; i < numbers.elements.size(); ++i) {
        numbers.elements[i] *= factors.elements[i];
      }
      numbers.assumed |= factors.assumed;
      bias = Float32Vector(numbers);
      if (!bias) return false;
    }
    const graph::ConstantTensor& weights = graph_[graph_[product.b].constant];
    auto scaled = product.swap_b ? ScaledSlices(weights, factors) : ScaledColumns(weights, factors);
    if (factors.elements.empty() || !scaled) return false;
    product.b = rewriter_.AddConstant(reader, StrCat(graph_[product.b].name, "/scaled"),
                                      *std::move(scaled));
    if (bias) {
      product.bias = rewriter_.AddConstant(reader, StrCat(graph_[product.bias].name, "/scaled"),
                                           *std::move(bias));
    }
    return true;
  }

  // Reshape(A x B) as Reshape(A) x B.
  bool TakeView(NodeId reader, ValueId made, Product& product) {
    const Node& node = graph_[reader];
    const Shape* to = ShapeOf(graph_, node.outputs[0]);
    const Shape& from = *ShapeOf(graph_, made);
    if (!IsView(node) || product.residual.valid() || product.swap_a || to == nullptr ||
        to->size() < 2 || to->back() != from.back() || ShapeOf(graph_, product.b)->size() != 2) {
      return false;
    }
    const Shape& a = *ShapeOf(graph_, product.a);
    Shape viewed(to->begin(), to->end() - 1);
    viewed.push_back(a.back());
    const std::optional<std::vector<int64_t>> target = ReshapeTarget(a, viewed);
    if (!target) return false;
    const ValueId shape = rewriter_.AddInt64s(reader, StrCat(graph_[made].name, "/shape"), *target);
    const ValueId source = product.a;
    product.a = rewriter_.InsertBefore(reader, NewNode(graph_[reader], "Reshape", {source, shape}));
    graph_[product.a].type = graph::ValueType::Tensor(graph::DataType::kFloat32, viewed);
    return true;
  }

  // What is added to the product without changing its shape; not valid where `reader` adds nothing.
  ValueId AddendOf(NodeId reader, ValueId made) const {
    if (!Is(graph_[reader], "Add") || !SameType(graph_, graph_[reader].outputs[0], made)) return {};
    return OtherInput(graph_[reader], made);
  }

  bool TakeBias(NodeId reader, ValueId made, Product& product) {
    const ValueId other = AddendOf(reader, made);
    if (!other.valid() || product.bias.valid() || product.residual.valid()) return false;
    product.bias = AsBias(other, made, reader);
    return product.bias.valid();
  }

  bool TakeResidual(NodeId last, NodeId reader, ValueId made, Product& product) {
    const ValueId other = AddendOf(reader, made);
    if (!other.valid()) return false;
    if (product.sum_steps != 0) return false;  // it would come before the products
    if (product.residual.valid() || !SameType(graph_, other, made) || !MayWaitFor(other, last)) {
      return false;
    }
    product.residual = other;
    return true;
  }

  // Of two products that are added, the later one takes the sum: the earlier need not wait.
  bool MayWaitFor(ValueId other, NodeId last) const {
    const NodeId maker = graph_[other].producer;
    if (!maker.valid() || graph_[maker].home != graph_[last].home) return true;
    const bool product = Is(graph_[maker], "MatMul") || Is(graph_[maker], "Gemm");
    return !product || !rewriter_.HasOneReader(other) || maker.index() >= place_.size() ||
           place_[maker.index()] < place_[last.index()];
  }

  bool TakeActivation(NodeId reader, ValueId made, Product& product) {
    const std::optional<Attributes> activation = ActivationAttributes(graph_, graph_[reader]);
    if (!activation || graph_[reader].inputs[0] != made) return false;
    product.activation = *activation;
    return true;
  }

  // `last` is the whole product from now on; the nodes from `first` up to it are gone.
  void Write(NodeId last, NodeId first, const Product& product) {
    std::vector<ValueId> inputs = {product.a, product.b, product.bias, product.residual};
    while (!inputs.back().valid()) inputs.pop_back();
    std::vector<ValueId> old = graph_[last].inputs;
    for (const ValueId input : graph_[first].inputs) old.push_back(input);
    Node& node = graph_[last];
    node.domain = "plimsoll";
    node.op = "FusedMatMul";
    node.version = 1;
    node.attributes = product.activation;
    node.attributes.Set("transA", int64_t{product.swap_a});
    node.attributes.Set("transB", int64_t{product.swap_b});
    node.attributes.Set("alpha", product.alpha);
    if (product.sum_steps != 0) node.attributes.Set("sum_steps", product.sum_steps);
    if (product.bias_last) node.attributes.Set("bias_last", int64_t{1});
    rewriter_.SetInputs(last, std::move(inputs));
    for (const ValueId input : old) {
      if (input.valid()) rewriter_.DropUnused(graph_[input].producer);
    }
  }

  Graph& graph_;
  const FusionSwitches& switches_;
  Rewriter rewriter_;
  std::vector<size_t> place_;  // by node: where it stood in its body
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseProducts(Graph& graph, const FusionSwitches& switches) {
  return ProductFusing(graph, switches).Run();
}

}  // namespace plimsoll::compile
