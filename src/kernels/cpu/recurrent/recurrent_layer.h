#pragma once

#include <utility>
#include <vector>

#include "kernels/cpu/product/float_product.h"
#include "kernels/cpu/recurrent/recurrent_activation.h"

namespace plimsoll::kernels::cpu {

// The inputs and outputs of RNN, GRU and LSTM; what only LSTM has comes last.
struct RecurrentPorts {
  enum Input : size_t {
    kData,
    kWeights,
    kRecurrence,
    kBias,
    kLengths,
    kHidden,
    kCell,
    kPeepholes,
    kWeightsScale,  // and behind each scale the zero point: of quantised weights
    kRecurrenceScale = 10
  };
  enum Output : size_t { kAll, kLastHidden, kLastCell };
};

// Sizes and attributes that the three share. Weights are taken gate by gate, so that what is made
// of them is [gate][sequence place][hidden].
struct RecurrentShape {
  int64_t gates = 1;
  int64_t sequence = 0;
  int64_t batch = 0;
  int64_t features = 0;
  int64_t hidden = 0;
  int64_t directions = 1;
  bool reversed = false;     // the first direction runs from the end
  bool batch_first = false;  // attribute layout
  double clip = 0;           // 0: none

  bool IsReversed(int64_t direction) const { return reversed || direction == 1; }
  int64_t StateSize() const { return batch * hidden; }
  // Where the data of an item at a time lies, in rows of all times and items.
  int64_t Row(int64_t time, int64_t item) const {
    return batch_first ? item * sequence + time : time * batch + item;
  }
  // Where the hidden state lies in the outputs.
  int64_t AllOffset(int64_t time, int64_t direction, int64_t item) const {
    const int64_t place = batch_first ? (item * sequence + time) * directions + direction
                                      : (time * directions + direction) * batch + item;
    return place * hidden;
  }
  int64_t LastOffset(int64_t direction, int64_t item) const {
    return (batch_first ? item * directions + direction : direction * batch + item) * hidden;
  }
};

Result<RecurrentShape> ReadRecurrentShape(const KernelSite& site, int64_t gates,
                                          bool quantized = false);

// The products of some gates' weights (an input [directions, gates * hidden, depth]) with rows of
// data: c += a x weights^T for each gate, results one behind the other.
template <typename T>
class GateProduct {
 public:
  static Result<GateProduct> Make(const KernelSite& site, size_t weights,
                                  const RecurrentShape& shape, int64_t direction,
                                  int64_t first_gate, int64_t gates, int64_t rows,
                                  WorkspaceLayout& workspace) {
    GateProduct made;
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
    if constexpr (std::is_same_v<T, float>) {
      PLIMSOLL_ASSIGN(made.product_,
                      FloatProduct::Make(site, weights, std::move(product), 1, {}, workspace));
    } else {
      made.product_ = std::move(product);
    }
    return made;
  }

  void AddTo(const T* a, const T* weights, T* c, void* workspace) const {
    if constexpr (std::is_same_v<T, float>) {
      const ProductShape& shape = product_.shape();
      product_.Run(a, weights, {},
                   {.data = c, .row_stride = shape.columns, .matrix_stride = shape.c_size()}, c,
                   workspace);
    } else {
      MultiplyMatrices(product_, a, weights, c, /*onto=*/true);
    }
  }

 private:
  std::conditional_t<std::is_same_v<T, float>, FloatProduct, ProductShape> product_;
};

}  // namespace plimsoll::kernels::cpu
