#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/cpu/recurrent/gate_rows.h"
#include "kernels/cpu/recurrent/recurrent_activation.h"

// What one step makes of the gates' sums, for each kind of cell. A cell is given the sums of one
// item, or some columns of them, gate by gate `stride` elements apart, and its states, which it
// renews.
namespace plimsoll::kernels::cpu {

template <typename T>
struct CellStep {
  T* gates = nullptr;
  int64_t stride = 0;            // from one gate to the next
  const T* before = nullptr;     // the hidden state of the step before
  T* hidden = nullptr;           // becomes that of this step
  T* cell = nullptr;             // LSTM
  const T* peepholes = nullptr;  // LSTM: of this direction and column, or null
  const T* data = nullptr;       // GRU: of the last gate, which has what the state adds to it
  const T* late_bias = nullptr;  // LSTM: of the data, then of the state, or null: is in the sums
  int64_t size = 0;              // columns
  int64_t whole = 0;             // columns of the layer
  T clip = 0;

  T* gate(int64_t number) const { return gates + number * stride; }
  void Clip(T* row) const {
    for (int64_t i = 0; clip > 0 && i < size; ++i) row[i] = std::clamp(row[i], -clip, clip);
  }
  void AddLateBias(int64_t number) const {
    if (late_bias == nullptr) return;
    const T* const data = late_bias + number * whole;
    const T* const state = data + 4 * whole;
    for (int64_t i = 0; i < size; ++i) gate(number)[i] += data[i] + state[i];
  }
  void Activate(T* row, const RecurrentActivation& activation) const {
    Clip(row);
    activation.Apply(row, size);
  }
};

template <typename T>
void StepRnn(const CellStep<T>& step, const std::vector<RecurrentActivation>& functions) {
  step.Activate(step.gates, functions[0]);
  std::copy_n(step.gates, step.size, step.hidden);
}

// Gates z, r, h; z and r are activated already.
template <typename T>
void StepGru(const CellStep<T>& step, const std::vector<RecurrentActivation>& functions) {
  const T* const update = step.gate(0);
  T* const candidate = step.gate(2);
  if (step.data != nullptr) {
    const T* const reset = step.gate(1);
    for (int64_t i = 0; i < step.size; ++i) candidate[i] = step.data[i] + reset[i] * candidate[i];
  }
  step.Activate(candidate, functions[1]);
  for (int64_t i = 0; i < step.size; ++i) {
    step.hidden[i] = (1 - update[i]) * candidate[i] + update[i] * step.before[i];
  }
}

// The same in one pass, of a layer of float32 with the standard's functions.
template <typename T>
void StepWholeGru(const CellStep<T>& step) {
  if constexpr (std::is_same_v<T, float>) {
    StepGruRow(step.gates, step.stride, {.clip = step.clip}, step.data, step.before, step.size,
               step.hidden);
  }
}

template <typename T>
void StepWholeLstm(const CellStep<T>& step) {
  if constexpr (std::is_same_v<T, float>) {
    const GateSums sums{
        .clip = step.clip, .peepholes = step.peepholes, .peephole_stride = step.whole};
    StepLstmRow(step.gates, step.stride, sums, step.size, step.cell, step.hidden);
  }
}

// Gates i, o, f, c; peepholes i, o, f.
template <typename T>
void StepLstm(const CellStep<T>& step, const std::vector<RecurrentActivation>& functions,
              bool couples_input_and_forget) {
  T* const input = step.gate(0);
  T* const output = step.gate(1);
  T* const forget = step.gate(2);
  T* const candidate = step.gate(3);
  T* const cell = step.cell;
  const T* const peep = step.peepholes;
  for (int64_t i = 0; peep != nullptr && i < step.size; ++i) {
    input[i] += peep[i] * cell[i];
    forget[i] += peep[2 * step.whole + i] * cell[i];
  }
  for (const int64_t number : {0, 2, 3}) step.AddLateBias(number);
  step.Activate(input, functions[0]);
  if (couples_input_and_forget) {
    for (int64_t i = 0; i < step.size; ++i) forget[i] = 1 - input[i];
  } else {
    step.Activate(forget, functions[0]);
  }
  step.Activate(candidate, functions[1]);
  for (int64_t i = 0; i < step.size; ++i) cell[i] = forget[i] * cell[i] + input[i] * candidate[i];
  for (int64_t i = 0; peep != nullptr && i < step.size; ++i) {
    output[i] += peep[step.whole + i] * cell[i];
  }
  step.AddLateBias(1);
  step.Activate(output, functions[0]);
  std::copy_n(cell, step.size, step.hidden);
  functions[2].Apply(step.hidden, step.size);
  for (int64_t i = 0; i < step.size; ++i) step.hidden[i] *= output[i];
}

}  // namespace plimsoll::kernels::cpu
