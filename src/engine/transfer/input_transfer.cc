#include "engine/transfer/input_transfer.h"

namespace plimsoll::engine {

std::vector<InputTransfer> FuseInputs(std::span<const Bytes> sizes, Bytes input_fusion_size) {
  InputTransfer fused{.inputs = {}, .fused = true};
  std::vector<InputTransfer> alone;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (input_fusion_size > Bytes(0) && sizes[i] <= input_fusion_size) {
      fused.inputs.push_back(i);
    } else {
      alone.push_back({.inputs = {i}});
    }
  }
  std::vector<InputTransfer> transfers;
  if (!fused.inputs.empty()) transfers.push_back(std::move(fused));
  transfers.insert(transfers.end(), alone.begin(), alone.end());
  return transfers;
}

}  // namespace plimsoll::engine
