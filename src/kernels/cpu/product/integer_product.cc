#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "kernels/cpu/families.h"
#include "kernels/cpu/product/product_shape.h"
#include "kernels/cpu/quantization/quantized_operand.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// A matrix operand with its zero points: one, one per row of A, or one per column of B.
struct Operand {
  size_t input = 0;
  size_t zero_point = 0;
  DataType type = DataType::kUndefined;
  int64_t zero_points = 1;
};

Result<Operand> ReadOperand(const KernelSite& site, size_t input, size_t zero_point) {
  const TensorInfo& tensor = site.inputs[input];
  if (!IsByte(tensor.type)) {
    return site.Unsupported(StrCat("there is no integer product of ", graph::Name(tensor.type)));
  }
  Operand operand{.input = input, .zero_point = zero_point, .type = tensor.type};
  if (site.has_input(zero_point)) operand.zero_points = site.inputs[zero_point].elements();
  if (operand.zero_points < 1) return site.BadInput("a zero point has no elements");
  return operand;
}

// Elements are read as they lie, and sums given away a few columns at a time: there is no
// workspace.
struct IntegerProduct {
  ProductShape shape;
  Operand a;
  Operand b;

  // Calls store(matrix, row of all matrices, first column, sums) for every result; sums are of at
  // most kColumns columns.
  template <typename Store>
  void Run(const KernelCall& call, const Store& store) const {
    VisitType<Bytes8>(a.type, [&]<typename A>() {
      VisitType<Bytes8>(b.type, [&]<typename B>() { RunOf<A, B>(call, store); });
    });
  }

 private:
  using Bytes8 = TypeList<int8_t, uint8_t>;
  static constexpr int64_t kColumns = 256;

  template <typename B>
  static void AddTimes(uint32_t factor, const B* from, int64_t count, uint32_t* sums) {
    const auto add = [&](int64_t i) {
      sums[i] += factor * static_cast<uint32_t>(static_cast<int32_t>(from[i]));
    };
    // A number of turns that the compiler knows lets it use vectors.
    constexpr int64_t kAtOnce = 16;
    int64_t first = 0;
    for (; first + kAtOnce <= count; first += kAtOnce) {
      for (int64_t i = 0; i < kAtOnce; ++i) add(first + i);
    }
    for (; first < count; ++first) add(first);
  }

  template <typename A, typename B, typename Store>
  void RunOf(const KernelCall& call, const Store& store) const {
    const auto zero_points = [&](const Operand& operand) {
      return operand.zero_point < call.inputs.size() ? call.inputs[operand.zero_point] : nullptr;
    };
    const auto* const a_zeros = static_cast<const A*>(zero_points(a));
    const auto* const b_zeros = static_cast<const B*>(zero_points(b));
    const int64_t rows = static_cast<int64_t>(shape.a_matrices.size()) * shape.rows;
    ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto result = static_cast<size_t>(row / shape.rows);
        const int64_t a_row = shape.a_matrices[result] * shape.rows + row % shape.rows;
        const int64_t matrix = shape.b_matrices[result];
        const LessZero<A> left{static_cast<const A*>(call.inputs[a.input]) + a_row * shape.depth,
                               a_zeros == nullptr ? 0 : a_zeros[a_row % a.zero_points]};
        const B* const right =
            static_cast<const B*>(call.inputs[b.input]) + matrix * shape.b_size();
        for (int64_t first = 0; first < shape.columns; first += kColumns) {
          std::array<uint32_t, kColumns> sums = {};
          const int64_t count = std::min(kColumns, shape.columns - first);
          uint32_t factors = 0;
          for (int64_t d = 0; d < shape.depth; ++d) {
            factors += left[d];
            AddTimes(left[d], right + d * shape.columns + first, count, sums.data());
          }
          // A column's zero point has been left in with every factor; sums wrap, so this is exact.
          for (int64_t i = 0; b_zeros != nullptr && i < count; ++i) {
            const int32_t zero = b_zeros[(matrix * shape.columns + first + i) % b.zero_points];
            sums[i] -= factors * static_cast<uint32_t>(zero);
          }
          store(matrix, row, first, std::span<const uint32_t>(sums.data(), count));
        }
      }
    });
  }
};

Result<IntegerProduct> ReadIntegerProduct(const KernelSite& site, size_t a, size_t a_zero, size_t b,
                                          size_t b_zero) {
  IntegerProduct product;
  PLIMSOLL_ASSIGN(product.shape, ReadProduct(site, site.inputs[a].dims, site.inputs[b].dims));
  PLIMSOLL_ASSIGN(product.a, ReadOperand(site, a, a_zero));
  PLIMSOLL_ASSIGN(product.b, ReadOperand(site, b, b_zero));
  return product;
}

Result<KernelPointer> MakeMatMulInteger(KernelSite& site) {
  PLIMSOLL_ASSIGN(IntegerProduct made, ReadIntegerProduct(site, 0, 2, 1, 3));
  return MakeKernel([product = std::move(made)](const KernelCall& call) {
    auto* const c = static_cast<uint32_t*>(call.outputs[0]);
    product.Run(call, [&](int64_t, int64_t row, int64_t first, std::span<const uint32_t> sums) {
      std::copy(sums.begin(), sums.end(), c + row * product.shape.columns + first);
    });
  });
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
  PLIMSOLL_ASSIGN(IntegerProduct made, ReadIntegerProduct(site, 0, 2, 3, 5));
  const DataType type = site.outputs[0].type;
  if (!IsByte(type)) {
    return site.Unsupported(StrCat("there is no quantized product into ", graph::Name(type)));
  }
  PLIMSOLL_ASSIGN(const Parameter a_scale, ReadParameter(site, 1));
  PLIMSOLL_ASSIGN(const Parameter b_scale, ReadParameter(site, 4));
  PLIMSOLL_ASSIGN(const Parameter y_scale, ReadParameter(site, 6));
  PLIMSOLL_ASSIGN(const Parameter y_zero, ReadParameter(site, 7));
  return MakeKernel([product = std::move(made), type, a_scale, b_scale, y_scale,
                     y_zero](const KernelCall& call) {
    const int64_t columns = product.shape.columns;
    product.Run(
        call, [&](int64_t matrix, int64_t row, int64_t first, std::span<const uint32_t> sums) {
          for (size_t i = 0; i < sums.size(); ++i) {
            const int64_t column = first + static_cast<int64_t>(i);
            const double scale = a_scale.Scale(call, row) *
                                 b_scale.Scale(call, matrix * columns + column) /
                                 y_scale.Scale(call, row);
            StoreQuantized(type, static_cast<double>(static_cast<int32_t>(sums[i])) * scale,
                           y_zero.ZeroPoint(call, row), call.outputs[0], row * columns + column);
          }
        });
  });
}

constexpr KernelRow kIntegerProductRows[] = {
    {"", "MatMulInteger", 10, graph::kNewest, MakeMatMulInteger},
    {"", "QLinearMatMul", 10, graph::kNewest, MakeQLinearMatMul},
};

}  // namespace

std::span<const KernelRow> IntegerProductKernels() { return kIntegerProductRows; }

}  // namespace plimsoll::kernels::cpu
