#include <algorithm>
#include <array>

#include "kernels/cpu/convolution/product_convolution.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr size_t kWeights = 1;
constexpr size_t kProductTransposedBias = 2;
constexpr int64_t kFloat = sizeof(float);
// Input places of a stretch, and products (filter, tap) that are spread while they are in cache.
constexpr int64_t kStretch = 128;
constexpr int64_t kTileRows = 96;
constexpr Bytes kMostBytes = Bytes(512 << 10);
// Threads that there is room for, where that is scarce.
constexpr int64_t kSlots = 4;
// Rows of a tile that are worth a thread of their own.
constexpr int64_t kLeastTileRows = 12;
constexpr int64_t kPanelsOfThread = 2;  // packed

// to[i] += what stands at i in each of the rows, which begin `stride` apart. Each element is read
// and written once: rows that are added one after the other, each a place further on, wait for what
// the one before has stored.
void AddRowsTo(const float* first, int64_t stride, int64_t rows, int64_t count, float* to) {
  constexpr int64_t kAtOnce = 8;
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    std::array<float, kAtOnce> sums;
    std::copy_n(to + i, kAtOnce, sums.begin());
    for (int64_t row = 0; row < rows; ++row) {
      const float* const from = first + row * stride + i;
      for (size_t k = 0; k < kAtOnce; ++k) sums[k] += from[k];
    }
    std::copy_n(sums.begin(), kAtOnce, to + i);
  }
  for (; i < count; ++i) {
    float sum = to[i];
    for (int64_t row = 0; row < rows; ++row) sum += first[row * stride + i];
    to[i] = sum;
  }
}

// See MakeProductTransposed.
class ProductTransposed final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, const ConvolutionShape& shape) {
    std::unique_ptr<ProductTransposed> kernel(new ProductTransposed(site, shape));
    PLIMSOLL_TRY(kernel->PackWeights(site));
    return KernelPointer(std::move(kernel));
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:product"; }
  std::string_view workspace_purpose() const override {
    return "a stretch of the input, and its products before they are spread";
  }

  Status Run(const KernelCall& call) const override {
    const Window& window = shape_.window;
    const auto* const bias = static_cast<const float*>(call.inputs.size() > kProductTransposedBias
                                                           ? call.inputs[kProductTransposedBias]
                                                           : nullptr);
    const auto* const source = static_cast<const float*>(call.inputs[0]);
    float* const output = static_cast<float*>(call.outputs[0]);
    for (int64_t map = 0; !covers_ && map < shape_.batch * shape_.filters; ++map) {
      std::fill_n(output + map * window.OutputSize(), window.OutputSize(),
                  bias == nullptr ? 0.0f : bias[map % shape_.filters]);
    }
    const auto stretch_of = [&](int64_t number, float* panels) {
      const int64_t unit = number / StretchCount();
      Stretch stretch{.group = unit % shape_.groups, .first = number % StretchCount() * columns_};
      stretch.count = std::min(columns_, window.InputSize() - stretch.first);
      stretch.panels = panels;
      stretch.source = source + unit * shape_.GroupChannels() * window.InputSize() + stretch.first;
      stretch.output = output + unit * shape_.GroupFilters() * window.OutputSize();
      stretch.bias = bias == nullptr ? nullptr : bias + stretch.group * shape_.GroupFilters();
      stretch.weights =
          packed_ != nullptr ? packed_ : static_cast<const float*>(call.inputs[kWeights]);
      stretch.weights += stretch.group * shape_.GroupChannels() * Products();
      return stretch;
    };
    const auto panels_of = [&](int64_t slot) {
      return At<float>(call.workspace, panels_) + slot * shape_.GroupChannels() * columns_;
    };
    const auto tile_of = [&](int64_t slot) {
      return At<float>(call.workspace, tiles_) +
             slot * tile_filters_ * window.KernelSize() * columns_;
    };
    const int64_t stretches = shape_.batch * shape_.groups * StretchCount();
    if (by_stretches_) {
      ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t slot = begin; slot < end; ++slot) {
          for (int64_t number = slot; number < stretches; number += slots_) {
            const Stretch stretch = stretch_of(number, panels_of(slot));
            Pack(stretch, 0, PanelCount(stretch.count));
            RunTiles(stretch, 0, 1, tile_of(slot));
          }
        }
      });
      return {};
    }
    for (int64_t number = 0; number < stretches; ++number) {
      const Stretch stretch = stretch_of(number, panels_of(0));
      ParallelFor(PanelCount(stretch.count), kPanelsOfThread,
                  [&](int64_t begin, int64_t end) { Pack(stretch, begin, end); });
      ParallelFor(slots_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t slot = begin; slot < end; ++slot) {
          RunTiles(stretch, slot, slots_, tile_of(slot));
        }
      });
    }
    return {};
  }

 private:
  ProductTransposed(const KernelSite& site, const ConvolutionShape& shape) : shape_(shape) {
    const Window& window = shape.window;
    const int64_t taps = window.KernelSize();
    for (size_t axis = 0; axis < Window::kAxes; ++axis) {
      const bool dense = window.kernel[axis] == 1 || window.dilations[axis] == 1;
      covers_ =
          covers_ && dense && window.kernel[axis] == window.strides[axis] &&
          window.begin[axis] >= 0 &&
          window.output[axis] + window.begin[axis] <= window.input[axis] * window.strides[axis];
    }
    tile_filters_ = std::clamp<int64_t>(kTileRows / taps, 1, shape.GroupFilters());
    // Stretches do not depend on the threads, since sums are made stretch by stretch.
    const int64_t allowed = std::min(site.most_workspace, kMostBytes).value() / kFloat;
    const auto lines = [&](int64_t slots) {
      return shape.GroupChannels() + slots * tile_filters_ * taps;
    };
    const int64_t most_slots = std::min(kSlots, TileCount());
    const int64_t room = allowed / lines(most_slots) / kPanelWidth * kPanelWidth;
    columns_ = std::clamp(room, kPanelWidth, std::min(kStretch, PanelColumns(window.InputSize())));
    ShareOut(allowed / columns_);
    WorkspaceLayout workspace;
    panels_ = workspace.Take(
        Bytes((by_stretches_ ? slots_ : 1) * shape.GroupChannels() * columns_ * kFloat));
    tiles_ = workspace.Take(Bytes(slots_ * tile_filters_ * taps * columns_ * kFloat));
    workspace_ = workspace.total();
  }

  // What threads take: whole stretches where their results do not meet and there is room for each
  // to pack its own, else tiles of one stretch after the other.
  // `allowed`: lines of a stretch's length that there is room for.
  void ShareOut(int64_t allowed) {
    const int64_t taps = shape_.window.KernelSize();
    const int64_t threads = Threads();
    const int64_t own = shape_.GroupChannels() + tile_filters_ * taps;
    by_stretches_ = covers_ && threads > 1 && threads * own <= allowed;
    slots_ = threads;
    if (by_stretches_) return;
    const int64_t rounds = (TileCount() + threads - 1) / threads;
    const int64_t even = (shape_.GroupFilters() + rounds * threads - 1) / (rounds * threads);
    tile_filters_ = std::clamp((kLeastTileRows + taps - 1) / taps, even, tile_filters_);
    slots_ = std::clamp<int64_t>(threads, 1, TileCount());
    const int64_t tile_lines = tile_filters_ * taps;
    while (slots_ > 1 && shape_.GroupChannels() + slots_ * tile_lines > allowed) --slots_;
  }

  int64_t TileCount() const { return (shape_.GroupFilters() + tile_filters_ - 1) / tile_filters_; }
  int64_t StretchCount() const { return (shape_.window.InputSize() + columns_ - 1) / columns_; }
  int64_t Products() const { return shape_.GroupFilters() * shape_.window.KernelSize(); }
  static int64_t PanelCount(int64_t columns) { return PanelColumns(columns) / kPanelWidth; }

  // [group][filter, tap][channel], so that the products of a sum lie side by side.
  Status PackWeights(const KernelSite& site) {
    const TensorInfo& tensor = site.inputs[kWeights];
    if (!tensor.constant || site.packed_weights == nullptr) return {};
    const int64_t channels = shape_.GroupChannels();
    const int64_t rows = shape_.GroupFilters() * shape_.window.KernelSize();
    const auto fill = [&](void* to) {
      for (int64_t group = 0; group < shape_.groups; ++group) {
        const int64_t first = group * channels * rows;
        TransposeMatrix(static_cast<const float*>(tensor.data) + first, rows,
                        static_cast<float*>(to) + first, channels, rows, channels);
      }
      return Status();
    };
    PLIMSOLL_ASSIGN(
        const void* const packed,
        site.packed_weights->Pack(tensor.data, tensor.size(),
                                  StrCat("transposed ", shape_.groups, "x", channels, "x", rows),
                                  tensor.size(), fill));
    packed_ = static_cast<const float*>(packed);
    return {};
  }

  // Some of the input's places, for one group of one image.
  struct Stretch {
    int64_t group = 0;
    int64_t first = 0;
    int64_t count = 0;
    const float* source = nullptr;
    float* panels = nullptr;
    const float* weights = nullptr;
    const float* bias = nullptr;
    float* output = nullptr;
  };

  // Panels [begin, end) of the stretch's input.
  void Pack(const Stretch& stretch, int64_t begin, int64_t end) const {
    const int64_t column = begin * kPanelWidth;
    PackPanels(stretch.source + column, shape_.window.InputSize(), 1, 0, shape_.GroupChannels(),
               column, std::min(end * kPanelWidth, stretch.count) - column, shape_.GroupChannels(),
               stretch.panels);
  }

  // Every `step`th tile from the first given on.
  void RunTiles(const Stretch& stretch, int64_t first_tile, int64_t step, float* tile) const {
    const int64_t channels = shape_.GroupChannels();
    const int64_t taps = shape_.window.KernelSize();
    const int64_t row_stride = packed_ != nullptr ? channels : 1;
    for (int64_t number = first_tile; number < TileCount(); number += step) {
      const int64_t filter = number * tile_filters_;
      const int64_t filters = std::min(tile_filters_, shape_.GroupFilters() - filter);
      RunGemm({.rows = filters * taps,
               .columns = stretch.count,
               .depth = channels,
               .a = stretch.weights + filter * taps * row_stride,
               .a_row_stride = row_stride,
               .a_depth_stride = packed_ != nullptr ? 1 : Products(),
               .b = {stretch.panels, kPanelWidth, channels * kPanelWidth},
               .c = tile,
               .c_stride = columns_});
      for (int64_t i = 0; i < filters; ++i) {
        Spread(tile + i * taps * columns_,
               stretch.bias == nullptr ? 0.0f : stretch.bias[filter + i], stretch.first,
               stretch.count, stretch.output + (filter + i) * shape_.window.OutputSize());
      }
    }
  }

  // Spreads the products of one filter over its output map, row by row of the input.
  void Spread(const float* products, float bias, int64_t first, int64_t count,
              float* output) const {
    const Window& window = shape_.window;
    for (int64_t done = 0; done < count;) {
      const int64_t place = first + done;
      const int64_t x = place % window.input[2];
      const int64_t some = std::min(count - done, window.input[2] - x);
      const int64_t z = place / window.input[2] / window.input[1];
      const int64_t y = place / window.input[2] % window.input[1];
      for (int64_t a = 0; a < window.kernel[0]; ++a) {
        for (int64_t b = 0; b < window.kernel[1]; ++b) {
          const int64_t to_z = z * window.strides[0] + a * window.dilations[0] - window.begin[0];
          const int64_t to_y = y * window.strides[1] + b * window.dilations[1] - window.begin[1];
          if (to_z < 0 || to_z >= window.output[0] || to_y < 0 || to_y >= window.output[1]) {
            continue;
          }
          const int64_t tap = (a * window.kernel[1] + b) * window.kernel[2];
          SpreadRow(products + tap * columns_ + done, bias, x, some,
                    output + (to_z * window.output[1] + to_y) * window.output[2]);
        }
      }
      done += some;
    }
  }

  // The taps of one row of the kernel, `columns_` apart, over one row of the output.
  void SpreadRow(const float* products, float bias, int64_t x, int64_t count, float* row) const {
    const Window& window = shape_.window;
    const int64_t step = window.strides[2];
    const int64_t begin = x * step - window.begin[2];
    const bool is_pair =
        covers_ && step == 2 && begin >= 0 && begin + 2 * count <= window.output[2];
    if (is_pair) {
      const float* const odd = products + columns_;
      float* const to = row + begin;
      for (int64_t i = 0; i < count; ++i) {
        to[2 * i] = products[i] + bias;
        to[2 * i + 1] = odd[i] + bias;
      }
      return;
    }
    if (step == 1 && !covers_) return AddShifted(products, begin, count, row);
    for (int64_t tap = 0; tap < window.kernel[2]; ++tap, products += columns_) {
      const int64_t at = begin + tap * window.dilations[2];
      const int64_t low = at >= 0 ? 0 : (-at + step - 1) / step;
      const int64_t high =
          at >= window.output[2] ? 0 : std::min((window.output[2] - 1 - at) / step + 1, count);
      for (int64_t i = low; i < high; ++i) {
        float& to = row[at + i * step];
        to = covers_ ? products[i] + bias : to + products[i];
      }
    }
  }

  // The taps of one row of the kernel, each `dilation` places behind the one before, from `begin`
  // on.
  void AddShifted(const float* products, int64_t begin, int64_t count, float* row) const {
    const Window& window = shape_.window;
    const int64_t taps = window.kernel[2];
    const int64_t dilation = window.dilations[2];
    const int64_t last = std::min(begin + count + (taps - 1) * dilation, window.output[2]);
    // Where all taps meet.
    const int64_t low = std::max<int64_t>(begin + (taps - 1) * dilation, 0);
    const int64_t high = std::max(std::min(begin + count, last), low);
    AddRowsTo(products + (low - begin), columns_ - dilation, taps, high - low, row + low);
    for (int64_t at = std::max<int64_t>(begin, 0); at < last; ++at) {
      if (at == low) at = high;
      for (int64_t tap = 0; tap < taps && at < last; ++tap) {
        const int64_t place = at - begin - tap * dilation;
        if (place >= 0 && place < count) row[at] += products[tap * columns_ + place];
      }
    }
  }

  ConvolutionShape shape_;
  bool covers_ = true;  // every output place belongs to exactly one window
  int64_t tile_filters_ = 1;
  int64_t slots_ = 1;
  bool by_stretches_ = false;      // slots take whole stretches, else tiles
  int64_t columns_ = kPanelWidth;  // input places of a stretch
  const float* packed_ = nullptr;
  int64_t panels_ = 0;  // places in the workspace
  int64_t tiles_ = 0;
  Bytes workspace_;
};

}  // namespace

Result<KernelPointer> MakeProductTransposed(const KernelSite& site, const ConvolutionShape& shape) {
  return ProductTransposed::Make(site, shape);
}

}  // namespace plimsoll::kernels::cpu
