#include <algorithm>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/channel_blocks.h"
#include "kernels/cpu/elementwise/fused_activation.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/block_rows.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Elements between whose two passes, line and activation, they stay in the first cache.
constexpr int64_t kScaleShiftPiece = 2048;
constexpr int64_t kMostBlock = 16;

// Data as [batch, rows, places, width]: a row is a channel, or a block of channels that lie side
// by side (width). Without places of their own all channels are one row.
struct ScaleShift {
  int64_t channels = 0;
  int64_t maps = 0;    // batch times rows
  int64_t rows = 0;    // of one image
  int64_t places = 0;  // of a row
  int64_t width = 1;
  bool float_steps = false;
  UnaryLoop activation = nullptr;
  Coefficients coefficients;

  // Places [first, end) of one map.
  void Run(const KernelCall& call, int64_t map, int64_t first, int64_t end) const {
    const int64_t channel = map % rows * width;
    const auto* const factors = static_cast<const float*>(call.inputs[1]) + channel;
    const auto* const offsets = static_cast<const float*>(call.inputs[2]) + channel;
    const int64_t lanes = std::min(width, channels - channel);
    float own_factors[kMostBlock] = {};
    float own_offsets[kMostBlock] = {};
    if (lanes < width) {
      std::copy_n(factors, lanes, own_factors);
      std::copy_n(offsets, lanes, own_offsets);
    }
    const int64_t step = std::max<int64_t>(kScaleShiftPiece / width, 1);
    for (int64_t place = first; place < end; place += step) {
      const int64_t count = std::min(step, end - place);
      const int64_t at = (map * places + place) * width;
      const float* const x = static_cast<const float*>(call.inputs[0]) + at;
      float* const y = static_cast<float*>(call.outputs[0]) + at;
      if (float_steps) {
        const bool sums = call.inputs.size() > 3 && call.inputs[3] != nullptr;
        const float addend = sums ? static_cast<const float*>(call.inputs[3])[channel] : 0;
        RowAffineSteps(x, count, addend, *factors, *offsets, y);
      } else if (width == 1) {
        RowAffine(x, count, *factors, *offsets, y);
      } else if (lanes == width && places == 1) {
        RowNormalize(x, width, 0, 1, factors, offsets, y);
      } else {
        BlockAffine(x, count, width, lanes < width ? own_factors : factors,
                    lanes < width ? own_offsets : offsets, y);
      }
      if (activation != nullptr) activation(y, y, count * width, coefficients);
      for (int64_t p = 0; lanes < width && p < count; ++p) {
        std::fill(y + p * width + lanes, y + (p + 1) * width, 0.0f);
      }
    }
  }
};

// plimsoll::FusedScaleShift, described in graph/operators/product/fused.cc.
Result<KernelPointer> MakeFusedScaleShift(KernelSite& site) {
  if (site.inputs[0].type != graph::DataType::kFloat32) {
    return site.Unsupported(
        StrCat("there is no fused scale and shift of ", graph::Name(site.inputs[0].type)));
  }
  Dims dims = site.inputs[0].dims;
  const bool blocked = site.attributes().Int("input_blocked", 0) != 0;
  ScaleShift line;
  if (blocked) {
    PLIMSOLL_ASSIGN(dims, PlainDims(site, site.inputs[0], site.attributes().Int("channels", 0)));
    line.width = BlockSize();
  }
  line.channels = dims[1];
  line.rows = (dims[1] + line.width - 1) / line.width;
  line.places = ElementCount(std::span(dims).subspan(2));
  line.float_steps = site.attributes().Int("float_steps", 0) != 0;
  if (line.float_steps && blocked)
    return site.BadInput("steps are of channels that are not blocked");
  if (!blocked && line.places == 1 && !line.float_steps) {
    line.width = line.channels;
    line.rows = 1;
  }
  line.maps = dims[0] * line.rows;
  PLIMSOLL_ASSIGN(const FusedActivation activation, ReadActivation(site));
  line.activation = activation.Float32Loop();
  line.coefficients = activation.coefficients();
  for (const size_t input : {1, 2, 3}) {
    if (input == 3 && !site.has_input(input)) continue;
    if (site.inputs[input].elements() != line.channels) {
      return site.BadInput(StrCat("input ", input, " does not have ", line.channels, " elements"));
    }
  }
  return MakeKernel([line](const KernelCall& call) {
    const int64_t all = line.maps * line.places;
    const int64_t grain = std::max<int64_t>(kElementGrain / std::max<int64_t>(line.width, 1), 1);
    ParallelFor(all, grain, [&](int64_t begin, int64_t end) {
      for (int64_t place = begin; place < end;) {
        const int64_t map = place / line.places;
        const int64_t last = std::min(end, (map + 1) * line.places);
        line.Run(call, map, place - map * line.places, last - map * line.places);
        place = last;
      }
    });
  });
}

constexpr KernelRow kFusedScaleShiftRows[] = {
    {"plimsoll", "FusedScaleShift", 1, graph::kNewest, MakeFusedScaleShift},
};

}  // namespace

std::span<const KernelRow> FusedScaleShiftKernels() { return kFusedScaleShiftRows; }

}  // namespace plimsoll::kernels::cpu
