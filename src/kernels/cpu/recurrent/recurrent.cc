#include <cstring>
#include <optional>

#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/recurrent/quantized_gates.h"
#include "kernels/cpu/recurrent/recurrent_cells.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

Result<RecurrentShape> ReadRecurrentShape(const KernelSite& site, int64_t gates, bool quantized) {
  using Ports = RecurrentPorts;
  RecurrentShape shape;
  const std::string direction = site.attributes().String("direction", "forward");
  shape.gates = gates;
  shape.batch_first = site.node().version >= 14 && site.attributes().Int("layout", 0) != 0;
  const Dims& data = site.inputs[Ports::kData].dims;
  shape.sequence = data[shape.batch_first ? 1 : 0];
  shape.batch = data[shape.batch_first ? 0 : 1];
  shape.features = data[2];
  // Quantised weights are transposed.
  const size_t rows = quantized ? 2 : 1;
  shape.hidden = site.inputs[Ports::kRecurrence].dims[3 - rows];
  shape.directions = direction == "bidirectional" ? 2 : 1;
  shape.reversed = direction == "reverse";
  shape.clip = site.attributes().Float("clip", 0);
  for (const size_t input : {Ports::kWeights, Ports::kRecurrence}) {
    const Dims& weights = site.inputs[input].dims;
    if (weights[0] != shape.directions || weights[rows] != gates * shape.hidden) {
      return site.BadInput(StrCat("weights ", graph::Text(graph::ShapeOf(weights)), " are not for ",
                                  shape.directions, " directions and ", gates, " gates of ",
                                  shape.hidden));
    }
  }
  return shape;
}

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

template <typename T>
struct Direction {
  GateProduct<T> data;                        // all gates, the times of a stretch
  GateProduct<T> state;                       // gates that take the state itself
  std::optional<GateProduct<T>> reset_state;  // GRU: the last gate takes the reset state
  QuantizedGates quantized_data;              // in place of the first two
  QuantizedGates quantized_state;
  std::vector<RecurrentActivation> functions;
};

// What the data adds to the gates is worked out for a stretch of steps at once: enough rows for a
// product to pay, and no more than stay in the second cache. Weights that push each other out of
// the caches between stretches may have longer ones, of a small part of their size.
constexpr Bytes kStretchBytes = Bytes(256 << 10);
constexpr int64_t kStretchRows = 48;
constexpr int64_t kWeightsOfAStretch = 8;
// Multiplications that take as long as handing the work of a gate to threads.
constexpr int64_t kRegionWork = 100'000;
// Where the parts of one direction lie in the workspace.
struct DirectionPlaces {
  int64_t sums = 0;
  int64_t rows = 0;
  int64_t gates = 0;
  int64_t hidden = 0;
  int64_t cell = 0;
  int64_t reset = 0;
};

// RNN, GRU and LSTM with every attribute of the standard, over float or double. What the data adds
// to the gates is worked out for a stretch of steps at once, the states' part step by step. The
// workspace does not grow with the sequence.
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
    const RecurrentShape& shape = kernel->shape_;
    const bool reverses = shape.reversed || shape.directions == 2;
    kernel->gathers_ = (shape.batch_first && shape.batch > 1) || (kernel->has_lengths_ && reverses);
    WorkspaceLayout workspace;
    const auto take = [&](int64_t elements) {
      return workspace.Take(Bytes(elements) * int64_t{sizeof(T)});
    };
    const bool carries = cell == Cell::kGru && kernel->late_reset_;
    const int64_t slots = DirectionsAtOnce(site, shape);
    for (int64_t slot = 0; slot < slots; ++slot) {
      DirectionPlaces places;
      places.gates = take((shape.gates + (carries ? 1 : 0)) * shape.StateSize());
      places.hidden = take(shape.StateSize());
      if (cell == Cell::kLstm) places.cell = take(shape.StateSize());
      if (cell == Cell::kGru && !carries) places.reset = take(shape.StateSize());
      kernel->places_.push_back(places);
    }
    PLIMSOLL_TRY(kernel->PlanStates(site, workspace));
    const int64_t row =
        shape.gates * shape.hidden + (kernel->gathers_ ? shape.features : int64_t{0});
    const Bytes room = site.most_workspace - workspace.total();
    kernel->PlanStretch(Bytes(row) * int64_t{sizeof(T)}, Bytes(room.value() / slots));
    PLIMSOLL_TRY(kernel->PlanData(site, workspace));
    for (DirectionPlaces& places : kernel->places_) {
      // The sums of one step lie as its gates do, and become them.
      places.sums = kernel->stretch_ > 1 ? take(shape.gates * kernel->stretch_ * shape.StateSize())
                                         : places.gates;
      if (kernel->gathers_) places.rows = take(kernel->stretch_ * shape.batch * shape.features);
    }
    kernel->workspace_ = workspace.total();
    return KernelPointer(std::move(kernel));
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view workspace_purpose() const override {
    return "what the data adds to the gates, for several steps at once";
  }

  Status Run(const KernelCall& call) const override {
    PLIMSOLL_TRY(CheckLengths(call));
    // Without lengths every place is written.
    if (T* const all = Output(call, Ports::kAll); all != nullptr && has_lengths_) {
      std::fill_n(all, shape_.sequence * shape_.directions * shape_.StateSize(), T(0));
    }
    ParallelFor(static_cast<int64_t>(places_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        for (int64_t number = slot; number < shape_.directions;
             number += static_cast<int64_t>(places_.size())) {
          RunDirection(call, number, places_[static_cast<size_t>(slot)]);
        }
      }
    });
    return {};
  }

 private:
  static const T* Input(const KernelCall& call, size_t port) {
    return port < call.inputs.size() ? static_cast<const T*>(call.inputs[port]) : nullptr;
  }
  static T* Output(const KernelCall& call, size_t port) {
    return port < call.outputs.size() ? static_cast<T*>(call.outputs[port]) : nullptr;
  }

  // Two directions run side by side where that is quicker than to share out each step of one after
  // the other.
  static int64_t DirectionsAtOnce(const KernelSite& site, const RecurrentShape& shape) {
    const int64_t threads = Threads();
    const Bytes states = Bytes((shape.gates + 3) * shape.StateSize()) * int64_t{sizeof(T)};
    const bool fits = states * 2 <= site.most_workspace && !site.deterministic;
    if (threads < 2 || shape.directions < 2 || !fits) return 1;
    const int64_t step = shape.gates * shape.batch * shape.hidden * shape.hidden;
    const int64_t saved = step - 2 * step / threads;
    return saved <= 2 * shape.gates * kRegionWork ? 2 : 1;
  }

  // How many steps are prepared at once: stretches of equal length, so that none is much shorter.
  void PlanStretch(Bytes row, Bytes room) {
    const int64_t row_bytes = std::max<int64_t>(row.value(), 1);
    const Bytes weights = Bytes(shape_.gates * shape_.hidden * (shape_.features + shape_.hidden)) *
                          int64_t{sizeof(T)};
    const int64_t bytes = std::max(kStretchBytes.value(), weights.value() / kWeightsOfAStretch);
    const int64_t wanted = std::max(bytes / row_bytes, kStretchRows);
    const int64_t rows = std::min(wanted, std::max<int64_t>(room.value(), 0) / row_bytes);
    const int64_t most = std::max<int64_t>(rows / std::max<int64_t>(shape_.batch, 1), 1);
    const int64_t stretches = (shape_.sequence + most - 1) / most;
    stretch_ = stretches == 0 ? 0 : (shape_.sequence + stretches - 1) / stretches;
  }

  Status PlanData(const KernelSite& site, WorkspaceLayout& workspace) {
    for (int64_t d = 0; d < shape_.directions; ++d) {
      if (quantized_) {
        PLIMSOLL_ASSIGN(directions_[static_cast<size_t>(d)].quantized_data,
                        QuantizedGates::Make(site, Ports::kWeights, Ports::kWeightsScale, shape_, d,
                                             stretch_ * shape_.batch, workspace));
        continue;
      }
      PLIMSOLL_ASSIGN(directions_[static_cast<size_t>(d)].data,
                      GateProduct<T>::Make(site, Ports::kWeights, shape_, d, 0, shape_.gates,
                                           stretch_ * shape_.batch, workspace));
    }
    return {};
  }

  Status PlanStates(const KernelSite& site, WorkspaceLayout& workspace) {
    const int64_t state_gates = cell_ == Cell::kGru ? 2 : shape_.gates;
    for (int64_t d = 0; d < shape_.directions; ++d) {
      Direction<T> direction;
      PLIMSOLL_ASSIGN(direction.functions,
                      ReadRecurrentActivations(site, DefaultsOf(cell_), d, quantized_));
      if (quantized_) {
        PLIMSOLL_ASSIGN(direction.quantized_state,
                        QuantizedGates::Make(site, Ports::kRecurrence, Ports::kRecurrenceScale,
                                             shape_, d, shape_.batch, workspace));
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

  int64_t Length(const KernelCall& call, int64_t item) const {
    if (!has_lengths_) return shape_.sequence;
    return static_cast<const int32_t*>(call.inputs[Ports::kLengths])[item];
  }

  // What lies behind it decides no scale of quantised layers.
  int64_t LongestLength(const KernelCall& call) const {
    int64_t longest = 0;
    for (int64_t item = 0; item < shape_.batch; ++item) {
      longest = std::max(longest, Length(call, item));
    }
    return longest;
  }

  Status CheckLengths(const KernelCall& call) const {
    for (int64_t item = 0; item < shape_.batch; ++item) {
      const int64_t length = Length(call, item);
      if (length >= 0 && length <= shape_.sequence) continue;
      return Error{.kind = ErrorKind::kRunFailed,
                   .code = "kernel.input",
                   .what = "cannot run a recurrent layer",
                   .where = "",
                   .why = StrCat("item ", item, " has ", length, " places where the data has ",
                                 shape_.sequence),
                   .remedy = ""};
    }
    return {};
  }

  // The first step of the stretch that `step` begins; the last stretch reaches back.
  int64_t StretchOf(int64_t step) const { return std::min(step, shape_.sequence - stretch_); }

  // Rows of data for the steps of the stretch from `base` on. As they lie: by time, which runs
  // against the steps in a reversed direction. Gathered: by step.
  const T* DataRows(const KernelCall& call, int64_t number, int64_t base,
                    const DirectionPlaces& places) const {
    const T* const data = Input(call, Ports::kData);
    const int64_t features = shape_.features;
    if (!gathers_) {
      const int64_t time = shape_.IsReversed(number) ? shape_.sequence - stretch_ - base : base;
      return data + time * shape_.batch * features;
    }
    T* const rows = At<T>(call.workspace, places.rows);
    for (int64_t i = 0; i < stretch_ * shape_.batch; ++i) {
      const int64_t item = i % shape_.batch;
      const int64_t time = TimeOf(call, number, base + i / shape_.batch, item);
      std::copy_n(data + shape_.Row(std::max<int64_t>(time, 0), item) * features, features,
                  rows + i * features);
    }
    return rows;
  }

  // Which of those rows a step has for an item.
  int64_t RowOf(int64_t number, int64_t base, int64_t step, int64_t item) const {
    const bool backwards = !gathers_ && shape_.IsReversed(number);
    const int64_t place = backwards ? stretch_ - 1 - (step - base) : step - base;
    return place * shape_.batch + item;
  }

  // What the data and the biases add to every gate in a stretch, [gate][row][hidden]. Biases of
  // quantised layers come last of all.
  void SumData(const KernelCall& call, int64_t number, int64_t base,
               const DirectionPlaces& places) const {
    T* const sums = At<T>(call.workspace, places.sums);
    const T* const bias = Input(call, Ports::kBias);
    const int64_t rows = stretch_ * shape_.batch;
    for (int64_t gate = 0; gate < shape_.gates; ++gate) {
      T* const to = sums + gate * rows * shape_.hidden;
      if (bias == nullptr || rows == 0 || quantized_) {
        std::fill_n(to, rows * shape_.hidden, T(0));
        continue;
      }
      const T* const own = bias + (2 * number * shape_.gates + gate) * shape_.hidden;
      const T* const other = own + shape_.gates * shape_.hidden;
      // With a late reset the state's bias of the last gate is reset too, and comes later.
      const bool both = !(cell_ == Cell::kGru && late_reset_ && gate == 2);
      for (int64_t i = 0; i < shape_.hidden; ++i) to[i] = own[i] + (both ? other[i] : T(0));
      for (int64_t row = 1; row < rows; ++row) {
        std::copy_n(to, shape_.hidden, to + row * shape_.hidden);
      }
    }
    const Direction<T>& direction = directions_[static_cast<size_t>(number)];
    if constexpr (std::is_same_v<T, float>) {
      if (quantized_) {
        direction.quantized_data.AddTo(
            call, DataRows(call, number, base, places),
            RangeOfFloats(Input(call, Ports::kData),
                          LongestLength(call) * shape_.batch * shape_.features),
            sums);
        return;
      }
    }
    direction.data.AddTo(DataRows(call, number, base, places), Input(call, Ports::kWeights), sums,
                         call.workspace);
  }

  void LoadState(const T* initial, int64_t number, T* state) const {
    for (int64_t item = 0; item < shape_.batch; ++item) {
      T* const to = state + item * shape_.hidden;
      if (initial == nullptr) {
        std::fill_n(to, shape_.hidden, T(0));
      } else {
        std::copy_n(initial + shape_.LastOffset(number, item), shape_.hidden, to);
      }
    }
  }

  void StoreState(const T* state, int64_t number, T* last) const {
    for (int64_t item = 0; last != nullptr && item < shape_.batch; ++item) {
      std::copy_n(state + item * shape_.hidden, shape_.hidden,
                  last + shape_.LastOffset(number, item));
    }
  }

  void RunDirection(const KernelCall& call, int64_t number, const DirectionPlaces& places) const {
    T* const hidden = At<T>(call.workspace, places.hidden);
    T* const cell = At<T>(call.workspace, places.cell);
    LoadState(Input(call, Ports::kHidden), number, hidden);
    if (cell_ == Cell::kLstm) LoadState(Input(call, Ports::kCell), number, cell);
    for (int64_t step = 0; step < shape_.sequence; ++step) {
      if (step % stretch_ == 0) SumData(call, number, StretchOf(step), places);
      RunStep(call, number, StretchOf(step / stretch_ * stretch_), step, places);
    }
    StoreState(hidden, number, Output(call, Ports::kLastHidden));
    if (cell_ == Cell::kLstm) StoreState(cell, number, Output(call, Ports::kLastCell));
  }

  // The time that an item is at in a step; -1 when it has ended.
  int64_t TimeOf(const KernelCall& call, int64_t number, int64_t step, int64_t item) const {
    const int64_t length = Length(call, item);
    if (step >= length) return -1;
    return shape_.IsReversed(number) ? length - 1 - step : step;
  }

  void RunStep(const KernelCall& call, int64_t number, int64_t base, int64_t step,
               const DirectionPlaces& places) const {
    const Direction<T>& direction = directions_[static_cast<size_t>(number)];
    const T* const recurrence = Input(call, Ports::kRecurrence);
    const T* const sums = At<T>(call.workspace, places.sums);
    T* const gates = At<T>(call.workspace, places.gates);
    T* const hidden = At<T>(call.workspace, places.hidden);
    T* const carried = gates + shape_.gates * shape_.StateSize();
    for (int64_t item = 0; stretch_ > 1 && item < shape_.batch; ++item) {
      for (int64_t gate = 0; gate < shape_.gates; ++gate) {
        const int64_t row = gate * stretch_ * shape_.batch + RowOf(number, base, step, item);
        std::copy_n(sums + row * shape_.hidden, shape_.hidden,
                    gates + (gate * shape_.batch + item) * shape_.hidden);
      }
    }
    if constexpr (std::is_same_v<T, float>) {
      if (quantized_) {
        direction.quantized_state.AddTo(call, hidden, RangeOfStates(call, step, hidden), gates);
      }
    }
    if (!quantized_) direction.state.AddTo(hidden, recurrence, gates, call.workspace);
    if (cell_ == Cell::kGru) PrepareGru(call, number, gates, carried, places);
    for (int64_t item = 0; item < shape_.batch; ++item) {
      const int64_t time = TimeOf(call, number, step, item);
      if (time >= 0) StepItem(call, number, time, item, places);
    }
  }

  // Of quantised layers: an item that had ended before the last step is left out.
  FloatRange RangeOfStates(const KernelCall& call, int64_t step, const float* hidden) const {
    if (!has_lengths_) return RangeOfFloats(hidden, shape_.StateSize());
    FloatRange range;
    for (int64_t item = 0; item < shape_.batch; ++item) {
      if (step > 0 && step > Length(call, item)) continue;
      const FloatRange own = RangeOfFloats(hidden + item * shape_.hidden, shape_.hidden);
      range.least = std::min(range.least, own.least);
      range.most = std::max(range.most, own.most);
    }
    return range;
  }

  // Activates z and r, and works out what the state adds to h: into it, or into `carried`.
  void PrepareGru(const KernelCall& call, int64_t number, T* gates, T* carried,
                  const DirectionPlaces& places) const {
    const Direction<T>& direction = directions_[static_cast<size_t>(number)];
    const T* const recurrence = Input(call, Ports::kRecurrence);
    const T* const hidden = At<T>(call.workspace, places.hidden);
    const int64_t size = shape_.StateSize();
    const CellStep<T> step{.size = 2 * size, .clip = static_cast<T>(shape_.clip)};
    step.Activate(gates, direction.functions[0]);
    if (!late_reset_) {
      T* const reset = At<T>(call.workspace, places.reset);
      for (int64_t i = 0; i < size; ++i) reset[i] = gates[size + i] * hidden[i];
      direction.reset_state->AddTo(reset, recurrence, gates + 2 * size, call.workspace);
      return;
    }
    const T* const bias = Input(call, Ports::kBias);
    for (int64_t item = 0; item < shape_.batch; ++item) {
      T* const to = carried + item * shape_.hidden;
      if (bias == nullptr) {
        std::fill_n(to, shape_.hidden, T(0));
      } else {
        std::copy_n(bias + (6 * number + 5) * shape_.hidden, shape_.hidden, to);
      }
    }
    direction.reset_state->AddTo(hidden, recurrence, carried, call.workspace);
  }

  void StepItem(const KernelCall& call, int64_t number, int64_t time, int64_t item,
                const DirectionPlaces& places) const {
    const std::vector<RecurrentActivation>& functions =
        directions_[static_cast<size_t>(number)].functions;
    const int64_t offset = item * shape_.hidden;
    T* const gates = At<T>(call.workspace, places.gates);
    const T* const peepholes = cell_ == Cell::kLstm ? Input(call, Ports::kPeepholes) : nullptr;
    CellStep<T> step{.gates = gates + offset,
                     .stride = shape_.StateSize(),
                     .hidden = At<T>(call.workspace, places.hidden) + offset,
                     .cell = At<T>(call.workspace, places.cell) + offset,
                     .size = shape_.hidden,
                     .clip = static_cast<T>(shape_.clip)};
    if (const T* const bias = Input(call, Ports::kBias); quantized_ && bias != nullptr) {
      step.late_bias = bias + 2 * number * shape_.gates * shape_.hidden;
    }
    if (peepholes != nullptr) step.peepholes = peepholes + 3 * number * shape_.hidden;
    if (late_reset_) step.carried = gates + shape_.gates * shape_.StateSize() + offset;
    if (cell_ == Cell::kRnn) StepRnn(step, functions);
    if (cell_ == Cell::kGru) StepGru(step, functions);
    if (cell_ == Cell::kLstm) StepLstm(step, functions, couples_);
    if (T* const all = Output(call, Ports::kAll)) {
      std::copy_n(step.hidden, shape_.hidden, all + shape_.AllOffset(time, number, item));
    }
  }

  Cell cell_ = Cell::kRnn;
  bool quantized_ = false;  // weights are bytes, and rows of data become bytes as they come
  RecurrentShape shape_;
  bool late_reset_ = false;  // GRU: linear_before_reset
  bool couples_ = false;     // LSTM: input_forget
  bool has_lengths_ = false;
  bool gathers_ = false;  // rows of data do not lie as steps take them
  int64_t stretch_ = 0;   // steps whose data is worked on at once
  std::vector<Direction<T>> directions_;
  std::vector<DirectionPlaces> places_;  // of the directions that run side by side
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
