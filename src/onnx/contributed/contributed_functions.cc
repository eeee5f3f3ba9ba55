#include "onnx/contributed/contributed_functions.h"

#include <algorithm>

#include "graph/operator_row.h"
#include "onnx/contributed/compositions.h"
#include "onnx/contributed/function_writer.h"
#include "onnx/opset_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using Name = FunctionWriter::Name;
using NamedAttributes = FunctionWriter::NamedAttributes;

// ---- Activations ----

Status WriteGelu(FunctionWriter& f) {
  f.Add("Gelu", {f.in(0)}, {f.out(0)});
  return {};
}

Status WriteFastGelu(FunctionWriter& f) {
  f.Add("Gelu", {f.SumOf(f.in(0), f.in(1))}, {f.out(0)}, {{"approximate", std::string("tanh")}});
  return {};
}

Status WriteQuickGelu(FunctionWriter& f) {
  f.Add("Swish", {f.in(0)}, {f.out(0)}, {{"alpha", f.given().Float("alpha", 1.702F)}});
  return {};
}

Status WriteBiasGelu(FunctionWriter& f) {
  f.Add("Gelu", {f.SumOf(f.in(0), f.in(1))}, {f.out(0)});
  return {};
}

// ---- Normalizations ----

constexpr float kLeastEpsilon = 1e-12F;

// 1 / sqrt(mean(x^2) + epsilon) over the axes from `axis` on.
void AddInverseRms(FunctionWriter& f, Name x, int64_t axis, double epsilon, Name result) {
  if (result.empty()) return;
  const Name wide = f.Make("Cast", {x}, {{"to", static_cast<int64_t>(graph::DataType::kFloat32)}});
  const Name axes =
      axis == -1 ? f.Int64s({-1})
                 : f.Make("Range", {f.Int64(axis),
                                    axis < 0 ? f.Int64(0) : f.Make("Size", {f.Make("Shape", {x})}),
                                    f.Int64(1)});
  const Name mean = f.Make("ReduceMean", {f.Make("Mul", {wide, wide}), axes});
  const Name root = f.Make("Sqrt", {f.Make("Add", {mean, f.Float32(epsilon)})});
  f.Add("Reciprocal", {root}, {result});
}

// The sum that skip operators normalize: an output where the node wants it.
Name AddSkipSum(FunctionWriter& f, Name bias) {
  const Name wanted = f.out(3);
  const Name last = wanted.empty() ? f.NewName() : wanted;
  if (bias.empty()) {
    f.Add("Add", {f.in(0), f.in(1)}, {last});
  } else {
    f.Add("Add", {f.Make("Add", {f.in(0), f.in(1)}), bias}, {last});
  }
  return last;
}

Status WriteSkipLayerNormalization(FunctionWriter& f) {
  const Name sum = AddSkipSum(f, f.in(4));
  f.Add("LayerNormalization", {sum, f.in(2), f.in(3)}, {f.out(0), f.out(1), f.out(2)},
        {{"epsilon", f.given().Float("epsilon", kLeastEpsilon)}, {"of_skip", int64_t{1}}});
  return {};
}

Status WriteSkipSimplifiedLayerNormalization(FunctionWriter& f) {
  if (f.wants(1)) return CannotWrite("there is no mean in a simplified normalization");
  const double epsilon = f.given().Float("epsilon", kLeastEpsilon);
  const Name sum = AddSkipSum(f, f.in(3));
  f.Add("RMSNormalization", {sum, f.in(2)}, {f.out(0)}, {{"epsilon", epsilon}});
  AddInverseRms(f, sum, -1, epsilon, f.out(2));
  return {};
}

Status WriteSimplifiedLayerNormalization(FunctionWriter& f) {
  const double epsilon = f.given().Float("epsilon", 1e-5F);
  const int64_t axis = f.given().Int("axis", -1);
  NamedAttributes attributes{{"epsilon", epsilon}, {"axis", axis}};
  f.PassOn(attributes, "stash_type");
  f.Add("RMSNormalization", {f.in(0), f.in(1)}, {f.out(0)}, std::move(attributes));
  AddInverseRms(f, f.in(0), axis, epsilon, f.out(1));
  return {};
}

// Of operator sets before 17, which do not have it: ONNX Runtime's fusions write it all the same.
Status WriteLayerNormalization(FunctionWriter& f) {
  NamedAttributes attributes;
  for (const std::string_view name : {"axis", "epsilon", "stash_type"}) f.PassOn(attributes, name);
  f.Add("LayerNormalization", {f.in(0), f.in(1), f.in(2)}, {f.out(0), f.out(1), f.out(2)},
        std::move(attributes));
  return {};
}

// ---- Embeddings ----

// Rows of a table, and a second one of a quantised table that turns them into floats.
using ReadRows = Name (*)(FunctionWriter& f, size_t table, Name indices);

// What both embeddings have in common: sum of three tables' rows, normalized, and the mask's
// lengths. Tables are inputs 2 to 4, gamma and beta are given.
void AddEmbedding(FunctionWriter& f, ReadRows read, Name gamma, Name beta, Name position_ids) {
  const Name ids = f.in(0);
  Name positions = position_ids;
  if (positions.empty()) {
    const Name length =
        f.Make("Squeeze", {f.Make("Shape", {ids}, {{"start", int64_t{1}}, {"end", int64_t{2}}})});
    positions = f.Make("Range", {f.Int64(0), length, f.Int64(1)});
  }
  Name sum = f.Make("Add", {read(f, 2, ids), read(f, 3, positions)});
  const Name all = f.out(2);
  if (f.has(1)) {
    const Name segments = read(f, 4, f.in(1));
    const Name both = all.empty() ? f.NewName() : all;
    f.Add("Add", {sum, segments}, {both});
    sum = both;
  } else if (!all.empty()) {
    f.Add("Identity", {sum}, {all});
  }
  f.Add("LayerNormalization", {sum, gamma, beta}, {f.out(0)},
        {{"epsilon", f.given().Float("epsilon", kLeastEpsilon)}});
  if (!f.wants(1)) return;
  if (f.has(7)) {
    f.Add("ReduceSum", {f.in(7), f.Int64s({1})}, {f.out(1)}, {{"keepdims", int64_t{0}}});
  } else {
    const Name batch = f.Make("Shape", {ids}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    const Name zeros = f.Make("ConstantOfShape", {batch});
    f.Add("CastLike", {zeros, ids}, {f.out(1)});
  }
}

Status WriteEmbedLayerNormalization(FunctionWriter& f) {
  AddEmbedding(
      f,
      [](FunctionWriter& writer, size_t table, Name indices) {
        return writer.Make("Gather", {writer.in(table), indices});
      },
      f.in(5), f.in(6), f.in(8));
  return {};
}

// Inputs 8 to 12 are the scales of inputs 2 to 6, inputs 13 to 17 their zero points.
Name Dequantized(FunctionWriter& f, size_t table, Name elements) {
  return f.Make("DequantizeLinear", {elements, f.in(table + 6), f.in(table + 11)});
}

Status WriteQEmbedLayerNormalization(FunctionWriter& f) {
  AddEmbedding(
      f,
      [](FunctionWriter& writer, size_t table, Name indices) {
        return Dequantized(writer, table, writer.Make("Gather", {writer.in(table), indices}));
      },
      Dequantized(f, 5, f.in(5)), Dequantized(f, 6, f.in(6)), {});
  return {};
}

// ---- Products and convolutions ----

Status WriteFusedMatMul(FunctionWriter& f) {
  NamedAttributes attributes;
  for (const std::string_view name : {"alpha", "transA", "transB"}) f.PassOn(attributes, name);
  f.Add("FusedMatMul", {f.in(0), f.in(1)}, {f.out(0)}, std::move(attributes), "plimsoll");
  return {};
}

// Parameters of the activation have its name in front: activation_alpha.
Status WriteFusedGemm(FunctionWriter& f) {
  NamedAttributes attributes;
  for (const std::string_view name : {"alpha", "beta", "transA", "transB"}) {
    f.PassOn(attributes, name);
  }
  const graph::Attribute* given = f.given().Find("activation");
  const std::string* activation = given == nullptr ? nullptr : std::get_if<std::string>(given);
  const graph::OperatorRow* row =
      activation == nullptr ? nullptr : graph::FindOperator("", *activation, kNewestOpset);
  if (row == nullptr || !row->facts.elementwise || row->max_inputs != 1) {
    return CannotWrite("its activation is not known");
  }
  const Name product = f.Make("Gemm", {f.in(0), f.in(1), f.in(2)}, std::move(attributes));
  NamedAttributes parameters;
  for (const std::string_view name : {"alpha", "beta", "gamma"}) {
    if (const graph::Attribute* value = f.given().Find(StrCat("activation_", name))) {
      parameters.emplace_back(name, *value);
    }
  }
  f.Add(*activation, {product}, {f.out(0)}, std::move(parameters));
  return {};
}

Status WriteFusedConv(FunctionWriter& f) {
  return AddConvolution(f, {f.in(0), f.in(1), f.in(2), f.in(3)}, f.given().Int("group", 1));
}

Status WriteDynamicQuantizeMatMul(FunctionWriter& f) {
  const Name bytes = f.NewName();
  const Name scale = f.NewName();
  const Name zero = f.NewName();
  f.Add("DynamicQuantizeLinear", {f.in(0)}, {bytes, scale, zero});
  f.Add("MatMulIntegerToFloat", {bytes, f.in(1), scale, f.in(2), zero, f.in(3), f.in(4)},
        {f.out(0)}, {}, graph::kContributedDomain);
  return {};
}

// ---- Operators that the standard has under the same name or nearly so ----

Status WriteQuantizeLinear(FunctionWriter& f) {
  NamedAttributes attributes;
  f.PassOn(attributes, "axis");
  f.Add("QuantizeLinear", {f.in(0), f.in(1), f.in(2)}, {f.out(0)}, std::move(attributes));
  return {};
}

Status WriteDequantizeLinear(FunctionWriter& f) {
  NamedAttributes attributes;
  f.PassOn(attributes, "axis");
  f.Add("DequantizeLinear", {f.in(0), f.in(1), f.in(2)}, {f.out(0)}, std::move(attributes));
  return {};
}

Status WriteGridSample(FunctionWriter& f) {
  const std::string mode = f.given().String("mode", "bilinear");
  NamedAttributes attributes{{"mode", mode == "bilinear"  ? std::string("linear")
                                      : mode == "bicubic" ? std::string("cubic")
                                                          : mode}};
  f.PassOn(attributes, "padding_mode");
  f.PassOn(attributes, "align_corners");
  f.Add("GridSample", {f.in(0), f.in(1)}, {f.out(0)}, std::move(attributes));
  return {};
}

Status WriteUnique(FunctionWriter& f) {
  f.Add("Unique", {f.in(0)}, {f.out(0), {}, f.out(1), f.out(2)}, {{"sorted", int64_t{0}}});
  return {};
}

struct Composition {
  std::string_view domain;
  std::string_view op;
  size_t min_inputs;
  size_t max_inputs;
  size_t max_outputs;
  Status (*write)(FunctionWriter& f);
  int until = graph::kNewest;  // last operator set whose operator of that name this is
};

constexpr std::string_view kMicrosoft = graph::kContributedDomain;
constexpr int kLastExperimental = 9;

constexpr Composition kCompositions[] = {
    {kMicrosoft, "Gelu", 1, 1, 1, WriteGelu},
    {kMicrosoft, "FastGelu", 1, 2, 1, WriteFastGelu},
    {kMicrosoft, "QuickGelu", 1, 1, 1, WriteQuickGelu},
    {kMicrosoft, "BiasGelu", 2, 2, 1, WriteBiasGelu},
    {kMicrosoft, "SkipLayerNormalization", 3, 5, 4, WriteSkipLayerNormalization},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", 3, 4, 4,
     WriteSkipSimplifiedLayerNormalization},
    {"", "SimplifiedLayerNormalization", 2, 2, 2, WriteSimplifiedLayerNormalization},
    {"", "LayerNormalization", 2, 3, 3, WriteLayerNormalization, 16},
    {kMicrosoft, "SimplifiedLayerNormalization", 2, 2, 2, WriteSimplifiedLayerNormalization},
    {kMicrosoft, "EmbedLayerNormalization", 7, 9, 3, WriteEmbedLayerNormalization},
    {kMicrosoft, "QEmbedLayerNormalization", 18, 18, 2, WriteQEmbedLayerNormalization},
    {kMicrosoft, "FusedMatMul", 2, 2, 1, WriteFusedMatMul},
    {kMicrosoft, "FusedGemm", 2, 3, 1, WriteFusedGemm},
    {kMicrosoft, "FusedConv", 2, 4, 1, WriteFusedConv},
    {kMicrosoft, "DynamicQuantizeMatMul", 3, 5, 1, WriteDynamicQuantizeMatMul},
    {kMicrosoft, "QLinearConv", 8, 9, 1, WriteQLinearConv},
    {kMicrosoft, "NhwcMaxPool", 1, 1, 1, WriteNhwcMaxPool},
    {kMicrosoft, "QLinearAveragePool", 4, 5, 1, WriteQLinearAveragePool},
    {kMicrosoft, "Attention", 2, 7, 2, WriteAttention},
    {kMicrosoft, "QAttention", 5, 9, 2, WriteQAttention},
    {kMicrosoft, "MultiHeadAttention", 1, 10, 4, WriteMultiHeadAttention},
    {kMicrosoft, "QuantizeLinear", 2, 3, 1, WriteQuantizeLinear},
    {kMicrosoft, "DequantizeLinear", 2, 3, 1, WriteDequantizeLinear},
    {kMicrosoft, "CDist", 2, 2, 1, WriteCDist},
    {kMicrosoft, "ExpandDims", 2, 2, 1, WriteExpandDims},
    {kMicrosoft, "GatherND", 2, 2, 1, WriteGatherND},
    {kMicrosoft, "Range", 2, 3, 1, WriteRange},
    {kMicrosoft, "Pad", 2, 3, 1, WritePad},
    {kMicrosoft, "Trilu", 1, 2, 1, WriteTrilu},
    {kMicrosoft, "QLinearWhere", 9, 9, 1, WriteQLinearWhere},
    {kMicrosoft, "MatMulInteger16", 2, 2, 1, WriteMatMulInteger16},
    {kMicrosoft, "UnfoldTensor", 1, 1, 1, WriteUnfoldTensor},
    {kMicrosoft, "ScaledSiLU", 1, 2, 1, WriteScaledSiLU},
    {kMicrosoft, "GatedAdd", 3, 3, 1, WriteGatedAdd},
    {kMicrosoft, "GatedRMSNorm", 3, 3, 1, WriteGatedRMSNorm},
    {kMicrosoft, "TransposeMatMul", 2, 2, 1, WriteFusedMatMul},
    {kMicrosoft, "GridSample", 2, 2, 1, WriteGridSample},
    {kMicrosoft, "Unique", 1, 1, 3, WriteUnique},
    {kMicrosoft, "BranchwiseRMSNorm", 1, 2, 1, WriteBranchwiseRMSNorm},
    {kMicrosoft, "HyperConnectionPreMix", 2, 2, 1, WriteHyperConnectionPreMix},
    {kMicrosoft, "HyperConnectionPostMix", 3, 4, 1, WriteHyperConnectionPostMix},
    {kMicrosoft, "EngramGate", 5, 6, 2, WriteEngramGate},
    {kMicrosoft, "LinearAttentionGate", 3, 4, 2, WriteLinearAttentionGate},
    {kMicrosoft, "MRotaryEmbedding", 4, 4, 1, WriteMRotaryEmbedding},
    {"", "Affine", 1, 1, 1, WriteAffine, kLastExperimental},
    {"", "Scale", 1, 1, 1, WriteScale, kLastExperimental},
    {"", "ScaledTanh", 1, 1, 1, WriteScaledTanh, kLastExperimental},
    {"", "ParametricSoftplus", 1, 1, 1, WriteParametricSoftplus, kLastExperimental},
    {"", "ImageScaler", 1, 1, 1, WriteImageScaler, kLastExperimental},
    {"", "Crop", 1, 1, 1, WriteCrop, kLastExperimental},
    {"", "DynamicSlice", 3, 4, 1, WriteDynamicSlice, kLastExperimental},
};

// Batches that come behind the rows have a kernel of their own, and so have averages of bytes.
bool IsComposed(const NodeRecord& node, const graph::Attributes& attributes) {
  if (node.op == "QLinearAveragePool") return attributes.Int("channels_last", 0) != 0;
  if (node.op != "FusedMatMul") return true;
  return attributes.Int("transBatchA", 0) == 0 && attributes.Int("transBatchB", 0) == 0;
}

const Composition* FindComposition(const NodeRecord& node, int version) {
  for (const Composition& composition : kCompositions) {
    if (composition.op == node.op && composition.domain == node.domain &&
        version <= composition.until) {
      return &composition;
    }
  }
  return nullptr;
}

}  // namespace

bool IsContributedFunction(const NodeRecord& node, int version) {
  return FindComposition(node, version) != nullptr;
}

Result<std::optional<FunctionRecord>> ContributedFunction(const NodeRecord& node,
                                                          const graph::Attributes& attributes) {
  const Composition* const found = FindComposition(node, 1);
  if (found == nullptr || !IsComposed(node, attributes)) {
    return std::optional<FunctionRecord>();
  }
  if (node.inputs.size() < found->min_inputs || node.inputs.size() > found->max_inputs ||
      node.outputs.empty() || node.outputs.size() > found->max_outputs) {
    return CannotWrite(StrCat("it has ", node.inputs.size(), " inputs and ", node.outputs.size(),
                              " outputs, not ", found->min_inputs, " to ", found->max_inputs,
                              " and 1 to ", found->max_outputs));
  }
  FunctionWriter writer(node, attributes);
  PLIMSOLL_TRY(found->write(writer));
  return std::optional<FunctionRecord>(writer.Finish());
}

std::vector<OpsetRecord> ContributedOpsets() {
  return {{"", kNewestOpset}, {graph::kContributedDomain, 1}, {"plimsoll", 1}};
}

}  // namespace plimsoll::onnx
