#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/product/product_shares.h"
#include "kernels/cpu/recurrent/gate_product.h"
#include "kernels/cpu/recurrent/quantized_gates.h"

namespace plimsoll::kernels::cpu {

// What the data and the biases add to the gates, [gate][row][hidden] or, where gates are joined,
// [row][gate][hidden], worked out for a stretch of steps at once: enough rows for a product to pay,
// and no more than stay in the second cache. Weights that push each other out of the caches between
// stretches may have longer ones, of a small part of their size. A stretch takes one or two phases
// (Phases), each in shares.
template <typename T>
class DataSums {
 public:
  // Where the parts of one direction lie.
  struct Memory {
    const T* bias = nullptr;  // one row for each gate, or null
    T* sums = nullptr;        // sums_size() elements
    T* rows = nullptr;        // rows_size() elements
  };

  // `room` is for the sums and rows of one direction.
  DataSums(const RecurrentShape& shape, bool gathers, bool quantized, bool joined, Bytes room)
      : shape_(shape), gathers_(gathers), quantized_(quantized), joined_(joined) {
    PlanStretch(room);
  }

  Status MakeProducts(const KernelSite& site, WorkspaceLayout& workspace) {
    const int64_t rows = stretch_ * shape_.batch;
    for (int64_t d = 0; d < shape_.directions; ++d) {
      if (quantized_) {
        PLIMSOLL_ASSIGN(QuantizedGates made, QuantizedGates::Make(site, RecurrentPorts::kWeights,
                                                                  RecurrentPorts::kWeightsScale,
                                                                  shape_, d, rows, workspace));
        quantized_products_.push_back(std::move(made));
        continue;
      }
      PLIMSOLL_ASSIGN(GateProduct<T> made,
                      joined_ ? GateProduct<T>::MakeJoined(site, RecurrentPorts::kWeights, shape_,
                                                           d, rows, workspace)
                              : GateProduct<T>::Make(site, RecurrentPorts::kWeights, shape_, d, 0,
                                                     shape_.gates, rows, workspace));
      products_.push_back(std::move(made));
    }
    return {};
  }

  // Whether work can be shared out.
  bool has_blocks() const {
    return !quantized_ &&
           std::ranges::all_of(products_, [](const auto& product) { return product.has_blocks(); });
  }
  void ShareOut(int64_t shares) {
    shares_ = shares;
    const ProductTiles tiles = TilesOfProduct(stretch_ * shape_.batch, shape_.hidden);
    cut_ = SharesOfProduct(tiles.rows, tiles.columns, shares);
  }

  int64_t sums_size() const { return shape_.gates * stretch_ * shape_.StateSize(); }
  int64_t rows_size() const { return gathers_ ? stretch_ * shape_.batch * shape_.features : 0; }
  int64_t stretch() const { return stretch_; }
  int64_t stretches() const {
    return stretch_ == 0 ? 0 : (shape_.sequence + stretch_ - 1) / stretch_;
  }
  int64_t phases() const { return gathers_ ? 2 : 1; }

  // A share of a phase of the stretch `number`.
  void RunPhase(const KernelCall& call, int64_t direction, int64_t number, int64_t phase,
                int64_t share, const Memory& memory) const {
    if (phase + 1 < phases()) {
      Gather(call, direction, number, share, memory.rows);
    } else {
      Sum(call, direction, number, share, memory);
    }
  }

  // What those of stretch `number` add in one of its steps.
  GateAddend<T> OfStep(int64_t direction, int64_t number, int64_t step, const T* sums) const {
    const bool backwards = !gathers_ && shape_.IsReversed(direction);
    const int64_t place = step - FirstStep(number);
    const int64_t row = (backwards ? stretch_ - 1 - place : place) * shape_.batch;
    const int64_t row_stride = joined_ ? shape_.gates * shape_.hidden : shape_.hidden;
    return {.data = sums + row * row_stride,
            .row_stride = row_stride,
            .gate_stride = joined_ ? shape_.hidden : stretch_ * shape_.StateSize()};
  }

 private:
  static constexpr Bytes kStretchBytes = Bytes(256 << 10);
  static constexpr int64_t kStretchRows = 48;
  static constexpr int64_t kWeightsOfAStretch = 8;

  // Stretches of equal length, so that none is much shorter.
  void PlanStretch(Bytes room) {
    const int64_t row = shape_.gates * shape_.hidden + (gathers_ ? shape_.features : int64_t{0});
    const int64_t row_bytes = std::max<int64_t>((Bytes(row) * int64_t{sizeof(T)}).value(), 1);
    const Bytes weights = Bytes(shape_.gates * shape_.hidden * (shape_.features + shape_.hidden)) *
                          int64_t{sizeof(T)};
    const int64_t bytes = std::max(kStretchBytes.value(), weights.value() / kWeightsOfAStretch);
    const int64_t wanted = std::max(bytes / row_bytes, kStretchRows);
    const int64_t rows = std::min(wanted, std::max<int64_t>(room.value(), 0) / row_bytes);
    const int64_t most = std::max<int64_t>(rows / std::max<int64_t>(shape_.batch, 1), 1);
    const int64_t stretches = (shape_.sequence + most - 1) / most;
    stretch_ = stretches == 0 ? 0 : (shape_.sequence + stretches - 1) / stretches;
  }

  // The last stretch reaches back.
  int64_t FirstStep(int64_t number) const {
    return std::min(number * stretch_, shape_.sequence - stretch_);
  }

  static const int32_t* Lengths(const KernelCall& call) {
    return RecurrentPorts::kLengths < call.inputs.size()
               ? static_cast<const int32_t*>(call.inputs[RecurrentPorts::kLengths])
               : nullptr;
  }

  static const T* Input(const KernelCall& call, size_t port) {
    return static_cast<const T*>(call.inputs[port]);
  }

  // Rows by step, where they do not lie as steps take them.
  void Gather(const KernelCall& call, int64_t direction, int64_t number, int64_t share,
              T* rows) const {
    const T* const data = Input(call, RecurrentPorts::kData);
    const int64_t count = stretch_ * shape_.batch;
    for (int64_t i = count * share / shares_; i < count * (share + 1) / shares_; ++i) {
      const int64_t item = i % shape_.batch;
      const int64_t time =
          shape_.TimeOf(Lengths(call), direction, FirstStep(number) + i / shape_.batch, item);
      std::copy_n(data + shape_.Row(std::max<int64_t>(time, 0), item) * shape_.features,
                  shape_.features, rows + i * shape_.features);
    }
  }

  void Sum(const KernelCall& call, int64_t direction, int64_t number, int64_t share,
           const Memory& memory) const {
    const T* rows = memory.rows;
    if (!gathers_) {
      // As they lie: by time, which runs against the steps in a reversed direction.
      const int64_t time = shape_.IsReversed(direction)
                               ? shape_.sequence - stretch_ - FirstStep(number)
                               : FirstStep(number);
      rows = Input(call, RecurrentPorts::kData) + time * shape_.batch * shape_.features;
    }
    const auto index = static_cast<size_t>(direction);
    if constexpr (std::is_same_v<T, float>) {
      if (quantized_) {
        std::fill_n(memory.sums, sums_size(), T(0));
        quantized_products_[index].AddTo(call, rows, RangeOfData(call), memory.sums);
        return;
      }
    }
    const GateAddend<T> bias{.data = memory.bias, .gate_stride = shape_.hidden};
    if (shares_ == 1) {
      products_[index].Run(rows, Input(call, RecurrentPorts::kWeights), bias, memory.sums,
                           call.workspace);
    } else if (share < cut_.rows * cut_.columns) {
      products_[index].RunBlock(BlockOfShare(cut_, stretch_ * shape_.batch, shape_.hidden, share),
                                rows, bias, memory.sums);
    }
  }

  // What lies behind the longest item decides no scale of quantised layers.
  FloatRange RangeOfData(const KernelCall& call) const {
    const int32_t* const lengths = Lengths(call);
    int64_t longest = lengths == nullptr ? shape_.sequence : 0;
    for (int64_t item = 0; lengths != nullptr && item < shape_.batch; ++item) {
      longest = std::max<int64_t>(longest, lengths[item]);
    }
    return RangeOfFloats(static_cast<const float*>(call.inputs[RecurrentPorts::kData]),
                         longest * shape_.batch * shape_.features);
  }

  RecurrentShape shape_;
  bool gathers_ = false;    // rows of data do not lie as steps take them
  bool quantized_ = false;  // weights are bytes, and rows of data become bytes as they come
  bool joined_ = false;     // gates lie side by side
  int64_t stretch_ = 0;     // steps whose data is worked on at once
  int64_t shares_ = 1;
  ProductShares cut_;                     // of the products
  std::vector<GateProduct<T>> products_;  // by direction
  std::vector<QuantizedGates> quantized_products_;
};

}  // namespace plimsoll::kernels::cpu
