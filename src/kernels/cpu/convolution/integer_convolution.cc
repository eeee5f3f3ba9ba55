#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/convolution/byte_depthwise.h"
#include "kernels/cpu/convolution/convolution_loops.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/cpu/quantization/quantized_operand.h"
#include "kernels/cpu/workspace.h"
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
};

// A few bytes, without a call.
template <typename X>
void CopyBytes(const X* from, int64_t count, X* to) {
  constexpr int64_t kAtOnce = 8;
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) std::memcpy(to + i, from + i, kAtOnce);
  for (; i < count; ++i) to[i] = from[i];
}

constexpr std::string_view kIntegerConvolutionPurpose =
    "what some output places look at, and the weights of some filters";

// A convolution of 8-bit integers, each less its zero point; weights have one, or one a filter. As
// a product: rows are filters, as they lie in the file, columns are output places, of which a
// stretch at a time is gathered. All sums are exact.
class IntegerConvolution {
 public:
  static Result<IntegerConvolution> Make(const KernelSite& site, const Ports& ports,
                                         WorkspaceLayout& workspace);

  const ConvolutionShape& shape() const { return shape_; }

  // `finish` is for all filters of the first image, one a row.
  void Run(const KernelCall& call, const PairFinish& finish) const {
    if (depthwise_) return RunDepthwise(call, finish);
    VisitType<Bytes8>(data_type_, [&]<typename X>() {
      VisitType<Bytes8>(weights_type_, [&]<typename W>() { RunOf<X, W>(call, finish); });
    });
  }

 private:
  using Bytes8 = TypeList<int8_t, uint8_t>;
  static constexpr int64_t kMostStretchBytes = 256 << 10;
  static constexpr int64_t kMostStretch = 1024;
  static constexpr int64_t kFilters = 12;  // whose weights are widened at once

  int64_t depth() const { return shape_.GroupChannels() * shape_.window.KernelSize(); }

  void RunDepthwise(const KernelCall& call, const PairFinish& finish) const;
  template <typename X, typename W>
  void RunOf(const KernelCall& call, const PairFinish& finish) const;
  template <typename X>
  const X* Gather(const X* x, int64_t at, int64_t first, int64_t count, X zero, X* row) const;
  template <typename X>
  void GatherRow(const X* map, const Window::Sizes& tap, int64_t first, int64_t count, X zero,
                 X* row) const;

  Ports ports_ = {};
  ConvolutionShape shape_;
  DataType data_type_ = DataType::kUndefined;
  DataType weights_type_ = DataType::kUndefined;
  int64_t weights_zeros_ = 1;
  bool pointwise_ = false;  // each output place looks at the input place of its number
  int64_t stretch_ = 0;     // output places at once
  int64_t slots_ = 1;       // threads that work at once
  Bytes slot_size_;
  int64_t scratch_ = 0;  // in the workspace
  std::optional<ByteDepthwise> depthwise_;
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
    made.depthwise_.emplace(made.shape_);
    made.slot_size_ = made.depthwise_->slot_size().RoundUp(64);
    if (made.slot_size_ <= site.most_workspace) {
      const int64_t room = site.most_workspace.value() / made.slot_size_.value();
      made.slots_ = std::clamp<int64_t>(std::min(made.depthwise_->units(), room), 1, Threads());
      made.scratch_ = workspace.Take(made.slot_size_ * made.slots_);
      return made;
    }
    made.depthwise_.reset();
  }
  const Window& window = made.shape_.window;
  made.pointwise_ = window.KernelSize() == 1 && window.strides == Window::Sizes{1, 1, 1} &&
                    window.begin == Window::Sizes{0, 0, 0} && window.input == window.output;
  const int64_t pairs = std::max<int64_t>(PairsOf(made.depth()), 1);
  const int64_t places = ColumnGroups(window.OutputSize()) * kGroupColumns;
  made.stretch_ = std::clamp(kMostStretchBytes / (pairs * 4) / kGroupColumns * kGroupColumns,
                             2 * kGroupColumns, kMostStretch);
  made.stretch_ = std::max(std::min(made.stretch_, places), kGroupColumns);
  const auto slot = [&] {
    return GroupPairBytes(made.stretch_, made.depth()).RoundUp(64) +
           RowPairBytes(kFilters, made.depth()).RoundUp(64) + Bytes(2 * made.stretch_).RoundUp(64);
  };
  while (slot() > site.most_workspace && made.stretch_ > kGroupColumns) {
    made.stretch_ = std::max(made.stretch_ / 2 / kGroupColumns * kGroupColumns, kGroupColumns);
  }
  made.slot_size_ = slot();
  const int64_t units = made.shape_.batch * made.shape_.groups *
                        ((window.OutputSize() + made.stretch_ - 1) / made.stretch_);
  const int64_t room = site.most_workspace.value() / std::max<int64_t>(made.slot_size_.value(), 1);
  made.slots_ = std::clamp<int64_t>(std::min(units, room), 1, Threads());
  made.scratch_ = workspace.Take(made.slot_size_ * made.slots_);
  return made;
}

// What output places [first, first + count) see through one tap of one input map.
template <typename X>
void IntegerConvolution::GatherRow(const X* map, const Window::Sizes& tap, int64_t first,
                                   int64_t count, X zero, X* row) const {
  const Window& window = shape_.window;
  const int64_t width = window.output[2];
  const int64_t stride = window.strides[2];
  const int64_t shift = tap[2] * window.dilations[2] - window.begin[2];
  // Columns [inside, outside) look at a place of the input.
  const int64_t inside = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t outside = std::max<int64_t>((window.input[2] - shift + stride - 1) / stride, 0);
  int64_t x = first % width;
  int64_t down = first / width % window.output[1];
  int64_t z = first / width / window.output[1] * window.strides[0] + tap[0] * window.dilations[0] -
              window.begin[0];
  for (int64_t place = first; place < first + count;) {
    const int64_t length = std::min(width - x, first + count - place);
    const int64_t y = down * window.strides[1] + tap[1] * window.dilations[1] - window.begin[1];
    X* const to = row + (place - first) - x;
    int64_t begin = x;
    int64_t end = x + length;
    if (y < 0 || y >= window.input[1] || z < 0 || z >= window.input[0]) {
      begin = end;
    } else {
      begin = std::clamp(inside, x, x + length);
      end = std::clamp(outside, begin, x + length);
    }
    std::fill(to + x, to + begin, zero);
    const X* const from = map + (z * window.input[1] + y) * window.input[2] + shift;
    if (stride == 1) {
      CopyBytes(from + begin, end - begin, to + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = from[i * stride];
    }
    std::fill(to + end, to + x + length, zero);
    place += length;
    x = 0;
    if (++down == window.output[1]) {
      down = 0;
      z += window.strides[0];
    }
  }
}

// Row `at` of the depth (channel, then tap) for these places; `row` is where it may be put.
template <typename X>
const X* IntegerConvolution::Gather(const X* x, int64_t at, int64_t first, int64_t count, X zero,
                                    X* row) const {
  const Window& window = shape_.window;
  if (pointwise_) return x + at * window.InputSize() + first;
  const int64_t tap = at % window.KernelSize();
  const X* const map = x + at / window.KernelSize() * window.InputSize();
  GatherRow(map,
            {tap / (window.kernel[1] * window.kernel[2]), tap / window.kernel[2] % window.kernel[1],
             tap % window.kernel[2]},
            first, count, zero, row);
  return row;
}

template <typename X, typename W>
void IntegerConvolution::RunOf(const KernelCall& call, const PairFinish& finish) const {
  const auto input = [&](size_t i) { return i < call.inputs.size() ? call.inputs[i] : nullptr; };
  const auto* const x_zeros = static_cast<const X*>(input(ports_.data_zero));
  const auto* const w_zeros = static_cast<const W*>(input(ports_.weights_zero));
  const X x_zero = x_zeros == nullptr ? X(0) : *x_zeros;
  const int64_t places = shape_.window.OutputSize();
  const int64_t pairs = PairsOf(depth());
  const int64_t stretches = (places + stretch_ - 1) / stretch_;
  const int64_t filters = shape_.GroupFilters();
  ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      char* memory = At<char>(call.workspace, scratch_ + slot * slot_size_.value());
      auto* const columns = reinterpret_cast<int32_t*>(memory);
      memory += GroupPairBytes(stretch_, depth()).RoundUp(64).value();
      auto* const rows = reinterpret_cast<int32_t*>(memory);
      auto* const bytes =
          reinterpret_cast<X*>(memory + RowPairBytes(kFilters, depth()).RoundUp(64).value());
      for (int64_t unit = slot; unit < shape_.batch * shape_.groups * stretches; unit += slots_) {
        const int64_t first = unit % stretches * stretch_;
        const int64_t group = unit / stretches % shape_.groups;
        const int64_t image = unit / stretches / shape_.groups;
        const int64_t count = std::min(stretch_, places - first);
        const X* const x =
            static_cast<const X*>(call.inputs[ports_.data]) +
            (image * shape_.channels + group * shape_.GroupChannels()) * shape_.window.InputSize();
        for (int64_t p = 0; p < pairs; ++p) {
          const X* const one = Gather(x, 2 * p, first, count, x_zero, bytes);
          const X* const other = 2 * p + 1 < depth()
                                     ? Gather(x, 2 * p + 1, first, count, x_zero, bytes + stretch_)
                                     : nullptr;
          PairRows(one, other, count, x_zero, columns + p * kGroupColumns, pairs * kGroupColumns);
        }
        for (int64_t done = 0; done < filters; done += kFilters) {
          const int64_t some = std::min(kFilters, filters - done);
          const int64_t filter = group * filters + done;
          for (int64_t f = 0; f < some; ++f) {
            WidenRow(static_cast<const W*>(call.inputs[ports_.weights]) + (filter + f) * depth(),
                     depth(), w_zeros == nullptr ? 0 : w_zeros[(filter + f) % weights_zeros_],
                     rows + f * pairs);
          }
          PairFinish part = finish.At(filter, 0);
          const int64_t size = finish.kind == PairFinish::Kind::kInt32 ? 4 : 1;
          part.to = static_cast<char*>(part.to) + (image * shape_.filters * places + first) * size;
          MultiplyPairs(some, count, pairs, rows, pairs, columns, part);
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
      .weights = call.inputs[ports_.weights],
      .weights_signed = weights_type_ == DataType::kInt8,
      .weights_zeros = input(ports_.weights_zero),
      .weights_zero_count = weights_zeros_};
  ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      void* const scratch = At(call.workspace, scratch_ + slot * slot_size_.value());
      for (int64_t unit = slot; unit < depthwise_->units(); unit += slots_) {
        depthwise_->Run(unit, operands, finish, scratch);
      }
    }
  });
}

Result<KernelPointer> MakeConvInteger(KernelSite& site) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(IntegerConvolution made, IntegerConvolution::Make(site, {0, 2, 1, 3}, workspace));
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
  const int64_t scales_at = workspace.Take(Bytes(filters) * 4);
  PLIMSOLL_ASSIGN(IntegerConvolution made, IntegerConvolution::Make(site, {0, 2, 3, 5}, workspace));
  const DataType type = site.outputs[0].type;
  if (!IsByte(type)) {
    return site.Unsupported(StrCat("there is no quantized convolution into ", graph::Name(type)));
  }
  const int64_t scales = site.inputs[4].elements();
  const bool sized = scales > 0 && site.inputs[1].elements() > 0 && site.inputs[6].elements() > 0 &&
                     site.inputs[7].elements() > 0;
  if (!sized) return site.BadInput("a scale or zero point has no elements");
  const bool biased = site.has_input(8);
  if (biased && (site.inputs[8].elements() != filters || site.inputs[8].type != DataType::kInt32)) {
    return site.BadInput(StrCat("the bias does not have ", filters, " elements of int32"));
  }
  const DataType scale_type = site.inputs[1].type;
  return MakeKernel(
      [convolution = std::move(made), type, scale_type, scales, biased, filters,
       scales_at](const KernelCall& call) {
        const double x_scale = LoadDouble(scale_type, call.inputs[1], 0);
        const double y_scale = LoadDouble(scale_type, call.inputs[6], 0);
        auto* const by_filter = At<float>(call.workspace, scales_at);
        for (int64_t filter = 0; filter < filters; ++filter) {
          const double w_scale = LoadDouble(scale_type, call.inputs[4], filter % scales);
          by_filter[filter] = static_cast<float>(x_scale * w_scale / y_scale);
        }
        convolution.Run(
            call,
            {.kind = type == DataType::kInt8 ? PairFinish::Kind::kInt8 : PairFinish::Kind::kUint8,
             .to = call.outputs[0],
             .row_stride = convolution.shape().window.OutputSize(),
             .scales = by_filter,
             .bias = biased ? static_cast<const int32_t*>(call.inputs[8]) : nullptr,
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
