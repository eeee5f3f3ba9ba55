#pragma once

#include <filesystem>
#include <vector>

#include "cli/inputs/npy.h"
#include "plimsoll/base/text.h"

// Inputs and outputs of a run in a folder: in_0.npy, in_1.npy ... and out_0.npy ...
namespace plimsoll {

inline Result<std::vector<kernels::HostValue>> ReadInputs(const std::filesystem::path& folder,
                                                          size_t count) {
  std::vector<kernels::HostValue> inputs;
  for (size_t i = 0; i < count; ++i) {
    PLIMSOLL_ASSIGN(kernels::HostTensor tensor, cli::ReadNpy(folder / StrCat("in_", i, ".npy")));
    inputs.push_back(kernels::HostValue::Of(std::move(tensor)));
  }
  return inputs;
}

inline Status WriteOutputs(const std::filesystem::path& folder,
                           const std::vector<kernels::HostValue>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    PLIMSOLL_TRY(cli::WriteNpy(folder / StrCat("out_", i, ".npy"), outputs[i].tensor));
  }
  return {};
}

}  // namespace plimsoll
