#include <algorithm>
#include <utility>

#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/product/byte_product.h"
#include "kernels/cpu/quantization/quantized_operand.h"
#include "plimsoll/base/text.h"

// MatMulInteger, QLinearMatMul and, of com.microsoft, MatMulIntegerToFloat and QGemm.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;
using FinishKind = PairFinish::Kind;

Result<KernelPointer> MakeMatMulInteger(KernelSite& site) {
  PLIMSOLL_ASSIGN(ProductShape shape, ReadProduct(site, site.inputs[0].dims, site.inputs[1].dims));
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(ByteProduct made,
                  ByteProduct::Make(site, std::move(shape), {0, 2, 1, 3}, workspace));
  return MakeKernel(
      [product = std::move(made)](const KernelCall& call) {
        const int64_t columns = product.shape().columns;
        product.Run(call, [&](int64_t row, int64_t) {
          return PairFinish{.kind = FinishKind::kInt32,
                            .to = static_cast<int32_t*>(call.outputs[0]) + row * columns,
                            .row_stride = columns};
        });
      },
      workspace.total(), ByteProduct::kWorkspacePurpose);
}

// One of the scales, or zero points, of a quantised tensor.
struct Parameter {
  size_t input = 0;
  DataType type = DataType::kUndefined;  // kUndefined: left out
  int64_t elements = 1;

  float Scale(const KernelCall& call, int64_t index) const {
    if (type == DataType::kUndefined) return 1;
    return static_cast<float>(LoadDouble(type, call.inputs[input], index % elements));
  }
  int64_t ZeroPoint(const KernelCall& call, int64_t index) const {
    return type == DataType::kUndefined ? 0
                                        : LoadInteger(type, call.inputs[input], index % elements);
  }
};

Result<Parameter> ReadParameter(const KernelSite& site, size_t input) {
  if (!site.has_input(input)) return Parameter{};
  const TensorInfo& tensor = site.inputs[input];
  if (tensor.elements() < 1) return site.BadInput("a scale or zero point has no elements");
  return Parameter{.input = input, .type = tensor.type, .elements = tensor.elements()};
}

// A bias of a Gemm: one number for all, for each column, for each row or for each result.
struct IntegerBias {
  bool present = false;
  int64_t row_step = 0;
  int64_t column_step = 0;
};

// How sums become results: scale = factor * a_scale * b_scale / y_scale (SumScale).
struct Scaling {
  Parameter a_scale, b_scale, y_scale, y_zero;
  FinishKind kind = FinishKind::kFloat32;
  float factor = 1;
  size_t bias = 0;    // the input that holds integers to add to the sums
  IntegerBias steps;  // of that bias
  size_t addend = 0;  // the input that holds floats to add, one a column; 0: none
  bool nearest = false;
  int64_t scales = 0;  // places in the workspace
  int64_t rests = 0;
  int64_t biases = 0;

  // Scales that differ between rows take them one by one.
  bool ByRows() const {
    return a_scale.elements > 1 || y_scale.elements > 1 || y_zero.elements > 1 ||
           steps.row_step != 0;
  }
  // For the rows from `row` on, of all results, that meet one matrix of B.
  PairFinish For(const KernelCall& call, int64_t row, int64_t matrix, int64_t columns,
                 void* to) const {
    auto* const by_column = At<float>(call.workspace, scales);
    const float left = factor * a_scale.Scale(call, row);
    const float right = y_scale.Scale(call, row);
    auto* const rests_by_column = nearest ? At<float>(call.workspace, rests) : nullptr;
    for (int64_t c = 0; c < columns; ++c) {
      const SumScale of_sums =
          SumScale::Of(left, b_scale.Scale(call, matrix * columns + c), right, nearest);
      by_column[c] = of_sums.scale;
      if (nearest) rests_by_column[c] = of_sums.rest;
    }
    PairFinish finish{
        .kind = kind,
        .to = to,
        .row_stride = columns,
        .by_columns = true,
        .scales = by_column,
        .scale_rests = rests_by_column,
        .addend = addend == 0 ? nullptr : static_cast<const float*>(call.inputs[addend]),
        .zero_point = static_cast<int32_t>(y_zero.ZeroPoint(call, row))};
    if (steps.present) {
      auto* const own = At<int32_t>(call.workspace, biases);
      const auto* const given = static_cast<const int32_t*>(call.inputs[bias]);
      for (int64_t c = 0; c < columns; ++c) {
        own[c] = given[row * steps.row_step + c * steps.column_step];
      }
      finish.bias = own;
    }
    return finish;
  }
};

Result<FinishKind> ResultKind(const KernelSite& site) {
  switch (site.outputs[0].type) {
    case DataType::kInt8:
      return FinishKind::kInt8;
    case DataType::kUint8:
      return FinishKind::kUint8;
    case DataType::kFloat32:
      return FinishKind::kFloat32;
    default:
      return site.Unsupported(
          StrCat("there is no quantized product into ", graph::Name(site.outputs[0].type)));
  }
}

Result<KernelPointer> MakeScaledProduct(const KernelSite& site, ProductShape shape,
                                        const ByteProduct::Ports& ports, Scaling scaling) {
  PLIMSOLL_ASSIGN(scaling.kind, ResultKind(site));
  WorkspaceLayout workspace;
  scaling.nearest = site.attributes().Int("nearest_bytes", 0) != 0;
  scaling.scales = workspace.Take(Bytes(shape.columns) * 4);
  if (scaling.nearest) scaling.rests = workspace.Take(Bytes(shape.columns) * 4);
  if (scaling.steps.present) scaling.biases = workspace.Take(Bytes(shape.columns) * 4);
  PLIMSOLL_ASSIGN(ByteProduct made,
                  ByteProduct::Make(site, std::move(shape), ports, workspace, scaling.ByRows()));
  return MakeKernel(
      [product = std::move(made), scaling](const KernelCall& call) {
        const int64_t columns = product.shape().columns;
        const int64_t size = scaling.kind == FinishKind::kFloat32 ? 4 : 1;
        product.Run(call, [&](int64_t row, int64_t matrix) {
          return scaling.For(call, row, matrix, columns,
                             static_cast<char*>(call.outputs[0]) + row * columns * size);
        });
      },
      workspace.total(), ByteProduct::kWorkspacePurpose);
}

Result<KernelPointer> MakeQLinearMatMul(KernelSite& site) {
  PLIMSOLL_ASSIGN(ProductShape shape, ReadProduct(site, site.inputs[0].dims, site.inputs[3].dims));
  Scaling scaling;
  PLIMSOLL_ASSIGN(scaling.a_scale, ReadParameter(site, 1));
  PLIMSOLL_ASSIGN(scaling.b_scale, ReadParameter(site, 4));
  PLIMSOLL_ASSIGN(scaling.y_scale, ReadParameter(site, 6));
  PLIMSOLL_ASSIGN(scaling.y_zero, ReadParameter(site, 7));
  return MakeScaledProduct(site, std::move(shape), {0, 2, 3, 5}, scaling);
}

// A, B, their scales, their zero points, and a bias of floats, one a column.
Result<KernelPointer> MakeMatMulIntegerToFloat(KernelSite& site) {
  PLIMSOLL_ASSIGN(ProductShape shape, ReadProduct(site, site.inputs[0].dims, site.inputs[1].dims));
  Scaling scaling;
  PLIMSOLL_ASSIGN(scaling.a_scale, ReadParameter(site, 2));
  PLIMSOLL_ASSIGN(scaling.b_scale, ReadParameter(site, 3));
  if (site.has_input(6)) {
    if (site.inputs[6].elements() != shape.columns) {
      return site.BadInput(StrCat("the bias does not have ", shape.columns, " elements"));
    }
    scaling.addend = 6;
  }
  return MakeScaledProduct(site, std::move(shape), {0, 4, 1, 5}, scaling);
}

Result<IntegerBias> ReadIntegerBias(const KernelSite& site, size_t input,
                                    const ProductShape& shape) {
  if (!site.has_input(input)) return IntegerBias{};
  if (site.inputs[input].type != DataType::kInt32) {
    return site.BadInput(
        StrCat("the bias is ", graph::Name(site.inputs[input].type), ", not int32"));
  }
  const Dims& dims = site.inputs[input].dims;
  const int64_t columns = dims.empty() ? 1 : dims.back();
  const int64_t rows = dims.size() < 2 ? 1 : dims[dims.size() - 2];
  if (dims.size() > 2 || (columns != 1 && columns != shape.columns) ||
      (rows != 1 && rows != shape.rows)) {
    return site.BadInput("the bias does not broadcast to the product");
  }
  return IntegerBias{
      .present = true, .row_step = rows == 1 ? 0 : columns, .column_step = columns == 1 ? 0 : 1};
}

// A, its scale and zero point, those of B, a bias of integers, scale and zero point of the result.
Result<KernelPointer> MakeQGemm(KernelSite& site) {
  PLIMSOLL_ASSIGN(ProductShape shape, ReadProduct(site, site.inputs[0].dims, site.inputs[3].dims,
                                                  site.attributes().Int("transA", 0) != 0,
                                                  site.attributes().Int("transB", 0) != 0));
  Scaling scaling;
  scaling.factor = static_cast<float>(site.attributes().Float("alpha", 1));
  scaling.bias = 6;
  PLIMSOLL_ASSIGN(scaling.steps, ReadIntegerBias(site, 6, shape));
  PLIMSOLL_ASSIGN(scaling.a_scale, ReadParameter(site, 1));
  PLIMSOLL_ASSIGN(scaling.b_scale, ReadParameter(site, 4));
  PLIMSOLL_ASSIGN(scaling.y_scale, ReadParameter(site, 7));
  PLIMSOLL_ASSIGN(scaling.y_zero, ReadParameter(site, 8));
  return MakeScaledProduct(site, std::move(shape), {0, 2, 3, 5}, scaling);
}

constexpr KernelRow kIntegerProductRows[] = {
    {"", "MatMulInteger", 10, graph::kNewest, MakeMatMulInteger},
    {"", "QLinearMatMul", 10, graph::kNewest, WithHalvesWidened<MakeQLinearMatMul>},
    {graph::kContributedDomain, "MatMulIntegerToFloat", 1, graph::kNewest,
     WithHalvesWidened<MakeMatMulIntegerToFloat>},
    {graph::kContributedDomain, "QGemm", 1, graph::kNewest, MakeQGemm},
};

}  // namespace

std::span<const KernelRow> IntegerProductKernels() { return kIntegerProductRows; }

}  // namespace plimsoll::kernels::cpu
