#pragma once

#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/prepared_node_for_tests.h"

namespace plimsoll::kernels::cpu {

inline HostTensor Blocked(const HostTensor& plain) {
  const OneNode node{.op = "BlockChannels",
                     .attributes = {{"block", int64_t{BlockSize()}}},
                     .outputs = 1,
                     .domain = "plimsoll",
                     .version = 1};
  return (*node.Run({plain}))[0];
}

inline std::vector<float> Unblocked(const std::vector<float>& blocked, const Dims& dims,
                                    int64_t channels) {
  const OneNode node{.op = "UnblockChannels",
                     .attributes = {{"channels", channels}},
                     .outputs = 1,
                     .domain = "plimsoll",
                     .version = 1};
  return ElementsOf<float>((*node.Run({Numbers(dims, blocked)}))[0]);
}

}  // namespace plimsoll::kernels::cpu
