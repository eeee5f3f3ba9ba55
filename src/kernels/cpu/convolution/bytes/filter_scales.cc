#include "kernels/cpu/convolution/bytes/filter_scales.h"

#include "kernels/cpu/quantization/quantized_operand.h"
#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

FilterScales::FilterScales(const KernelSite& site, const Ports& ports, int64_t filters,
                           bool nearest, WorkspaceLayout& workspace)
    : ports_(ports),
      filters_(filters),
      nearest_(nearest),
      type_(site.inputs[ports.data].type),
      weight_scales_(site.inputs[ports.weights].elements()) {
  bool known = true;
  bool assumed = false;
  for (const size_t port : {ports.data, ports.weights, ports.results}) {
    known = known && site.inputs[port].constant;
    assumed = assumed || site.inputs[port].assumed;
  }
  if (known) {
    constants_.resize(static_cast<size_t>(nearest ? 2 * filters : filters));
    if (assumed) return;
    Fill(site.inputs[ports.data].data, site.inputs[ports.weights].data,
         site.inputs[ports.results].data, constants_.data(), constants_.data() + filters);
    return;
  }
  scales_at_ = workspace.Take(Bytes(filters) * 4);
  if (nearest) rests_at_ = workspace.Take(Bytes(filters) * 4);
}

FilterScales::Lines FilterScales::For(const KernelCall& call) const {
  if (!constants_.empty()) {
    return {.scales = constants_.data(),
            .rests = nearest_ ? constants_.data() + filters_ : nullptr};
  }
  auto* const scales = At<float>(call.workspace, scales_at_);
  auto* const rests = nearest_ ? At<float>(call.workspace, rests_at_) : nullptr;
  Fill(call.inputs[ports_.data], call.inputs[ports_.weights], call.inputs[ports_.results], scales,
       rests);
  return {.scales = scales, .rests = rests};
}

void FilterScales::Fill(const void* data, const void* weights, const void* results, float* scales,
                        float* rests) const {
  const auto x = static_cast<float>(LoadDouble(type_, data, 0));
  const auto y = static_cast<float>(LoadDouble(type_, results, 0));
  for (int64_t filter = 0; filter < filters_; ++filter) {
    const auto w = static_cast<float>(LoadDouble(type_, weights, filter % weight_scales_));
    const SumScale of_sums = SumScale::Of(x, w, y, nearest_);
    scales[filter] = of_sums.scale;
    if (nearest_) rests[filter] = of_sums.rest;
  }
}

}  // namespace plimsoll::kernels::cpu
