#include <optional>

#include "base/processor_caches.h"
#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/recurrent/data_sums.h"
#include "kernels/cpu/recurrent/recurrent_cells.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "kernels/threads/phases.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using Ports = RecurrentPorts;

enum class Cell { kRnn, kGru, kLstm };

int64_t GatesOf(Cell cell) {
  if (cell == Cell::kRnn) return 1;
  return cell == Cell::kGru ? 3 : 4;
}

constexpr std::string_view kDefaults[] = {"Sigmoid", "Tanh", "Tanh"};

std::span<const std::string_view> DefaultsOf(Cell cell) {
  if (cell == Cell::kRnn) return std::span(kDefaults).subspan(1, 1);
  return std::span(kDefaults).first(cell == Cell::kGru ? 2 : 3);
}

// What one direction does with its states.
template <typename T>
struct Direction {
  GateProduct<T> state;                       // gates that take the state itself
  std::optional<GateProduct<T>> reset_state;  // GRU: the last gate takes the reset state
  QuantizedGates quantized_state;             // in place of the first
  std::vector<RecurrentActivation> functions;
  bool has_default_functions = false;
};

// Multiplications of a step that are worth a thread of their own, and of a whole layer.
constexpr int64_t kShareWork = int64_t{1} << 16;
constexpr int64_t kRegionWork = 100'000;
// Of a step: with more, multiplying takes longer than reading the weights.
constexpr int64_t kFewItems = 8;

// Where the parts of one direction lie in the workspace.
struct DirectionPlaces {
  int64_t bias = 0;
  int64_t sums = 0;
  int64_t rows = 0;
  int64_t gates = 0;
  int64_t hidden[2] = {};
  int64_t cell = 0;
  int64_t reset = 0;
};

// RNN, GRU and LSTM with every attribute of the standard, over float or double. What the data adds
// to the gates is worked out for a stretch of steps at once, the states' part step by step. The
// workspace does not grow with the sequence. Threads share out the rows and columns of every step
// in one region: who works on a column of a gate works on that column of all gates and of the
// states, so that steps wait for each other once, or twice in a GRU with an early reset. Where no
// threads share a step, all gates are one product. Every number is the same however many threads
// there are.
template <typename T>
class RecurrentKernel final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, Cell cell, bool quantized = false) {
    auto kernel = std::make_unique<RecurrentKernel>();
    kernel->cell_ = cell;
    kernel->quantized_ = quantized;
    PLIMSOLL_ASSIGN(kernel->shape_, ReadRecurrentShape(site, GatesOf(cell), quantized));
    kernel->late_reset_ = site.attributes().Int("linear_before_reset", 0) != 0;
    kernel->couples_ = site.attributes().Int("input_forget", 0) != 0;
    kernel->has_lengths_ = site.has_input(Ports::kLengths);
    kernel->has_peepholes_ = cell == Cell::kLstm && site.has_input(Ports::kPeepholes);
    const RecurrentShape& shape = kernel->shape_;
    kernel->joined_ = !quantized && !kernel->resets_early() &&
                      (Threads() < 2 || kernel->StepWork() < 2 * kShareWork);
    WorkspaceLayout workspace;
    PLIMSOLL_TRY(kernel->PlanStates(site, workspace));
    const int64_t lanes = kernel->DirectionsAtOnce(site);
    kernel->PlaceStates(lanes, site.has_input(Ports::kBias), workspace);
    const bool reverses = shape.reversed || shape.directions == 2;
    const bool gathers =
        (shape.batch_first && shape.batch > 1) || (kernel->has_lengths_ && reverses);
    const Bytes room((site.most_workspace - workspace.total()).value() / lanes);
    kernel->data_.emplace(shape, gathers, quantized, kernel->joined_, room);
    PLIMSOLL_TRY(kernel->data_->MakeProducts(site, workspace));
    for (DirectionPlaces& places : kernel->places_) {
      // The sums of one step lie as its gates do, and become them.
      places.sums =
          kernel->data_->stretch() > 1 ? Take(kernel->data_->sums_size(), workspace) : places.gates;
      places.rows = Take(kernel->data_->rows_size(), workspace);
    }
    kernel->ShareOut();
    kernel->workspace_ = workspace.total();
    return KernelPointer(std::move(kernel));
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view workspace_purpose() const override {
    return "what the data adds to the gates, for several steps at once";
  }

  Status Run(const KernelCall& call) const override {
    PLIMSOLL_TRY(CheckLengths(shape_, Lengths(call)));
    // Without lengths every place is written.
    if (T* const all = Output(call, Ports::kAll); all != nullptr && has_lengths_) {
      std::fill_n(all, shape_.sequence * shape_.directions * shape_.StateSize(), T(0));
    }
    const auto lanes = static_cast<int>(places_.size());
    const int64_t phases = data_->stretches() * data_->phases() + shape_.sequence * PhasesOfAStep();
    for (int64_t first = 0; first < shape_.directions; first += lanes) {
      for (int lane = 0; lane < lanes; ++lane) Begin(call, first + lane, MemoryOf(call, lane));
      RunPhases({.lanes = lanes, .shares = static_cast<int>(shares_), .count = phases},
                [&](int lane, int64_t phase, int share) {
                  RunPhase(call, first + lane, phase, share, MemoryOf(call, lane));
                });
      for (int lane = 0; lane < lanes; ++lane) End(call, first + lane, MemoryOf(call, lane));
    }
    return {};
  }

 private:
  // The parts of one direction.
  struct Memory {
    DataSums<T>::Memory data;
    T* bias = nullptr;
    T* gates = nullptr;  // of a GRU with a late reset: and what the data adds to the last one
    T* hidden[2] = {};   // before and after each step by turns
    T* cell = nullptr;
    T* reset = nullptr;
  };

  static const T* Input(const KernelCall& call, size_t port) {
    return port < call.inputs.size() ? static_cast<const T*>(call.inputs[port]) : nullptr;
  }
  static T* Output(const KernelCall& call, size_t port) {
    return port < call.outputs.size() ? static_cast<T*>(call.outputs[port]) : nullptr;
  }
  static int64_t Take(int64_t elements, WorkspaceLayout& workspace) {
    return workspace.Take(Bytes(elements) * int64_t{sizeof(T)});
  }

  bool resets_early() const { return cell_ == Cell::kGru && !late_reset_; }
  bool resets_late() const { return cell_ == Cell::kGru && late_reset_; }
  int64_t PhasesOfAStep() const { return resets_early() ? 2 : 1; }
  // From gate to gate and from item to item, in the gates of a step.
  int64_t GateStride() const { return joined_ ? shape_.hidden : shape_.StateSize(); }
  int64_t ItemStride() const { return joined_ ? shape_.gates * shape_.hidden : shape_.hidden; }
  // Bytes that a step of one direction reads.
  int64_t StateWeights() const {
    const Bytes weights = Bytes(shape_.gates * shape_.hidden * shape_.hidden) * int64_t{sizeof(T)};
    return weights.value();
  }
  static bool StaysInCache(int64_t bytes) { return bytes <= SecondCacheSize().value() / 4 * 3; }
  // Of all gates and all columns.
  int64_t StepWork() const { return shape_.gates * shape_.batch * shape_.hidden * shape_.hidden; }

  Status PlanStates(const KernelSite& site, WorkspaceLayout& workspace) {
    const int64_t state_gates = cell_ == Cell::kGru ? 2 : shape_.gates;
    for (int64_t d = 0; d < shape_.directions; ++d) {
      Direction<T> direction;
      PLIMSOLL_ASSIGN(direction.functions,
                      ReadRecurrentActivations(site, DefaultsOf(cell_), d, quantized_));
      direction.has_default_functions = AreSigmoidThenTanh(direction.functions);
      if (quantized_) {
        PLIMSOLL_ASSIGN(direction.quantized_state,
                        QuantizedGates::Make(site, Ports::kRecurrence, Ports::kRecurrenceScale,
                                             shape_, d, shape_.batch, workspace));
        directions_.push_back(std::move(direction));
        continue;
      }
      if (joined_) {
        PLIMSOLL_ASSIGN(direction.state,
                        GateProduct<T>::MakeJoined(site, Ports::kRecurrence, shape_, d,
                                                   shape_.batch, workspace));
        directions_.push_back(std::move(direction));
        continue;
      }
      PLIMSOLL_ASSIGN(direction.state, GateProduct<T>::Make(site, Ports::kRecurrence, shape_, d, 0,
                                                            state_gates, shape_.batch, workspace));
      if (cell_ == Cell::kGru) {
        PLIMSOLL_ASSIGN(direction.reset_state,
                        GateProduct<T>::Make(site, Ports::kRecurrence, shape_, d, 2, 1,
                                             shape_.batch, workspace));
      }
      directions_.push_back(std::move(direction));
    }
    return {};
  }

  // Whether threads can share out the columns of a step; where the weights are not packed, each
  // product is shared out for itself.
  bool has_blocks() const {
    return !quantized_ && std::ranges::all_of(directions_, [](const Direction<T>& direction) {
      return direction.state.has_blocks() &&
             (!direction.reset_state || direction.reset_state->has_blocks());
    });
  }

  // Two directions run side by side where threads need not wait for each other in every step, or
  // where that is quicker than to share out each product of one after the other. Not where the
  // weights that a thread reads in every step stay in its second cache for one direction alone.
  int64_t DirectionsAtOnce(const KernelSite& site) const {
    const int64_t threads = Threads();
    const Bytes states = Bytes((shape_.gates + 3) * shape_.StateSize()) * int64_t{sizeof(T)};
    const bool fits = states * 2 <= site.most_workspace && !site.deterministic;
    if (threads < 2 || shape_.directions < 2 || !fits) return 1;
    if (StepWork() * shape_.sequence < kRegionWork) return 1;
    const bool only_alone =
        StaysInCache(StateWeights() / threads) && !StaysInCache(StateWeights() * 2 / threads);
    if (has_blocks() && shape_.batch <= kFewItems && only_alone) return 1;
    const int64_t saved = StepWork() - 2 * StepWork() / threads;
    return has_blocks() || saved <= 2 * shape_.gates * kRegionWork ? 2 : 1;
  }

  void PlaceStates(int64_t lanes, bool has_bias, WorkspaceLayout& workspace) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      DirectionPlaces places;
      if (has_bias) places.bias = Take(shape_.gates * shape_.hidden, workspace);
      places.gates = Take((shape_.gates + (resets_late() ? 1 : 0)) * shape_.StateSize(), workspace);
      for (int64_t& hidden : places.hidden) hidden = Take(shape_.StateSize(), workspace);
      if (cell_ == Cell::kLstm) places.cell = Take(shape_.StateSize(), workspace);
      if (resets_early()) places.reset = Take(shape_.StateSize(), workspace);
      places_.push_back(places);
    }
  }

  void ShareOut() {
    const auto lanes = static_cast<int64_t>(places_.size());
    const int64_t most =
        std::min<int64_t>((Threads() + lanes - 1) / lanes, kMostPhaseShares / lanes);
    const int64_t wanted = std::min(most, StepWork() / kShareWork);
    if (wanted >= 2 && has_blocks() && data_->has_blocks()) {
      const ProductTiles tiles = TilesOfProduct(shape_.batch, shape_.hidden);
      cut_ = SharesOfProduct(tiles.rows, tiles.columns, wanted);
      shares_ = cut_.rows * cut_.columns;
      data_->ShareOut(shares_);
    }
    const bool in_one_thread = shares_ > 1 || lanes > 1 || Threads() == 1;
    turns_ = has_blocks() && in_one_thread && shape_.batch <= kFewItems &&
             !StaysInCache(StateWeights() / shares_);
  }

  Memory MemoryOf(const KernelCall& call, int lane) const {
    const DirectionPlaces& places = places_[static_cast<size_t>(lane)];
    const auto at = [&](int64_t place) { return At<T>(call.workspace, place); };
    T* const bias = Input(call, Ports::kBias) == nullptr ? nullptr : at(places.bias);
    return {.data = {.bias = bias, .sums = at(places.sums), .rows = at(places.rows)},
            .bias = bias,
            .gates = at(places.gates),
            .hidden = {at(places.hidden[0]), at(places.hidden[1])},
            .cell = at(places.cell),
            .reset = at(places.reset)};
  }

  const int32_t* Lengths(const KernelCall& call) const {
    return has_lengths_ ? static_cast<const int32_t*>(call.inputs[Ports::kLengths]) : nullptr;
  }

  // What is there before the first step: states, and what the biases add to each gate. Biases of
  // quantised layers come last of all.
  void Begin(const KernelCall& call, int64_t number, const Memory& memory) const {
    LoadState(shape_, number, Input(call, Ports::kHidden), memory.hidden[0]);
    if (cell_ == Cell::kLstm) LoadState(shape_, number, Input(call, Ports::kCell), memory.cell);
    const T* const bias = Input(call, Ports::kBias);
    for (int64_t i = 0; bias != nullptr && i < shape_.gates * shape_.hidden; ++i) {
      const T* const own = bias + 2 * number * shape_.gates * shape_.hidden + i;
      // With a late reset the state's bias of the last gate is reset too, and comes later.
      const bool both = !resets_late() || i < 2 * shape_.hidden;
      memory.bias[i] = own[0] + (both ? own[shape_.gates * shape_.hidden] : T(0));
    }
  }

  void End(const KernelCall& call, int64_t number, const Memory& memory) const {
    StoreState(shape_, number, memory.hidden[shape_.sequence % 2],
               Output(call, Ports::kLastHidden));
    if (cell_ == Cell::kLstm)
      StoreState(shape_, number, memory.cell, Output(call, Ports::kLastCell));
  }

  // A stretch has phases for its data, then those of its steps.
  void RunPhase(const KernelCall& call, int64_t number, int64_t phase, int64_t share,
                const Memory& memory) const {
    const int64_t in_stretch = data_->phases() + data_->stretch() * PhasesOfAStep();
    const int64_t stretch = phase / in_stretch;
    const int64_t place = phase % in_stretch - data_->phases();
    if (place < 0) {
      data_->RunPhase(call, number, stretch, place + data_->phases(), share, memory.data);
      return;
    }
    const int64_t step = stretch * data_->stretch() + place / PhasesOfAStep();
    const GateAddend<T> sums = data_->OfStep(number, stretch, step, memory.data.sums);
    const ProductBlock block = BlockOfShare(cut_, shape_.batch, shape_.hidden, share);
    if (place % PhasesOfAStep() == 0) {
      SumStates(call, number, step, block, sums, memory);
      if (cell_ == Cell::kGru) PrepareGru(call, number, step, block, sums, memory);
      if (resets_early()) return;
    } else {
      SumResetStates(call, number, step, block, sums, memory);
    }
    for (int64_t item = block.first_row; item < block.first_row + block.rows; ++item) {
      StepItem(call, number, step, item, block, sums, memory);
    }
  }

  void Multiply(const KernelCall& call, int64_t step, const GateProduct<T>& product,
                const ProductBlock& block, const T* a, const GateAddend<T>& addend, T* c) const {
    using Order = FloatProduct::Order;
    if (turns_) {
      product.RunBlock(shares_ > 1 ? block : product.Whole(), a, addend, c,
                       step % 2 == 0 ? Order::kForth : Order::kBack);
    } else if (shares_ > 1) {
      product.RunBlock(block, a, addend, c);
    } else {
      product.Run(a, Input(call, Ports::kRecurrence), addend, c, call.workspace);
    }
  }

  void SumStates(const KernelCall& call, int64_t number, int64_t step, const ProductBlock& block,
                 const GateAddend<T>& sums, const Memory& memory) const {
    const Direction<T>& direction = directions_[static_cast<size_t>(number)];
    const T* const before = memory.hidden[step % 2];
    if constexpr (std::is_same_v<T, float>) {
      if (quantized_) {
        for (int64_t gate = 0; gate < shape_.gates; ++gate) {
          CopyUnlessThere(sums.data + gate * sums.gate_stride, shape_.StateSize(),
                          memory.gates + gate * shape_.StateSize());
        }
        direction.quantized_state.AddTo(call, before, RangeOfStates(call, step, before),
                                        memory.gates);
        return;
      }
    }
    if (joined_ && resets_late()) return SumLateStates(call, number, step, block, sums, memory);
    Multiply(call, step, direction.state, block, before, sums, memory.gates);
  }

  // Of a GRU with a late reset whose gates are joined: to the last one the state's bias is added.
  void SumLateStates(const KernelCall& call, int64_t number, int64_t step,
                     const ProductBlock& block, const GateAddend<T>& sums,
                     const Memory& memory) const {
    const T* const before = memory.hidden[step % 2];
    const T* const bias = LateBias(call, number);
    for (int64_t item = 0; item < shape_.batch; ++item) {
      const T* const data = sums.data + item * sums.row_stride;
      T* const gates = memory.gates + item * ItemStride();
      if (data == gates) {
        std::copy_n(data + 2 * shape_.hidden, shape_.hidden, DataOfLastGate(memory, item));
      } else {
        std::copy_n(data, 2 * shape_.hidden, gates);
      }
      if (bias == nullptr) {
        std::fill_n(gates + 2 * shape_.hidden, shape_.hidden, T(0));
      } else {
        std::copy_n(bias, shape_.hidden, gates + 2 * shape_.hidden);
      }
    }
    Multiply(call, step, directions_[static_cast<size_t>(number)].state, block, before,
             {.data = memory.gates, .row_stride = ItemStride()}, memory.gates);
  }

  const T* LateBias(const KernelCall& call, int64_t number) const {
    const T* const bias = Input(call, Ports::kBias);
    return bias == nullptr ? nullptr : bias + (6 * number + 5) * shape_.hidden;
  }

  // Where it is kept while the gates hold what the state adds, where the sums are the gates.
  T* DataOfLastGate(const Memory& memory, int64_t item) const {
    return memory.gates + 3 * shape_.StateSize() + item * shape_.hidden;
  }

  // Of a GRU with an early reset: what the reset state adds to the last gate.
  void SumResetStates(const KernelCall& call, int64_t number, int64_t step,
                      const ProductBlock& block, GateAddend<T> sums, const Memory& memory) const {
    sums.data += 2 * sums.gate_stride;
    Multiply(call, step, *directions_[static_cast<size_t>(number)].reset_state, block, memory.reset,
             sums, memory.gates + 2 * shape_.StateSize());
  }

  static void CopyUnlessThere(const T* from, int64_t count, T* to) {
    if (from != to) std::copy_n(from, count, to);
  }

  // Of quantised layers: an item that had ended before the last step is left out.
  FloatRange RangeOfStates(const KernelCall& call, int64_t step, const float* hidden) const {
    if (!has_lengths_) return RangeOfFloats(hidden, shape_.StateSize());
    FloatRange range;
    for (int64_t item = 0; item < shape_.batch; ++item) {
      if (step > 0 && step > Lengths(call)[item]) continue;
      const FloatRange own = RangeOfFloats(hidden + item * shape_.hidden, shape_.hidden);
      range.least = std::min(range.least, own.least);
      range.most = std::max(range.most, own.most);
    }
    return range;
  }

  // Activates z and r, where the step does not, and works out what the last gate takes: the reset
  // state, or with a late reset what the state adds to it.
  void PrepareGru(const KernelCall& call, int64_t number, int64_t step, const ProductBlock& block,
                  const GateAddend<T>& sums, const Memory& memory) const {
    const Direction<T>& direction = directions_[static_cast<size_t>(number)];
    const T* const before = memory.hidden[step % 2];
    const int64_t size = shape_.StateSize();
    const CellStep<T> cell{.size = block.columns, .clip = static_cast<T>(shape_.clip)};
    for (int64_t item = block.first_row; item < block.first_row + block.rows; ++item) {
      const int64_t first = item * shape_.hidden + block.first_column;
      T* const gates = memory.gates + item * ItemStride() + block.first_column;
      for (int64_t gate = 0; !StepsWholeRows(direction) && gate < 2; ++gate) {
        cell.Activate(gates + gate * GateStride(), direction.functions[0]);
      }
      for (int64_t i = first; resets_early() && i < first + block.columns; ++i) {
        memory.reset[i] = memory.gates[size + i] * before[i];
      }
      if (!joined_ && resets_late() && sums.data == memory.gates) {
        std::copy_n(gates + 2 * size, block.columns,
                    DataOfLastGate(memory, item) + block.first_column);
      }
    }
    if (joined_ || !resets_late()) return;
    Multiply(call, step, *direction.reset_state, block, before, {.data = LateBias(call, number)},
             memory.gates + 2 * size);
  }

  // Whether a step of an item is one pass (gate_rows.h).
  bool StepsWholeRows(const Direction<T>& direction) const {
    const bool has_form = cell_ == Cell::kLstm ? !couples_ : resets_late();
    return has_form && direction.has_default_functions && !quantized_;
  }

  // The columns of a block of what a step makes of an item.
  void StepItem(const KernelCall& call, int64_t number, int64_t step, int64_t item,
                const ProductBlock& block, const GateAddend<T>& sums, const Memory& memory) const {
    const Direction<T>& direction = directions_[static_cast<size_t>(number)];
    const std::vector<RecurrentActivation>& functions = direction.functions;
    const int64_t column = block.first_column;
    const int64_t offset = item * shape_.hidden + column;
    const int64_t time = shape_.TimeOf(Lengths(call), number, step, item);
    CellStep<T> cell{.gates = memory.gates + item * ItemStride() + column,
                     .stride = GateStride(),
                     .before = memory.hidden[step % 2] + offset,
                     .hidden = memory.hidden[(step + 1) % 2] + offset,
                     .cell = memory.cell + offset,
                     .size = block.columns,
                     .whole = shape_.hidden,
                     .clip = static_cast<T>(shape_.clip)};
    if (time < 0) {
      std::copy_n(cell.before, cell.size, cell.hidden);
      return;
    }
    if (const T* const bias = Input(call, Ports::kBias); quantized_ && bias != nullptr) {
      cell.late_bias = bias + 2 * number * shape_.gates * shape_.hidden + column;
    }
    if (has_peepholes_) {
      cell.peepholes = Input(call, Ports::kPeepholes) + 3 * number * shape_.hidden + column;
    }
    if (resets_late()) {
      cell.data = sums.data == memory.gates
                      ? DataOfLastGate(memory, item) + column
                      : sums.data + 2 * sums.gate_stride + item * sums.row_stride + column;
    }
    const bool whole = StepsWholeRows(direction);
    if (cell_ == Cell::kRnn) StepRnn(cell, functions);
    if (cell_ == Cell::kGru) whole ? StepWholeGru(cell) : StepGru(cell, functions);
    if (cell_ == Cell::kLstm) whole ? StepWholeLstm(cell) : StepLstm(cell, functions, couples_);
    if (T* const all = Output(call, Ports::kAll)) {
      std::copy_n(cell.hidden, cell.size, all + shape_.AllOffset(time, number, item) + column);
    }
  }

  Cell cell_ = Cell::kRnn;
  bool quantized_ = false;  // weights are bytes, and rows of data become bytes as they come
  RecurrentShape shape_;
  bool late_reset_ = false;  // GRU: linear_before_reset
  bool couples_ = false;     // LSTM: input_forget
  bool has_peepholes_ = false;
  bool joined_ = false;  // the gates of an item lie side by side, and are one product
  bool has_lengths_ = false;
  std::optional<DataSums<T>> data_;
  std::vector<Direction<T>> directions_;
  std::vector<DirectionPlaces> places_;  // of the directions that run side by side
  int64_t shares_ = 1;                   // of each phase
  ProductShares cut_;                    // of a step
  bool turns_ = false;                   // steps read the weights from either end by turns
  Bytes workspace_;
};

template <Cell cell>
Result<KernelPointer> MakeRecurrent(KernelSite& site) {
  if (site.inputs[0].type == graph::DataType::kFloat32) {
    return RecurrentKernel<float>::Make(site, cell);
  }
  if (site.inputs[0].type == graph::DataType::kFloat64) {
    return RecurrentKernel<double>::Make(site, cell);
  }
  return site.Unsupported(
      StrCat("there is no recurrent layer of ", graph::Name(site.inputs[0].type)));
}

Result<KernelPointer> MakeDynamicQuantizeLstm(KernelSite& site) {
  if (site.inputs[0].type != graph::DataType::kFloat32) {
    return site.Unsupported(
        StrCat("there is no quantised layer of ", graph::Name(site.inputs[0].type)));
  }
  return RecurrentKernel<float>::Make(site, Cell::kLstm, /*quantized=*/true);
}

constexpr KernelRow kRecurrentRows[] = {
    {"", "RNN", 1, graph::kNewest, WithHalvesWidened<MakeRecurrent<Cell::kRnn>>},
    {"", "GRU", 1, graph::kNewest, WithHalvesWidened<MakeRecurrent<Cell::kGru>>},
    {"", "LSTM", 1, graph::kNewest, WithHalvesWidened<MakeRecurrent<Cell::kLstm>>},
    {graph::kContributedDomain, "DynamicQuantizeLSTM", 1, graph::kNewest, MakeDynamicQuantizeLstm},
};

}  // namespace

std::span<const KernelRow> RecurrentKernels() { return kRecurrentRows; }

}  // namespace plimsoll::kernels::cpu
