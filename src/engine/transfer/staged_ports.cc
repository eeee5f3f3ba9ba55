#include "engine/transfer/staged_ports.h"

#include <cstring>

#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

using compile::PortUse;
using kernels::HostTensor;

bool NeedsCopy(const void* data, PortUse& use) {
  const bool aligned = reinterpret_cast<uintptr_t>(data) % plan::kZeroCopyAlignment == 0;
  if (aligned || use.how == PortUse::How::kCopied) return false;
  use.how = PortUse::How::kCopied;
  use.reason = "its address is not a multiple of 32 bytes";
  return true;
}

}  // namespace

Result<void*> StagedPorts::Input(graph::DataType type, const kernels::Dims& dims, void* data,
                                 PortUse& use) {
  if (!NeedsCopy(data, use)) return data;
  PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(type, dims));
  std::memcpy(copy.data.get(), data, static_cast<size_t>(copy.size().value()));
  inputs_.push_back(std::move(copy));
  return inputs_.back().data.get();
}

Result<void*> StagedPorts::Output(graph::DataType type, const kernels::Dims& dims, void* data,
                                  PortUse& use) {
  if (!NeedsCopy(data, use)) return data;
  PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(type, dims));
  outputs_.push_back({data, std::move(copy)});
  return outputs_.back().from.data.get();
}

void StagedPorts::CopyOutputs() const {
  for (const Waiting& output : outputs_) {
    std::memcpy(output.to, output.from.data.get(), static_cast<size_t>(output.from.size().value()));
  }
}

}  // namespace plimsoll::engine
