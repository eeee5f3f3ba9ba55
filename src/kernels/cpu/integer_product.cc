#include <utility>

#include "kernels/cpu/families.h"
#include "kernels/cpu/product_shape.h"
#include "kernels/cpu/quantized_operand.h"
#include "kernels/cpu/workspace.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// A matrix operand with its zero points: one, one a row of A, or one a column of B.
struct Operand {
  size_t input = 0;
  size_t zero_point = 0;
  DataType type = DataType::kUndefined;
  int64_t elements = 0;
  int64_t zero_points = 1;
  int64_t offset = 0;  // in the workspace
};

Result<Operand> ReadOperand(const KernelSite& site, size_t input, size_t zero_point,
                            WorkspaceLayout& workspace) {
  const TensorInfo& tensor = site.inputs[input];
  if (!IsByte(tensor.type)) {
    return site.Unsupported(StrCat("there is no integer product of ", graph::Name(tensor.type)));
  }
  Operand operand{
      .input = input, .zero_point = zero_point, .type = tensor.type, .elements = tensor.elements()};
  if (site.has_input(zero_point)) operand.zero_points = site.inputs[zero_point].elements();
  if (operand.zero_points < 1) return site.BadInput("a zero point has no elements");
  operand.offset = workspace.Take(Bytes(operand.elements * int64_t{sizeof(uint32_t)}));
  return operand;
}

struct IntegerProduct {
  ProductShape shape;
  Operand a;
  Operand b;

  // Sums of products into c.
  void Run(const KernelCall& call, uint32_t* c) const {
    uint32_t* const left = At<uint32_t>(call.workspace, a.offset);
    uint32_t* const right = At<uint32_t>(call.workspace, b.offset);
    const auto zero_point = [&](const Operand& operand) {
      return operand.zero_point < call.inputs.size() ? call.inputs[operand.zero_point] : nullptr;
    };
    SubtractZeroPoint(
        a.type, call.inputs[a.input], a.elements, zero_point(a),
        [&](int64_t i) { return i / shape.depth % a.zero_points; }, left);
    SubtractZeroPoint(
        b.type, call.inputs[b.input], b.elements, zero_point(b),
        [&](int64_t i) {
          return (i / shape.b_size() * shape.columns + i % shape.columns) % b.zero_points;
        },
        right);
    MultiplyMatrices(shape, left, right, c);
  }
};

Result<IntegerProduct> ReadIntegerProduct(const KernelSite& site, size_t a, size_t a_zero, size_t b,
                                          size_t b_zero, WorkspaceLayout& workspace) {
  IntegerProduct product;
  PLIMSOLL_ASSIGN(product.shape, ReadProduct(site, site.inputs[a].dims, site.inputs[b].dims));
  PLIMSOLL_ASSIGN(product.a, ReadOperand(site, a, a_zero, workspace));
  PLIMSOLL_ASSIGN(product.b, ReadOperand(site, b, b_zero, workspace));
  return product;
}

Result<KernelPointer> MakeMatMulInteger(KernelSite& site) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(IntegerProduct made, ReadIntegerProduct(site, 0, 2, 1, 3, workspace));
  return MakeKernel(
      [product = std::move(made)](const KernelCall& call) {
        product.Run(call, static_cast<uint32_t*>(call.outputs[0]));
      },
      workspace.total());
}

// One of the scales, or zero points, of a quantized tensor.
struct Parameter {
  size_t input;
  DataType type;
  int64_t elements;

  double Scale(const KernelCall& call, int64_t index) const {
    return LoadDouble(type, call.inputs[input], index % elements);
  }
  int64_t ZeroPoint(const KernelCall& call, int64_t index) const {
    return LoadInteger(type, call.inputs[input], index % elements);
  }
};

Result<Parameter> ReadParameter(const KernelSite& site, size_t input) {
  const TensorInfo& tensor = site.inputs[input];
  if (tensor.elements() < 1) return site.BadInput("a scale or zero point has no elements");
  return Parameter{.input = input, .type = tensor.type, .elements = tensor.elements()};
}

Result<KernelPointer> MakeQLinearMatMul(KernelSite& site) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(IntegerProduct made, ReadIntegerProduct(site, 0, 2, 3, 5, workspace));
  const DataType type = site.outputs[0].type;
  if (!IsByte(type)) {
    return site.Unsupported(StrCat("there is no quantized product into ", graph::Name(type)));
  }
  PLIMSOLL_ASSIGN(const Parameter a_scale, ReadParameter(site, 1));
  PLIMSOLL_ASSIGN(const Parameter b_scale, ReadParameter(site, 4));
  PLIMSOLL_ASSIGN(const Parameter y_scale, ReadParameter(site, 6));
  PLIMSOLL_ASSIGN(const Parameter y_zero, ReadParameter(site, 7));
  const int64_t elements = site.outputs[0].elements();
  const int64_t sums = workspace.Take(Bytes(elements * int64_t{sizeof(uint32_t)}));
  return MakeKernel(
      [product = std::move(made), type, a_scale, b_scale, y_scale, y_zero, elements,
       sums](const KernelCall& call) {
        uint32_t* const c = At<uint32_t>(call.workspace, sums);
        product.Run(call, c);
        const ProductShape& shape = product.shape;
        for (int64_t i = 0; i < elements; ++i) {
          const int64_t row = i / shape.columns;
          const int64_t matrix = shape.b_matrices[static_cast<size_t>(i / shape.c_size())];
          const double scale = a_scale.Scale(call, row) *
                               b_scale.Scale(call, matrix * shape.columns + i % shape.columns) /
                               y_scale.Scale(call, row);
          StoreQuantized(type, static_cast<double>(static_cast<int32_t>(c[i])) * scale,
                         y_zero.ZeroPoint(call, row), call.outputs[0], i);
        }
      },
      workspace.total());
}

constexpr KernelRow kRows[] = {
    {"", "MatMulInteger", 10, graph::kNewest, MakeMatMulInteger},
    {"", "QLinearMatMul", 10, graph::kNewest, MakeQLinearMatMul},
};

}  // namespace

std::span<const KernelRow> IntegerProductKernels() { return kRows; }

}  // namespace plimsoll::kernels::cpu
