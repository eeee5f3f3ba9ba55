#include "kernels/catalogue.h"

#include <algorithm>
#include <array>

#include "graph/registered_operators.h"

namespace plimsoll::kernels {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueType;

// One output element from the element at the same place of each input: any input as large as the
// output will do.
constexpr std::array<std::string_view, 84> kElementwise = {"Abs",
                                                           "Acos",
                                                           "Acosh",
                                                           "Add",
                                                           "And",
                                                           "Asin",
                                                           "Asinh",
                                                           "Atan",
                                                           "Atanh",
                                                           "BitCast",
                                                           "BitShift",
                                                           "BitwiseAnd",
                                                           "BitwiseNot",
                                                           "BitwiseOr",
                                                           "BitwiseXor",
                                                           "Cast",
                                                           "CastLike",
                                                           "Ceil",
                                                           "Celu",
                                                           "Clip",
                                                           "Cos",
                                                           "Cosh",
                                                           "DequantizeLinear",
                                                           "Div",
                                                           "Dropout",
                                                           "Elu",
                                                           "Equal",
                                                           "Erf",
                                                           "Exp",
                                                           "Floor",
                                                           "Gelu",
                                                           "Greater",
                                                           "GreaterOrEqual",
                                                           "HardSigmoid",
                                                           "HardSwish",
                                                           "IsInf",
                                                           "IsNaN",
                                                           "LeakyRelu",
                                                           "Less",
                                                           "LessOrEqual",
                                                           "Log",
                                                           "Max",
                                                           "Mean",
                                                           "Min",
                                                           "Mish",
                                                           "Mod",
                                                           "Mul",
                                                           "Neg",
                                                           "Not",
                                                           "Or",
                                                           "PRelu",
                                                           "Pow",
                                                           "QuantizeLinear",
                                                           "Reciprocal",
                                                           "Relu",
                                                           "Round",
                                                           "Selu",
                                                           "Shrink",
                                                           "Sigmoid",
                                                           "Sign",
                                                           "Sin",
                                                           "Sinh",
                                                           "Softplus",
                                                           "Softsign",
                                                           "Sqrt",
                                                           "Sub",
                                                           "Sum",
                                                           "Swish",
                                                           "Tan",
                                                           "Tanh",
                                                           "ThresholdedRelu",
                                                           "Where",
                                                           "Xor",
                                                           "Bernoulli",
                                                           "Binarizer",
                                                           "Trilu",
                                                           "Normalizer",
                                                           "Scaler",
                                                           "Imputer",
                                                           "Identity",
                                                           "Reshape",
                                                           "Squeeze",
                                                           "Unsqueeze",
                                                           "Flatten"};

// Row by row or channel by channel over input 0, each row read whole before it is written; or input
// 0 with some of its elements replaced.
constexpr std::array<std::string_view, 17> kOverFirstInput = {"Softmax",
                                                              "LogSoftmax",
                                                              "Hardmax",
                                                              "LayerNormalization",
                                                              "RMSNormalization",
                                                              "BatchNormalization",
                                                              "InstanceNormalization",
                                                              "GroupNormalization",
                                                              "LpNormalization",
                                                              "MeanVarianceNormalization",
                                                              "CumSum",
                                                              "CumProd",
                                                              "ScatterElements",
                                                              "ScatterND",
                                                              "Scatter",
                                                              "TensorScatter",
                                                              "RotaryEmbedding"};

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool SameBytes(const ValueType& a, const ValueType& b) {
  return a.is_tensor() && b.is_tensor() && a.shape && b.shape && *a.shape == *b.shape &&
         graph::Bits(a.data_type) == graph::Bits(b.data_type) && graph::Bits(a.data_type) > 0;
}

// Fused convolutions and products add their results onto a residual that lies where they go. What
// they still read of other inputs by then must not lie there too.
std::vector<InPlacePair> ResidualPairs(const Graph& graph, const Node& node) {
  constexpr size_t kResidual = 3;
  if (node.op != "FusedConv" && node.op != "FusedMatMul") return {};
  if (node.inputs.size() <= kResidual || !node.inputs[kResidual].valid()) return {};
  const graph::ValueId residual = node.inputs[kResidual];
  const bool read_otherwise = std::find(node.inputs.begin(), node.inputs.begin() + kResidual,
                                        residual) != node.inputs.begin() + kResidual;
  if (read_otherwise || !SameBytes(graph[node.outputs[0]].type, graph[residual].type)) return {};
  return {{0, static_cast<int>(kResidual)}};
}

std::vector<InPlacePair> RegisteredPairs(const Graph& graph, const Node& node) {
  const graph::RegisteredOperator* found =
      graph::FindRegisteredOperator(node.domain, node.op, node.version);
  std::vector<InPlacePair> pairs;
  if (found == nullptr) return pairs;
  for (const auto& [output, input] : found->in_place) {
    const auto made = static_cast<size_t>(output);
    const auto read = static_cast<size_t>(input);
    const bool there = made < node.outputs.size() && node.outputs[made].valid() &&
                       read < node.inputs.size() && node.inputs[read].valid();
    if (there && SameBytes(graph[node.outputs[made]].type, graph[node.inputs[read]].type)) {
      pairs.push_back({output, input});
    }
  }
  return pairs;
}

}  // namespace

std::vector<InPlacePair> InPlacePairs(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.domain == "plimsoll" && !node.outputs.empty() && node.outputs[0].valid()) {
    return ResidualPairs(graph, node);
  }
  const bool known_domain = node.domain.empty() || node.domain == "ai.onnx.ml";
  const bool elementwise = known_domain && Contains(kElementwise, node.op);
  if (!elementwise && !(known_domain && Contains(kOverFirstInput, node.op))) {
    return RegisteredPairs(graph, node);
  }
  if (node.outputs.empty() || !node.outputs[0].valid()) return {};
  const size_t candidates =
      elementwise ? node.inputs.size() : std::min<size_t>(1, node.inputs.size());
  const ValueType& made = graph[node.outputs[0]].type;
  std::vector<InPlacePair> pairs;
  for (size_t i = 0; i < candidates; ++i) {
    if (node.inputs[i].valid() && SameBytes(made, graph[node.inputs[i]].type)) {
      pairs.push_back({0, static_cast<int>(i)});
    }
  }
  return pairs;
}

bool IsDeterministic(const Node& node) {
  constexpr std::array<std::string_view, 6> kRandom = {"RandomNormal",  "RandomNormalLike",
                                                       "RandomUniform", "RandomUniformLike",
                                                       "Multinomial",   "Bernoulli"};
  if (const auto* found = graph::FindRegisteredOperator(node.domain, node.op, node.version)) {
    return found->deterministic;
  }
  if (!node.domain.empty()) return true;
  if (node.op == "Dropout") return node.outputs.size() < 2 && node.inputs.size() < 3;
  return !Contains(kRandom, node.op);
}

}  // namespace plimsoll::kernels
