#include "compile/passes/fuse/fuse_quantized.h"

#include <algorithm>
#include <cmath>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

using enum FusionPattern;

constexpr int kQLinearSince = 10;
constexpr int64_t kMostSlices = int64_t{1} << 20;  // with a scale each

// Bytes with their scale and zero point.
struct QuantizedValue {
  ValueId bytes, scale, zero;
  int64_t axis = 1;  // of scales that are one a slice

  bool valid() const { return bytes.valid(); }
};

bool IsByteType(DataType type) { return type == DataType::kInt8 || type == DataType::kUint8; }

// Operators that move or pick elements of their first input and leave them as they are.
bool MovesElements(const Node& node) {
  constexpr std::string_view kMovers[] = {"MaxPool",  "Reshape",   "Transpose", "Flatten",
                                          "Squeeze",  "Unsqueeze", "Gather",    "Slice",
                                          "Identity", "Expand"};
  return std::ranges::any_of(kMovers, [&](std::string_view op) { return Is(node, op); }) &&
         node.outputs.size() == 1;
}

class QuantizedFusing {
 public:
  QuantizedFusing(Graph& graph, const FusionSwitches& switches)
      : graph_(graph), switches_(switches), rewriter_(graph) {}

  FusionCounts Run() {
    if (!switches_.IsOn(kQuantized)) return counts_;
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        if (Is(graph_[id], "QuantizeLinear")) FuseAround(id);
      }
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        if (Is(graph_[id], "MatMul")) FuseToFloat(id);
        if (Is(graph_[id], "MatMulInteger")) FuseScaled(id);
      }
    }
    return counts_;
  }

 private:
  DataType TypeOf(ValueId value) const { return graph_[value].type.data_type; }

  bool IsOne(ValueId value) const {
    const graph::Shape* shape = ShapeOf(graph_, value);
    return shape != nullptr && ElementCount(*shape) == graph::Dim(1);
  }

  // The bytes behind a value that DequantizeLinear makes of them.
  QuantizedValue BytesOf(ValueId value, SubgraphId home) const {
    const NodeId id = MadeBy(graph_, value, "DequantizeLinear", home);
    if (!id.valid()) return {};
    const Node& node = graph_[id];
    const bool usual = node.inputs.size() == 3 && node.inputs[2].valid() &&
                       node.attributes.Int("block_size", 0) == 0 && IsFloat32(graph_, value);
    if (!usual) return {};
    return {node.inputs[0], node.inputs[1], node.inputs[2], node.attributes.Int("axis", 1)};
  }

  // The same, with one scale for the tensor and of 8 bits.
  QuantizedValue PlainBytesOf(ValueId value, SubgraphId home) const {
    const QuantizedValue found = BytesOf(value, home);
    const bool plain = found.valid() && IsByteType(TypeOf(found.bytes)) && IsOne(found.scale);
    return plain ? found : QuantizedValue();
  }

  // Whether signed bytes behind a value have several readers. Of such ONNX Runtime makes floats and
  // rounds what is worked out from these, where otherwise its operators over bytes round: products
  // then give the nearest bytes, sums take the steps of floats, functions and means of one tensor
  // stay as they are, and last bits fall as they do there.
  bool SharesSignedBytes(ValueId value, const QuantizedValue& found) const {
    return TypeOf(found.bytes) == DataType::kInt8 &&
           (rewriter_.readers(value).size() > 1 || rewriter_.readers(found.bytes).size() > 1);
  }
  void AskForNearestBytes(const Node& product, const QuantizedValue& x,
                          graph::Attributes& attributes) const {
    if (SharesSignedBytes(product.inputs[0], x)) attributes.Set("nearest_bytes", int64_t{1});
  }

  // Weights of 8 bits with one scale, or one for each slice of `axis`, which may count from the
  // end.
  QuantizedValue WeightsOf(ValueId value, SubgraphId home, int64_t axis) const {
    const QuantizedValue found = BytesOf(value, home);
    if (!found.valid() || !IsByteType(TypeOf(found.bytes))) return {};
    if (IsOne(found.scale)) return found;
    const graph::Shape* shape = ShapeOf(graph_, value);
    if (shape == nullptr) return {};
    const auto rank = static_cast<int64_t>(shape->size());
    const bool fits = (found.axis + rank) % rank == (axis + rank) % rank;
    return fits ? found : QuantizedValue();
  }

  // Whether integers of this scale can be added to sums of products of `x` and `w`: it is the
  // product of their scales, one for all or one a slice.
  bool ScalesSums(ValueId scale, const QuantizedValue& x, const QuantizedValue& w) const {
    const std::optional<double> of_x = ScalarOf(graph_, x.scale);
    const std::vector<double> of_w = ElementsOf(graph_, w.scale, kMostSlices);
    const std::vector<double> of_sums = ElementsOf(graph_, scale, kMostSlices);
    if (!of_x || of_w.empty() || of_sums.empty()) return false;
    for (size_t i = 0; i < std::max(of_w.size(), of_sums.size()); ++i) {
      const double expected = *of_x * of_w[i % of_w.size()];
      if (!NearlyEqual(of_sums[i % of_sums.size()], expected)) return false;
    }
    return true;
  }

  bool IsZero(ValueId value) const {
    const std::vector<double> elements = ElementsOf(graph_, value, kMostSlices);
    return !elements.empty() &&
           std::ranges::all_of(elements, [](double element) { return element == 0; });
  }

  // Integers for the sums of a product, which DequantizeLinear turns into a bias.
  ValueId IntegerBiasOf(ValueId value, const QuantizedValue& x, const QuantizedValue& w,
                        SubgraphId home) const {
    const NodeId id = MadeBy(graph_, value, "DequantizeLinear", home);
    if (!id.valid() || TypeOf(graph_[id].inputs[0]) != DataType::kInt32) return {};
    const Node& node = graph_[id];
    const bool shifted =
        node.inputs.size() > 2 && node.inputs[2].valid() && !IsZero(node.inputs[2]);
    return !shifted && ScalesSums(node.inputs[1], x, w) ? node.inputs[0] : ValueId();
  }

  // What a QuantizeLinear makes of floats: the lowest and the highest one that it tells apart.
  std::optional<std::pair<double, double>> RangeOf(const Node& quantize) const {
    const std::optional<double> scale = ScalarOf(graph_, quantize.inputs[1]);
    const std::optional<double> zero = ScalarOf(graph_, quantize.inputs[2]);
    if (!scale || !zero || !IsByteType(TypeOf(quantize.outputs[0]))) return std::nullopt;
    const double low = TypeOf(quantize.outputs[0]) == DataType::kInt8 ? -128 : 0;
    return std::pair((low - *zero) * *scale, (low + 255 - *zero) * *scale);
  }

  // The input of an activation that keeps to what the bytes can say anyway; not valid for others.
  ValueId WithoutBounds(ValueId value, const Node& quantize) const {
    const auto range = RangeOf(quantize);
    if (!range || !rewriter_.HasOneReader(value)) return {};
    const double half = (range->second - range->first) / 255 / 2;
    if (const NodeId relu = MadeBy(graph_, value, "Relu", quantize.home); relu.valid()) {
      return range->first >= -half * 1e-3 ? graph_[relu].inputs[0] : ValueId();
    }
    const NodeId clip = MadeBy(graph_, value, "Clip", quantize.home);
    if (!clip.valid() || graph_[clip].inputs.size() != 3) return {};
    const std::optional<double> low = ScalarOf(graph_, graph_[clip].inputs[1]);
    const std::optional<double> high = ScalarOf(graph_, graph_[clip].inputs[2]);
    const bool idle = low && high && *low <= range->first + half && *high >= range->second - half;
    return idle ? graph_[clip].inputs[0] : ValueId();
  }

  void FuseAround(NodeId id) {
    const Node& quantize = graph_[id];
    const bool usual = quantize.inputs.size() == 3 && quantize.inputs[2].valid() &&
                       IsOne(quantize.inputs[1]) && IsByteType(TypeOf(quantize.outputs[0])) &&
                       IsFloat32(graph_, quantize.inputs[0]);
    if (!usual) return;
    ValueId result = quantize.inputs[0];
    if (const ValueId inner = WithoutBounds(result, quantize); inner.valid()) result = inner;
    const NodeId made_by = graph_[result].producer;
    if (!made_by.valid() || !MayRewrite(graph_[made_by]) || graph_[made_by].home != quantize.home ||
        !graph_[made_by].domain.empty()) {
      return;
    }
    const Node& node = graph_[made_by];
    if (!PlainBytesOf(node.inputs.empty() ? ValueId() : node.inputs[0], node.home).valid()) return;
    if (!rewriter_.HasOneReader(result)) return counts_.Declined(kQuantized);
    if (Is(node, "Conv")) return FuseConv(id, node);
    if (Is(node, "MatMul")) return FuseMatMul(id, node);
    if (Is(node, "Gemm")) return FuseGemm(id, node);
    if (Is(node, "Add")) return FuseBinary(id, node, "QLinearAdd");
    if (Is(node, "Mul")) return FuseBinary(id, node, "QLinearMul");
    if (Is(node, "Concat")) return FuseConcat(id, node);
    if (Is(node, "Sigmoid")) return FuseUnary(id, node, "QLinearSigmoid");
    if (Is(node, "LeakyRelu")) return FuseUnary(id, node, "QLinearLeakyRelu");
    if (Is(node, "GlobalAveragePool")) return FuseUnary(id, node, "QLinearGlobalAveragePool");
    if (Is(node, "AveragePool")) return FuseAveragePool(id, node);
    if (Is(node, "Softmax")) return FuseSoftmax(id, node);
    if (MovesElements(node)) FuseMove(id, node);
  }

  // The node at `id` becomes this one.
  void Become(NodeId id, std::string_view domain, std::string op, int version,
              std::vector<ValueId> inputs, graph::Attributes attributes) {
    counts_.Took(kQuantized);
    const std::vector<ValueId> old = graph_[id].inputs;
    Node& node = graph_[id];
    node.domain = domain;
    node.op = std::move(op);
    node.version = version;
    node.attributes = std::move(attributes);
    rewriter_.SetInputs(id, std::move(inputs));
    for (const ValueId input : old) {
      if (input.valid() && graph_[input].producer.valid()) {
        rewriter_.DropUnused(graph_[input].producer);
      }
    }
  }
  void BecomeContributed(NodeId id, std::string op, std::vector<ValueId> inputs,
                         graph::Attributes attributes = {}) {
    Become(id, graph::kContributedDomain, std::move(op), 1, std::move(inputs),
           std::move(attributes));
  }

  // The node takes what is behind it: a copy, since ids of nodes stay and attributes move.
  void FuseConv(NodeId id, const Node& conv) {
    const QuantizedValue x = PlainBytesOf(conv.inputs[0], conv.home);
    const QuantizedValue w = WeightsOf(conv.inputs[1], conv.home, 0);
    if (!w.valid()) return counts_.Declined(kQuantized);
    const Node& quantize = graph_[id];
    std::vector<ValueId> inputs{
        x.bytes, x.scale, x.zero, w.bytes, w.scale, w.zero, quantize.inputs[1], quantize.inputs[2]};
    if (conv.inputs.size() > 2 && conv.inputs[2].valid()) {
      const ValueId bias = IntegerBiasOf(conv.inputs[2], x, w, conv.home);
      if (!bias.valid()) return counts_.Declined(kQuantized);
      inputs.push_back(bias);
    }
    graph::Attributes attributes = conv.attributes;
    AskForNearestBytes(conv, x, attributes);
    Become(id, "", "QLinearConv", kQLinearSince, std::move(inputs), std::move(attributes));
  }

  void FuseMatMul(NodeId id, const Node& product) {
    const QuantizedValue a = PlainBytesOf(product.inputs[0], product.home);
    const QuantizedValue b = WeightsOf(product.inputs[1], product.home, -1);
    if (!b.valid()) return counts_.Declined(kQuantized);
    graph::Attributes attributes;
    AskForNearestBytes(product, a, attributes);
    const Node& quantize = graph_[id];
    Become(id, "", "QLinearMatMul", kQLinearSince,
           {a.bytes, a.scale, a.zero, b.bytes, b.scale, b.zero, quantize.inputs[1],
            quantize.inputs[2]},
           std::move(attributes));
  }

  void FuseGemm(NodeId id, const Node& gemm) {
    const bool transposed = gemm.attributes.Int("transB", 0) != 0;
    const QuantizedValue a = PlainBytesOf(gemm.inputs[0], gemm.home);
    const QuantizedValue b = WeightsOf(gemm.inputs[1], gemm.home, transposed ? 0 : 1);
    const bool biased = gemm.inputs.size() > 2 && gemm.inputs[2].valid();
    const bool scaled =
        gemm.attributes.Float("alpha", 1) != 1 || (biased && gemm.attributes.Float("beta", 1) != 1);
    const ValueId bias =
        biased && b.valid() ? IntegerBiasOf(gemm.inputs[2], a, b, gemm.home) : ValueId();
    if (!b.valid() || bias.valid() != biased || scaled) return counts_.Declined(kQuantized);
    graph::Attributes attributes;
    attributes.Set("transA", gemm.attributes.Int("transA", 0));
    attributes.Set("transB", gemm.attributes.Int("transB", 0));
    AskForNearestBytes(gemm, a, attributes);
    const Node& quantize = graph_[id];
    BecomeContributed(id, "QGemm",
                      {a.bytes, a.scale, a.zero, b.bytes, b.scale, b.zero, bias, quantize.inputs[1],
                       quantize.inputs[2]},
                      std::move(attributes));
  }

  // Whether both are bytes of the type that the result has.
  bool SameBytes(NodeId id, const QuantizedValue& a) const {
    return a.valid() && TypeOf(a.bytes) == TypeOf(graph_[id].outputs[0]);
  }

  void FuseBinary(NodeId id, const Node& node, std::string op) {
    const QuantizedValue a = PlainBytesOf(node.inputs[0], node.home);
    const QuantizedValue b = PlainBytesOf(node.inputs[1], node.home);
    if (!SameBytes(id, a) || !SameBytes(id, b)) return counts_.Declined(kQuantized);
    graph::Attributes attributes;
    const auto works_as_floats = [&](ValueId value, const QuantizedValue& found) {
      return SharesSignedBytes(value, found) ||
             (TypeOf(found.bytes) == DataType::kInt8 && graph_[found.bytes].constant.valid());
    };
    if (works_as_floats(node.inputs[0], a) || works_as_floats(node.inputs[1], b)) {
      attributes.Set("float_steps", int64_t{1});
    }
    const Node& quantize = graph_[id];
    BecomeContributed(id, std::move(op),
                      {a.bytes, a.scale, a.zero, b.bytes, b.scale, b.zero, quantize.inputs[1],
                       quantize.inputs[2]},
                      std::move(attributes));
  }

  void FuseConcat(NodeId id, const Node& node) {
    const Node& quantize = graph_[id];
    std::vector<ValueId> inputs{quantize.inputs[1], quantize.inputs[2]};
    for (const ValueId input : node.inputs) {
      const QuantizedValue part = PlainBytesOf(input, node.home);
      if (!SameBytes(id, part)) return counts_.Declined(kQuantized);
      inputs.insert(inputs.end(), {part.bytes, part.scale, part.zero});
    }
    BecomeContributed(id, "QLinearConcat", std::move(inputs), node.attributes);
  }

  void FuseUnary(NodeId id, const Node& node, std::string op) {
    FuseUnary(id, node, std::move(op), node.attributes);
  }
  void FuseUnary(NodeId id, const Node& node, std::string op, graph::Attributes attributes) {
    const QuantizedValue x = PlainBytesOf(node.inputs[0], node.home);
    if (!SameBytes(id, x) || SharesSignedBytes(node.inputs[0], x)) {
      return counts_.Declined(kQuantized);
    }
    const Node& quantize = graph_[id];
    BecomeContributed(id, std::move(op),
                      {x.bytes, x.scale, x.zero, quantize.inputs[1], quantize.inputs[2]},
                      std::move(attributes));
  }

  void FuseAveragePool(NodeId id, const Node& node) {
    const std::vector<int64_t>* dilations = node.attributes.Ints("dilations");
    const bool dense =
        dilations == nullptr || std::ranges::all_of(*dilations, [](int64_t d) { return d == 1; });
    if (!dense) return counts_.Declined(kQuantized);
    graph::Attributes attributes = node.attributes;
    // ONNX Runtime makes signed bytes unsigned first.
    attributes.Set("as_unsigned", int64_t{TypeOf(graph_[id].outputs[0]) == DataType::kInt8});
    FuseUnary(id, node, "QLinearAveragePool", std::move(attributes));
  }

  void FuseSoftmax(NodeId id, const Node& node) {
    constexpr int kAlongOneAxis = 13;
    graph::Attributes attributes;
    attributes.Set("axis", node.attributes.Int("axis", node.version < kAlongOneAxis ? 1 : -1));
    attributes.Set("opset", int64_t{node.version});
    FuseUnary(id, node, "QLinearSoftmax", std::move(attributes));
  }

  bool SameNumber(ValueId a, ValueId b) const {
    if (a == b) return true;
    const std::optional<double> first = ScalarOf(graph_, a);
    return first && first == ScalarOf(graph_, b);
  }

  // Bytes of one scale and zero point move as they are.
  void FuseMove(NodeId id, const Node& node) {
    const QuantizedValue x = PlainBytesOf(node.inputs[0], node.home);
    const Node& quantize = graph_[id];
    if (!SameBytes(id, x) || !SameNumber(x.scale, quantize.inputs[1]) ||
        !SameNumber(x.zero, quantize.inputs[2])) {
      return counts_.Declined(kQuantized);
    }
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = x.bytes;
    Become(id, "", node.op, node.version, std::move(inputs), node.attributes);
  }

  // The constant vector that is added to a product's columns, and the node that adds it.
  struct ColumnBias {
    NodeId add;
    ValueId bias;
  };
  ColumnBias BiasBehind(ValueId product, ValueId weights) const {
    if (!rewriter_.HasOneReader(product)) return {};
    const NodeId add = rewriter_.readers(product)[0];
    const Node& node = graph_[add];
    if (!Is(node, "Add") || !MayRewrite(node) || node.home != graph_[product].home) return {};
    const ValueId bias = node.inputs[0] == product ? node.inputs[1] : node.inputs[0];
    const graph::Shape* shape = ShapeOf(graph_, bias);
    const std::optional<int64_t> columns = DimOf(graph_, weights, -1);
    const bool fits = bias != product && shape != nullptr && shape->size() == 1 && columns &&
                      shape->front() == graph::Dim(*columns) && IsFloat32(graph_, bias) &&
                      graph_[bias].constant.valid() && SameShape(graph_, product, node.outputs[0]);
    return fits ? ColumnBias{add, bias} : ColumnBias{};
  }

  // The node `id`, or the one that adds a bias behind it, becomes a product of bytes.
  void BecomeProduct(NodeId id, const QuantizedValue& a, const QuantizedValue& b) {
    const ColumnBias behind = BiasBehind(graph_[id].outputs[0], b.bytes);
    BecomeContributed(behind.add.valid() ? behind.add : id, "MatMulIntegerToFloat",
                      {a.bytes, b.bytes, a.scale, b.scale, a.zero, b.zero, behind.bias});
  }

  void FuseToFloat(NodeId id) {
    const Node& product = graph_[id];
    const QuantizedValue a = PlainBytesOf(product.inputs[0], product.home);
    const QuantizedValue b = WeightsOf(product.inputs[1], product.home, -1);
    if (a.valid() && b.valid()) BecomeProduct(id, a, b);
  }

  NodeId OnlyReader(ValueId value, std::string_view op, SubgraphId home) const {
    if (!rewriter_.HasOneReader(value)) return {};
    const NodeId reader = rewriter_.readers(value)[0];
    const Node& node = graph_[reader];
    return Is(node, op) && MayRewrite(node) && node.home == home ? reader : NodeId();
  }

  // MatMulInteger, Cast, and a Mul with the product of both scales: as dynamic quantisation writes.
  void FuseScaled(NodeId id) {
    const Node& product = graph_[id];
    const NodeId cast = OnlyReader(product.outputs[0], "Cast", product.home);
    if (!cast.valid() || !IsFloat32(graph_, graph_[cast].outputs[0])) return;
    const ValueId floats = graph_[cast].outputs[0];
    const NodeId mul = OnlyReader(floats, "Mul", product.home);
    if (!mul.valid()) return;
    const Node& scaled = graph_[mul];
    const ValueId factor = scaled.inputs[0] == floats ? scaled.inputs[1] : scaled.inputs[0];
    const NodeId scales = MadeBy(graph_, factor, "Mul", product.home);
    if (!scales.valid()) return;
    const auto input = [&](size_t i) {
      return i < product.inputs.size() ? product.inputs[i] : ValueId();
    };
    const QuantizedValue a{input(0), graph_[scales].inputs[0], input(2)};
    const QuantizedValue b{input(1), graph_[scales].inputs[1], input(3)};
    const std::optional<int64_t> columns = DimOf(graph_, b.bytes, -1);
    const graph::Shape* b_scale = ShapeOf(graph_, b.scale);
    const bool by_column = columns && b_scale != nullptr && b_scale->size() == 1 &&
                           b_scale->front() == graph::Dim(*columns);
    if (!IsOne(a.scale) || !(IsOne(b.scale) || by_column) || (a.zero.valid() && !IsOne(a.zero)) ||
        !SameShape(graph_, floats, scaled.outputs[0])) {
      return counts_.Declined(kQuantized);
    }
    BecomeProduct(mul, a, b);
  }

  Graph& graph_;
  const FusionSwitches& switches_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseQuantized(Graph& graph, const FusionSwitches& switches) {
  return QuantizedFusing(graph, switches).Run();
}

}  // namespace plimsoll::compile
