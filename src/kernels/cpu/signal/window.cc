#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/moved_element.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Tables of weights for spectra: windows of raised cosines, and the bands of the mel scale.
namespace plimsoll::kernels::cpu {
namespace {

// a - b cos(x) + c cos(2x), x going once around the circle.
struct Cosines {
  double constant;
  double first;
  double second;
};

KernelPointer WritesNumbers(graph::DataType type, std::vector<double> numbers) {
  return MakeKernel([type, numbers = std::move(numbers)](const KernelCall& call) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      StoreDouble(type, call.outputs[0], static_cast<int64_t>(i), numbers[i]);
    }
  });
}

// A symmetric window is periodic over one place less than it has.
Result<KernelPointer> MakeWindow(const KernelSite& site, const Cosines& cosines) {
  const int64_t size = site.outputs[0].elements();
  const bool periodic = site.attributes().Int("periodic", 1) != 0;
  const auto period = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  std::vector<double> numbers;
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    numbers.push_back(cosines.constant - cosines.first * std::cos(angle) +
                      cosines.second * std::cos(2 * angle));
  }
  return WritesNumbers(site.outputs[0].type, std::move(numbers));
}

Result<KernelPointer> MakeHann(KernelSite& site) { return MakeWindow(site, {0.5, 0.5, 0}); }

Result<KernelPointer> MakeHamming(KernelSite& site) {
  return MakeWindow(site, {25.0 / 46, 21.0 / 46, 0});
}

Result<KernelPointer> MakeBlackman(KernelSite& site) { return MakeWindow(site, {0.42, 0.5, 0.08}); }

double ToMel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double FromMel(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

struct MelBands {
  int64_t rows;  // frequencies of the spectrum
  int64_t bands;
  int64_t transform_length;
};

// Writes one triangle a band: from 0 at the centre of the band below to 1 at its own centre and
// down to 0 at the centre of the band above.
void WriteMelBands(const MelBands& shape, graph::DataType type, double sample_rate, double lowest,
                   double highest, void* to) {
  const double low = ToMel(lowest);
  const double step = (ToMel(highest) - low) / static_cast<double>(shape.bands + 2);
  const auto row_at = [&](int64_t edge) {
    const double hertz = FromMel(low + step * static_cast<double>(edge));
    const double row =
        std::floor(static_cast<double>(shape.transform_length + 1) * hertz / sample_rate);
    return static_cast<int64_t>(std::clamp(std::isnan(row) ? 0 : row, -1e15, 1e15));
  };
  const auto set = [&](int64_t row, int64_t band, double weight) {
    if (row >= 0 && row < shape.rows) StoreDouble(type, to, row * shape.bands + band, weight);
  };
  for (int64_t band = 0; band < shape.bands; ++band) {
    const int64_t below = row_at(band);
    const int64_t center = row_at(band + 1);
    const int64_t above = row_at(band + 2);
    if (center == below) set(center, band, 1);
    for (int64_t row = std::max<int64_t>(below, 0); row <= std::min(center, shape.rows - 1);
         ++row) {
      if (center == below) break;
      set(row, band, static_cast<double>(row - below) / static_cast<double>(center - below));
    }
    for (int64_t row = std::max<int64_t>(center, 0); row < std::min(above, shape.rows); ++row) {
      set(row, band, static_cast<double>(above - row) / static_cast<double>(above - center));
    }
  }
}

Result<KernelPointer> MakeMelWeightMatrix(KernelSite& site) {
  const TensorInfo& out = site.outputs[0];
  const std::vector<int64_t> length = site.inputs[1].Integers();
  if (length.size() != 1) return site.BadInput("dft_length is not one number");
  const MelBands shape{out.dims[0], out.dims[1], length[0]};
  return MakeKernel([shape, type = out.type, rate_type = site.inputs[2].type,
                     low_type = site.inputs[3].type,
                     high_type = site.inputs[4].type](const KernelCall& call) {
    FillElements(type, call.outputs[0], shape.rows * shape.bands, nullptr);
    WriteMelBands(shape, type, LoadDouble(rate_type, call.inputs[2], 0),
                  LoadDouble(low_type, call.inputs[3], 0), LoadDouble(high_type, call.inputs[4], 0),
                  call.outputs[0]);
  });
}

constexpr KernelRow kWindowRows[] = {
    {"", "HannWindow", 17, graph::kNewest, MakeHann},
    {"", "HammingWindow", 17, graph::kNewest, MakeHamming},
    {"", "BlackmanWindow", 17, graph::kNewest, MakeBlackman},
    {"", "MelWeightMatrix", 17, graph::kNewest, MakeMelWeightMatrix},
};

}  // namespace

std::span<const KernelRow> WindowKernels() { return kWindowRows; }

}  // namespace plimsoll::kernels::cpu
