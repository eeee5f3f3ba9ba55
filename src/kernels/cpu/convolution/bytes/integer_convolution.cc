#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/cpu/convolution/bytes/byte_depthwise.h"
#include "kernels/cpu/convolution/bytes/filter_biases.h"
#include "kernels/cpu/convolution/bytes/filter_scales.h"
#include "kernels/cpu/convolution/bytes/word_window.h"
#include "kernels/cpu/convolution/convolution_loops.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/bounded_weights.h"
#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/cpu/quantization/byte_tiles.h"
#include "kernels/cpu/quantization/quantized_operand.h"
#include "kernels/cpu/workspace.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// Which inputs of a node hold what.
struct Ports {
  size_t data;
  size_t data_zero;
  size_t weights;
  size_t weights_zero;
  size_t bias;  // beyond all inputs: none
};

// Of so many columns, or rows, of words.
Bytes WordBytes(int64_t columns, int64_t words) {
  return (Bytes(ColumnGroups(columns) * kGroupColumns * words) * 4).RoundUp(64);
}

constexpr size_t kNoPort = std::numeric_limits<size_t>::max();

constexpr std::string_view kIntegerConvolutionPurpose =
    "what some output places look at, and the weights of some filters";

// A convolution of 8-bit integers, each less its zero point; weights have one, or one a filter. As
// a product: rows are filters, as they lie in the file, columns are output places, of which a
// stretch at a time is gathered. Constant weights that can be bounded meet bytes as they are,
// others 16-bit numbers. All sums are exact.
class IntegerConvolution {
 public:
  static Result<IntegerConvolution> Make(const KernelSite& site, const Ports& ports,
                                         WorkspaceLayout& workspace);

  const ConvolutionShape& shape() const { return shape_; }

  // `finish` is for all filters of the first image, one a row, and has no bias of its own.
  void Run(const KernelCall& call, PairFinish finish) const {
    finish.bias = Biases(call);
    if (depthwise_) return RunDepthwise(call, finish);
    VisitType<Bytes8>(data_type_, [&]<typename X>() {
      VisitType<Bytes8>(weights_type_, [&]<typename W>() { RunOf<X, W>(call, finish); });
    });
  }

 private:
  using Bytes8 = TypeList<int8_t, uint8_t>;
  static constexpr int64_t kMostStretchBytes = 256 << 10;
  static constexpr int64_t kMostStretch = 1024;
  static constexpr int64_t kMostFilterBytes = 128 << 10;
  static constexpr int64_t kMostFilters = 48;
  static constexpr int64_t kLeastPart = 32;
  // Of tiles: words of depth, and multiplications of each of several threads.
  static constexpr int64_t kLeastTileDepth = 24;
  static constexpr int64_t kLeastTileWork = 4'000'000;

  int64_t depth() const { return shape_.GroupChannels() * shape_.window.KernelSize(); }
  // Words (word_window.h) that an output place looks at.
  int64_t words() const { return window_.ChannelWordCount() * shape_.window.KernelSize(); }

  void RunDepthwise(const KernelCall& call, const PairFinish& finish) const;
  void ChooseTiles();
  Status PackBounded(const KernelSite& site, WorkspaceLayout& workspace);
  Status PackPairs(const KernelSite& site);
  void CutForThreads();
  // What a stretch looks at.
  Bytes ColumnBytes() const {
    const Bytes size = WordBytes(stretch_, words());
    return tiles_ == TileUnit::kNone ? size : size + TileOverread();
  }
  // Independent pieces of work: images, groups, stretches of places, parts of a group's filters.
  int64_t Stretches() const { return (shape_.window.OutputSize() + stretch_ - 1) / stretch_; }
  int64_t Parts() const { return (shape_.GroupFilters() + part_ - 1) / part_; }
  int64_t Units() const { return shape_.batch * shape_.groups * Stretches() * Parts(); }
  void MultiplyBounded(int64_t filter, int64_t filters, int64_t places, const int32_t* columns,
                       const PairFinish& finish) const {
    const QuadWeights weights = bounded_->At(filter);
    if (tiles_ == TileUnit::kNone) {
      MultiplyQuadRows(filters, places, words(), weights, columns, finish);
    } else {
      MultiplyTileRows(tiles_, filters, places, words(), weights, columns, finish);
    }
  }
  const int32_t* Biases(const KernelCall& call) const;
  template <typename X, typename W>
  void RunOf(const KernelCall& call, const PairFinish& finish) const;
  template <typename X>
  void GatherPlaces(const X* x, int64_t first, int64_t count, X zero, int32_t* lines,
                    int32_t* columns) const;
  template <typename W>
  void WidenFilter(const W* weights, int64_t filter, int32_t zero, int32_t* pairs) const;

  Ports ports_ = {};
  ConvolutionShape shape_;
  DataType data_type_ = DataType::kUndefined;
  DataType weights_type_ = DataType::kUndefined;
  int64_t weights_zeros_ = 1;
  bool pointwise_ = false;  // each output place looks at the input place of its number
  int64_t stretch_ = 0;     // output places at once
  int64_t block_ = 1;       // filters whose weights are widened at once
  int64_t part_ = 1;        // filters of a group that one thread works on
  int64_t slots_ = 1;       // threads that work at once
  Bytes slot_size_;
  int64_t scratch_ = 0;  // in the workspace
  std::optional<ByteDepthwise> depthwise_;
  WordWindow window_;
  TileUnit tiles_ = TileUnit::kNone;  // of bounded weights
  std::optional<BoundedWeights> bounded_;
  std::optional<FilterBiases> biases_;  // of bounded weights
  const void* packed_ = nullptr;        // other weights in the order of pairs
};

Result<IntegerConvolution> IntegerConvolution::Make(const KernelSite& site, const Ports& ports,
                                                    WorkspaceLayout& workspace) {
  const TensorInfo& data = site.inputs[ports.data];
  const TensorInfo& weights = site.inputs[ports.weights];
  for (const TensorInfo* tensor : {&data, &weights}) {
    if (!IsByte(tensor->type)) {
      return site.Unsupported(
          StrCat("there is no integer convolution of ", graph::Name(tensor->type)));
    }
  }
  IntegerConvolution made;
  made.ports_ = ports;
  made.data_type_ = data.type;
  made.weights_type_ = weights.type;
  PLIMSOLL_ASSIGN(made.shape_,
                  ReadConvolution(site, data.dims, weights.dims, site.outputs[0].dims));
  for (const size_t zero : {ports.data_zero, ports.weights_zero}) {
    if (site.has_input(zero) && site.inputs[zero].elements() < 1) {
      return site.BadInput("a zero point has no elements");
    }
  }
  if (site.has_input(ports.weights_zero)) {
    made.weights_zeros_ = site.inputs[ports.weights_zero].elements();
  }
  if (ByteDepthwise::Fits(made.shape_)) {
    made.depthwise_.emplace(made.shape_, IsByte(site.outputs[0].type));
    made.slot_size_ = made.depthwise_->slot_size().RoundUp(64);
    if (made.slot_size_ <= site.most_workspace) {
      const int64_t room = site.most_workspace.value() / made.slot_size_.value();
      made.slots_ = std::clamp<int64_t>(std::min(made.depthwise_->units(), room), 1, Threads());
      made.scratch_ = workspace.Take(made.slot_size_ * made.slots_);
      PLIMSOLL_TRY(made.depthwise_->Pack(site, ports.weights, ports.weights_zero));
      return made;
    }
    made.depthwise_.reset();
  }
  const Window& window = made.shape_.window;
  made.pointwise_ = window.KernelSize() == 1 && window.strides == Window::Sizes{1, 1, 1} &&
                    window.begin == Window::Sizes{0, 0, 0} && window.input == window.output;
  made.window_ = WordWindow(made.shape_, ChannelWords::kQuads);
  made.ChooseTiles();
  PLIMSOLL_TRY(made.PackBounded(site, workspace));
  if (!made.bounded_) {
    made.tiles_ = TileUnit::kNone;
    made.window_ = WordWindow(made.shape_, ChannelWords::kPairs);
    PLIMSOLL_TRY(made.PackPairs(site));
  }
  const int64_t words = std::max<int64_t>(made.words(), 1);
  const int64_t places = ColumnGroups(window.OutputSize()) * kGroupColumns;
  made.stretch_ = std::clamp(kMostStretchBytes / (words * 4) / kGroupColumns * kGroupColumns,
                             2 * kGroupColumns, kMostStretch);
  made.stretch_ = std::max(std::min(made.stretch_, places), kGroupColumns);
  made.block_ = std::clamp<int64_t>(kMostFilterBytes / (words * 4) / 12 * 12, 12, kMostFilters);
  made.block_ = std::min(made.block_, std::max<int64_t>(made.shape_.GroupFilters(), 1));
  const auto slot = [&] {
    Bytes size = made.ColumnBytes();
    if (!made.bounded_) size += WordBytes(made.block_, words);
    if (!made.pointwise_) size += made.window_.size(made.stretch_).RoundUp(64);
    return size;
  };
  while (slot() > site.most_workspace && made.stretch_ > kGroupColumns) {
    made.stretch_ = std::max(made.stretch_ / 2 / kGroupColumns * kGroupColumns, kGroupColumns);
  }
  made.CutForThreads();
  made.slot_size_ = slot();
  const int64_t room = site.most_workspace.value() / std::max<int64_t>(made.slot_size_.value(), 1);
  made.slots_ = std::clamp<int64_t>(std::min(made.Units(), room), 1, Threads());
  made.scratch_ = workspace.Take(made.slot_size_ * made.slots_);
  return made;
}

// Stretches of places, and parts of the filters, that take several threads the least time: each
// part gathers its places again, and threads wait for the one that has most to do.
void IntegerConvolution::CutForThreads() {
  const int64_t filters = std::max<int64_t>(shape_.GroupFilters(), 1);
  part_ = filters;
  if (Threads() == 1) return;
  // Of gathering a group of places, in filters that it meets in the same time.
  const int64_t gathering = tiles_ == TileUnit::kNone ? 8 : 40;
  int64_t least = kSaturated;
  int64_t best_stretch = stretch_;
  int64_t best_part = part_;
  for (; stretch_ >= kGroupColumns; stretch_ -= kGroupColumns) {
    for (int64_t parts = 1; parts * kLeastPart < filters + kLeastPart; ++parts) {
      part_ = ColumnGroups((filters + parts - 1) / parts) * kGroupColumns;
      const int64_t turns = (Units() + Threads() - 1) / Threads();
      const int64_t time = turns * stretch_ * (gathering + part_);
      if (time >= least) continue;
      least = time;
      best_stretch = stretch_;
      best_part = part_;
    }
  }
  stretch_ = best_stretch;
  part_ = best_part;
}

// Each group of filters begins a tile. A few filters, shallow ones and small shares of a thread
// meet bytes faster without tiles.
void IntegerConvolution::ChooseTiles() {
  const int64_t filters = shape_.GroupFilters();
  const bool whole = shape_.groups == 1 || filters % kGroupColumns == 0;
  tiles_ = whole && filters >= kLeastTileRows ? UsableTiles() : TileUnit::kNone;
  if (tiles_ != TileUnit::kProcessor) return;
  const int64_t work = shape_.batch * shape_.filters * shape_.window.OutputSize() * depth();
  const bool small = Threads() > 1 && work / Threads() < kLeastTileWork;
  if (small || words() < kLeastTileDepth) tiles_ = TileUnit::kNone;
}

// Constant weights that bytes meet as they are, where the site has a place for them.
Status IntegerConvolution::PackBounded(const KernelSite& site, WorkspaceLayout& workspace) {
  const TensorInfo& weights = site.inputs[ports_.weights];
  const int64_t taps = shape_.window.KernelSize();
  const int64_t channels = shape_.GroupChannels();
  const auto reader = [&](int32_t zero) -> BoundedWeights::ReadLine {
    return [&, zero](int64_t filter, int16_t* elements) {
      std::fill_n(elements, words() * 4, int16_t{0});
      VisitType<Bytes8>(weights_type_, [&]<typename W>() {
        const W* const own = static_cast<const W*>(weights.data) + filter * depth();
        if (taps == 1) return WidenRow(own, channels, zero, reinterpret_cast<int32_t*>(elements));
        for (int64_t channel = 0; channel < channels; ++channel) {
          int16_t* const to = elements + channel / 4 * taps * 4 + channel % 4;
          for (int64_t tap = 0; tap < taps; ++tap) {
            to[tap * 4] = static_cast<int16_t>(own[channel * taps + tap] - zero);
          }
        }
      });
    };
  };
  PLIMSOLL_ASSIGN(
      bounded_, BoundedWeights::Pack(
                    site, ports_.weights, ports_.weights_zero,
                    {.lines = shape_.filters, .quads = words(), .tiles = tiles_ != TileUnit::kNone},
                    StrCat("filters of ", taps, " taps"), reader));
  if (bounded_) {
    biases_.emplace(site,
                    FilterBiases::Ports{
                        .data = ports_.data, .data_zero = ports_.data_zero, .bias = ports_.bias},
                    shape_.filters, workspace);
  }
  return {};
}

// Other constant weights in the order of pairs: the bytes of two channels side by side, tap by tap.
Status IntegerConvolution::PackPairs(const KernelSite& site) {
  const TensorInfo& weights = site.inputs[ports_.weights];
  const int64_t taps = shape_.window.KernelSize();
  const Bytes size(shape_.filters * words() * 2);
  // An odd channel more would have to be the zero point's, which a run tells.
  const bool useful = !pointwise_ && weights.constant && shape_.GroupChannels() % 2 == 0 &&
                      site.packed_weights != nullptr;
  if (!useful || !site.packed_weights->Wants(weights.data, weights.size(), size, Bytes())) {
    return {};
  }
  const auto fill = [&](void* packed) {
    const auto* from = static_cast<const uint8_t*>(weights.data);
    auto* to = static_cast<uint8_t*>(packed);
    for (int64_t pair = 0; pair < shape_.filters * shape_.GroupChannels() / 2; ++pair) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        *to++ = from[2 * pair * taps + tap];
        *to++ = from[(2 * pair + 1) * taps + tap];
      }
    }
    return Status();
  };
  PLIMSOLL_ASSIGN(packed_, site.packed_weights->Pack(
                               weights.data, weights.size(),
                               StrCat("bytes of two channels, ", taps, " taps"), size, fill));
  return {};
}

template <typename W>
void IntegerConvolution::WidenFilter(const W* weights, int64_t filter, int32_t zero,
                                     int32_t* to) const {
  if (pointwise_ || packed_ != nullptr) {
    const W* const from = packed_ != nullptr ? static_cast<const W*>(packed_) : weights;
    WidenRow(from + filter * depth(), depth(), zero, to);
    return;
  }
  const int64_t taps = shape_.window.KernelSize();
  const W* const own = weights + filter * depth();
  for (int64_t channel = 0; channel < shape_.GroupChannels(); channel += 2) {
    const bool alone = channel + 1 == shape_.GroupChannels();
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int32_t low = own[channel * taps + tap] - zero;
      const int32_t high = alone ? 0 : own[(channel + 1) * taps + tap] - zero;
      *to++ = static_cast<int32_t>((static_cast<uint32_t>(high) << 16) |
                                   (static_cast<uint32_t>(low) & 0xffffU));
    }
  }
}

// What output places [first, first + count) look at, as groups of columns.
template <typename X>
void IntegerConvolution::GatherPlaces(const X* x, int64_t first, int64_t count, X zero,
                                      int32_t* lines, int32_t* columns) const {
  if (pointwise_) {
    window_.ReadPlaces(x, first, count, zero, columns);
  } else {
    window_.Gather(x, first, count, zero, lines, columns);
  }
}

const int32_t* IntegerConvolution::Biases(const KernelCall& call) const {
  if (bounded_) return biases_->For(call, bounded_->sums());
  return static_cast<const int32_t*>(ports_.bias < call.inputs.size() ? call.inputs[ports_.bias]
                                                                      : nullptr);
}

template <typename X, typename W>
void IntegerConvolution::RunOf(const KernelCall& call, const PairFinish& finish) const {
  const auto input = [&](size_t i) { return i < call.inputs.size() ? call.inputs[i] : nullptr; };
  const auto* const x_zeros = static_cast<const X*>(input(ports_.data_zero));
  const auto* const w_zeros = static_cast<const W*>(input(ports_.weights_zero));
  const X x_zero = x_zeros == nullptr ? X(0) : *x_zeros;
  const int64_t places = shape_.window.OutputSize();
  const int64_t filters = shape_.GroupFilters();
  ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
    const TileShare share(tiles_);
    for (int64_t slot = begin; slot < end; ++slot) {
      char* memory = At<char>(call.workspace, scratch_ + slot * slot_size_.value());
      auto* const columns = reinterpret_cast<int32_t*>(memory);
      memory += ColumnBytes().value();
      auto* const rows = reinterpret_cast<int32_t*>(memory);
      if (!bounded_) memory += WordBytes(block_, words()).value();
      auto* const lines = reinterpret_cast<int32_t*>(memory);
      for (int64_t unit = slot; unit < Units(); unit += slots_) {
        const int64_t begin_filter = unit % Parts() * part_;
        const int64_t end_filter = std::min(begin_filter + part_, filters);
        const int64_t stretch = unit / Parts();
        const int64_t first = stretch % Stretches() * stretch_;
        const int64_t group = stretch / Stretches() % shape_.groups;
        const int64_t image = stretch / Stretches() / shape_.groups;
        const int64_t count = std::min(stretch_, places - first);
        const X* const x =
            static_cast<const X*>(call.inputs[ports_.data]) +
            (image * shape_.channels + group * shape_.GroupChannels()) * shape_.window.InputSize();
        GatherPlaces(x, first, count, x_zero, lines, columns);
        const auto part = [&](int64_t filter) {
          PairFinish made = finish.At(filter, 0);
          const int64_t size = finish.kind == PairFinish::Kind::kInt32 ? 4 : 1;
          made.to = static_cast<char*>(made.to) + (image * shape_.filters * places + first) * size;
          return made;
        };
        if (bounded_) {
          const int64_t filter = group * filters + begin_filter;
          MultiplyBounded(filter, end_filter - begin_filter, count, columns, part(filter));
          continue;
        }
        for (int64_t done = begin_filter; done < end_filter; done += block_) {
          const int64_t some = std::min(block_, end_filter - done);
          const int64_t filter = group * filters + done;
          for (int64_t f = 0; f < some; ++f) {
            WidenFilter(static_cast<const W*>(call.inputs[ports_.weights]), filter + f,
                        w_zeros == nullptr ? 0 : w_zeros[(filter + f) % weights_zeros_],
                        rows + f * words());
          }
          MultiplyPairs(some, count, words(), rows, words(), columns, part(filter));
        }
      }
    }
  });
}

void IntegerConvolution::RunDepthwise(const KernelCall& call, const PairFinish& finish) const {
  const auto input = [&](size_t i) { return i < call.inputs.size() ? call.inputs[i] : nullptr; };
  const void* const x_zero = input(ports_.data_zero);
  const ByteDepthwise::Operands operands{
      .data = call.inputs[ports_.data],
      .data_signed = data_type_ == DataType::kInt8,
      .data_zero = x_zero == nullptr ? 0 : static_cast<int32_t>(LoadInteger(data_type_, x_zero, 0)),
      .weights = {.data = call.inputs[ports_.weights],
                  .is_signed = weights_type_ == DataType::kInt8,
                  .zeros = input(ports_.weights_zero),
                  .zero_count = weights_zeros_}};
  ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      depthwise_->Run(slot, slots_, operands, finish,
                      At(call.workspace, scratch_ + slot * slot_size_.value()));
    }
  });
}

Result<KernelPointer> MakeConvInteger(KernelSite& site) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(IntegerConvolution made,
                  IntegerConvolution::Make(site, {0, 2, 1, 3, kNoPort}, workspace));
  return MakeKernel(
      [convolution = std::move(made)](const KernelCall& call) {
        convolution.Run(call, {.kind = PairFinish::Kind::kInt32,
                               .to = call.outputs[0],
                               .row_stride = convolution.shape().window.OutputSize()});
      },
      workspace.total(), kIntegerConvolutionPurpose);
}

Result<KernelPointer> MakeQLinearConv(KernelSite& site) {
  WorkspaceLayout workspace;
  const int64_t filters = site.inputs[3].dims[0];
  const bool nearest = site.attributes().Int("nearest_bytes", 0) != 0;
  const DataType type = site.outputs[0].type;
  if (!IsByte(type)) {
    return site.Unsupported(StrCat("there is no quantized convolution into ", graph::Name(type)));
  }
  const bool sized = site.inputs[4].elements() > 0 && site.inputs[1].elements() > 0 &&
                     site.inputs[6].elements() > 0 && site.inputs[7].elements() > 0;
  if (!sized) return site.BadInput("a scale or zero point has no elements");
  const bool biased = site.has_input(8);
  if (biased && (site.inputs[8].elements() != filters || site.inputs[8].type != DataType::kInt32)) {
    return site.BadInput(StrCat("the bias does not have ", filters, " elements of int32"));
  }
  FilterScales scales(site, {.data = 1, .weights = 4, .results = 6}, filters, nearest, workspace);
  PLIMSOLL_ASSIGN(IntegerConvolution made,
                  IntegerConvolution::Make(site, {0, 2, 3, 5, 8}, workspace));
  return MakeKernel(
      [convolution = std::move(made), scales = std::move(scales), type](const KernelCall& call) {
        const FilterScales::Lines by_filter = scales.For(call);
        convolution.Run(
            call,
            {.kind = type == DataType::kInt8 ? PairFinish::Kind::kInt8 : PairFinish::Kind::kUint8,
             .to = call.outputs[0],
             .row_stride = convolution.shape().window.OutputSize(),
             .scales = by_filter.scales,
             .scale_rests = by_filter.rests,
             .zero_point = static_cast<int32_t>(LoadInteger(type, call.inputs[7], 0))});
      },
      workspace.total(), kIntegerConvolutionPurpose);
}

constexpr KernelRow kIntegerConvolutionRows[] = {
    {"", "ConvInteger", 10, graph::kNewest, MakeConvInteger},
    {"", "QLinearConv", 10, graph::kNewest, MakeQLinearConv},
};

}  // namespace

std::span<const KernelRow> IntegerConvolutionKernels() { return kIntegerConvolutionRows; }

}  // namespace plimsoll::kernels::cpu
