#include "engine/input_transfer.h"

#include <algorithm>
#include <cstring>

#include "plimsoll/base/text.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

device::Address HostAddress(const void* data) { return reinterpret_cast<device::Address>(data); }

}  // namespace

InputTransfer::InputTransfer(device::Device& device, device::DeviceId id, device::StreamId stream,
                             int64_t input_fusion_size)
    : device_(device), id_(id), stream_(stream), threshold_(input_fusion_size) {}

InputTransfer::~InputTransfer() {
  // A device that refuses leaves nothing to be done about it here.
  (void)FinishPending().ok();
  Release();
}

bool InputTransfer::IsFused(Bytes size) const {
  return threshold_ > Bytes(0) && size <= threshold_;
}

Status InputTransfer::FinishPending() {
  if (!pending_) return {};
  PLIMSOLL_TRY(device_.SynchronizeStream(id_, stream_));
  pending_ = false;
  return {};
}

void InputTransfer::Release() {
  if (block_.size > Bytes(0)) (void)device_.memory().FreePlain(id_, block_.base).ok();
  block_ = {};
  sizes_.clear();
  addresses_.clear();
}

Status InputTransfer::Prepare(std::span<const Bytes> sizes) {
  if (std::equal(sizes.begin(), sizes.end(), sizes_.begin(), sizes_.end())) return {};
  PLIMSOLL_TRY(FinishPending());
  std::vector<Bytes> offsets(sizes.size());
  Bytes end;
  Bytes fused_end;
  for (const bool fused : {true, false}) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (IsFused(sizes[i]) != fused) continue;
      offsets[i] = end.RoundUp(plan::kZeroCopyAlignment);
      end = offsets[i] + sizes[i];
    }
    if (fused) fused_end = end;
  }
  device::AddressRange block;
  if (end > Bytes(0)) {
    PLIMSOLL_ASSIGN(block.base,
                    device_.memory().AllocatePlain(id_, end, device::MemoryType::kDevice));
    block.size = end;
  }
  Release();
  block_ = block;
  sizes_.assign(sizes.begin(), sizes.end());
  for (const Bytes offset : offsets) {
    addresses_.push_back(block_.base + static_cast<device::Address>(offset.value()));
  }
  staging_.resize(static_cast<size_t>(fused_end.value()));
  return {};
}

Status InputTransfer::Send(std::span<const HostInput> inputs) {
  const bool as_prepared =
      std::equal(inputs.begin(), inputs.end(), sizes_.begin(), sizes_.end(),
                 [](const HostInput& input, Bytes size) { return input.size == size; });
  if (!as_prepared) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "run.transfer",
                 .what = "the inputs were not sent",
                 .where = StrCat(inputs.size(), " inputs"),
                 .why = "their sizes are not those that were prepared",
                 .remedy = "prepare the transfer for these sizes"};
  }
  PLIMSOLL_TRY(FinishPending());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!IsFused(inputs[i].size) || inputs[i].size == Bytes(0)) continue;
    std::memcpy(staging_.data() + (addresses_[i] - block_.base), inputs[i].data,
                static_cast<size_t>(inputs[i].size.value()));
  }
  if (!staging_.empty()) {
    pending_ = true;
    PLIMSOLL_TRY(device_.Copy(id_, stream_, block_.base, HostAddress(staging_.data()),
                              Bytes(static_cast<int64_t>(staging_.size()))));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsFused(inputs[i].size)) continue;
    pending_ = true;
    PLIMSOLL_TRY(
        device_.Copy(id_, stream_, addresses_[i], HostAddress(inputs[i].data), inputs[i].size));
  }
  return {};
}

}  // namespace plimsoll::engine
