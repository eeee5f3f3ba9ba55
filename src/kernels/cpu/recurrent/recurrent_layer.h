#pragma once

#include <algorithm>

#include "kernels/kernel.h"

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
  // The time that an item is at in a step, of `lengths` or, where null, of the whole sequence; -1
  // when it has ended.
  int64_t TimeOf(const int32_t* lengths, int64_t direction, int64_t step, int64_t item) const {
    const int64_t length = lengths == nullptr ? sequence : lengths[item];
    if (step >= length) return -1;
    return IsReversed(direction) ? length - 1 - step : step;
  }
};

Result<RecurrentShape> ReadRecurrentShape(const KernelSite& site, int64_t gates,
                                          bool quantized = false);

// Of the items, where there are any: each within the sequence.
Status CheckLengths(const RecurrentShape& shape, const int32_t* lengths);

// The states of all items in a direction, as the inputs and outputs have them; null: zeros, and
// nothing to write.
template <typename T>
void LoadState(const RecurrentShape& shape, int64_t direction, const T* initial, T* state) {
  for (int64_t item = 0; item < shape.batch; ++item) {
    T* const to = state + item * shape.hidden;
    if (initial == nullptr) {
      std::fill_n(to, shape.hidden, T(0));
    } else {
      std::copy_n(initial + shape.LastOffset(direction, item), shape.hidden, to);
    }
  }
}

template <typename T>
void StoreState(const RecurrentShape& shape, int64_t direction, const T* state, T* last) {
  for (int64_t item = 0; last != nullptr && item < shape.batch; ++item) {
    std::copy_n(state + item * shape.hidden, shape.hidden,
                last + shape.LastOffset(direction, item));
  }
}

}  // namespace plimsoll::kernels::cpu
