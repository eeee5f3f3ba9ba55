#include "kernels/cpu/convolution/bytes/filter_biases.h"

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

FilterBiases::FilterBiases(const KernelSite& site, const Ports& ports, int64_t filters,
                           WorkspaceLayout& workspace)
    : ports_(ports), filters_(filters), data_type_(site.inputs[ports.data].type) {
  const auto known = [&](size_t port) {
    return !site.has_input(port) || site.inputs[port].constant;
  };
  if (known(ports.data_zero) && known(ports.bias)) {
    constant_ = std::make_unique<Constant>();
    constant_->biases.resize(static_cast<size_t>(filters));
  } else {
    biases_at_ = workspace.Take(Bytes(filters) * 4);
  }
}

const int32_t* FilterBiases::For(const KernelCall& call, const int32_t* sums) const {
  if (constant_ == nullptr) {
    auto* const biases = At<int32_t>(call.workspace, biases_at_);
    Fill(call, sums, biases);
    return biases;
  }
  std::call_once(constant_->once, [&] { Fill(call, sums, constant_->biases.data()); });
  return constant_->biases.data();
}

void FilterBiases::Fill(const KernelCall& call, const int32_t* sums, int32_t* biases) const {
  const auto input = [&](size_t i) { return i < call.inputs.size() ? call.inputs[i] : nullptr; };
  const void* const zero = input(ports_.data_zero);
  const auto* const own = static_cast<const int32_t*>(input(ports_.bias));
  const int64_t unsigned_by = data_type_ == graph::DataType::kInt8 ? 128 : 0;
  const auto off =
      static_cast<int32_t>(unsigned_by + (zero == nullptr ? 0 : LoadInteger(data_type_, zero, 0)));
  for (int64_t filter = 0; filter < filters_; ++filter) {
    biases[filter] = (own == nullptr ? 0 : own[filter]) - off * sums[filter];
  }
}

}  // namespace plimsoll::kernels::cpu
