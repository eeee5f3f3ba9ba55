#pragma once

#include <utility>
#include <vector>

#include "kernels/cpu/product/float_product.h"
#include "kernels/cpu/recurrent/recurrent_layer.h"

namespace plimsoll::kernels::cpu {

// What a product is added to: a row for each of its rows, or one for all of them.
template <typename T>
struct GateAddend {
  const T* data = nullptr;  // null: nothing
  int64_t row_stride = 0;
  int64_t gate_stride = 0;
};

// The products of some gates' weights (an input [directions, gates * hidden, depth]) with rows of
// data: c = addend + a x weights^T for each gate, results one behind the other. All gates may be
// joined to one product, whose rows are then those of all gates. The addend may be c's own memory.
template <typename T>
class GateProduct {
 public:
  static Result<GateProduct> Make(const KernelSite& site, size_t weights,
                                  const RecurrentShape& shape, int64_t direction,
                                  int64_t first_gate, int64_t gates, int64_t rows,
                                  WorkspaceLayout& workspace) {
    const int64_t depth = site.inputs[weights].dims[2];
    ProductShape product{.rows = rows,
                         .columns = shape.hidden,
                         .depth = depth,
                         .a_row_stride = depth,
                         .a_depth_stride = 1,
                         .b_depth_stride = 1,
                         .b_column_stride = depth,
                         .a_matrices = std::vector<int64_t>(static_cast<size_t>(gates), 0),
                         .b_matrices = {},
                         .b_count = shape.directions * shape.gates};
    for (int64_t gate = 0; gate < gates; ++gate) {
      product.b_matrices.push_back(direction * shape.gates + first_gate + gate);
    }
    return MakeOf(site, weights, std::move(product), workspace);
  }

  static Result<GateProduct> MakeJoined(const KernelSite& site, size_t weights,
                                        const RecurrentShape& shape, int64_t direction,
                                        int64_t rows, WorkspaceLayout& workspace) {
    const int64_t depth = site.inputs[weights].dims[2];
    ProductShape product{.rows = rows,
                         .columns = shape.gates * shape.hidden,
                         .depth = depth,
                         .a_row_stride = depth,
                         .a_depth_stride = 1,
                         .b_depth_stride = 1,
                         .b_column_stride = depth,
                         .a_matrices = {0},
                         .b_matrices = {direction},
                         .b_count = shape.directions};
    return MakeOf(site, weights, std::move(product), workspace);
  }

  // Whether RunBlock works.
  bool has_blocks() const {
    if constexpr (kIsFloat) return product_.packed();
    return false;
  }

  void Run(const T* a, const T* weights, const GateAddend<T>& addend, T* c, void* workspace) const {
    if constexpr (kIsFloat) {
      product_.Run(a, weights, {}, AddendOf(addend), c, workspace);
    } else {
      const int64_t columns = product_.columns;
      for (size_t gate = 0; gate < product_.a_matrices.size(); ++gate) {
        for (int64_t row = 0; row < product_.rows; ++row) {
          const int64_t number = static_cast<int64_t>(gate);
          T* const to = c + (number * product_.rows + row) * columns;
          const T* const from = addend.data + number * addend.gate_stride + row * addend.row_stride;
          if (addend.data == nullptr) {
            std::fill_n(to, columns, T(0));
          } else if (from != to) {
            std::copy_n(from, columns, to);
          }
        }
      }
      MultiplyMatrices(product_, a, weights, c, /*onto=*/true);
    }
  }

  // The same rectangle of every gate's results, in the calling thread.
  void RunBlock(const ProductBlock& block, const T* a, const GateAddend<T>& addend, T* c,
                FloatProduct::Order order = FloatProduct::Order::kUsual) const {
    if constexpr (kIsFloat) product_.RunBlock(block, a, {}, AddendOf(addend), c, order);
  }
  ProductBlock Whole() const {
    if constexpr (kIsFloat) {
      return {.rows = product_.shape().rows, .columns = product_.shape().columns};
    }
    return {};
  }

 private:
  static constexpr bool kIsFloat = std::is_same_v<T, float>;

  static Result<GateProduct> MakeOf(const KernelSite& site, size_t weights, ProductShape product,
                                    WorkspaceLayout& workspace) {
    GateProduct made;
    if constexpr (kIsFloat) {
      PLIMSOLL_ASSIGN(made.product_,
                      FloatProduct::Make(site, weights, std::move(product), 1, {}, workspace));
    } else {
      made.product_ = std::move(product);
    }
    return made;
  }

  static Addend AddendOf(const GateAddend<T>& addend) {
    return {
        .data = addend.data, .row_stride = addend.row_stride, .matrix_stride = addend.gate_stride};
  }

  std::conditional_t<kIsFloat, FloatProduct, ProductShape> product_;
};

}  // namespace plimsoll::kernels::cpu
