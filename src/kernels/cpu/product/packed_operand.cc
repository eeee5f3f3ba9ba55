#include "kernels/cpu/product/packed_operand.h"

#include <algorithm>
#include <optional>

#include "kernels/host_value.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

using onednn::Form;
using onednn::Primitive;

namespace {

// Of a constant that is packed: read, then let go.
constexpr int64_t kSliceBytes = int64_t{1} << 20;
constexpr int64_t kSliceEntries[] = {16, 64};  // whole blocks: of most forms, of any

bool IsPackedOnce(const KernelSite& site, size_t input) {
  return site.inputs[input].constant && site.packed_weights != nullptr;
}

// Entries of a slice, each of so many bytes: the fewest that both forms can be cut at; none where
// there are none.
std::optional<int64_t> SliceStep(int64_t entry, const Form& given, const Form& wanted) {
  for (const int64_t blocks : kSliceEntries) {
    const int64_t step = std::max<int64_t>(kSliceBytes / entry / blocks, 1) * blocks;
    if (given.Slice(0, step).present() && wanted.Slice(0, step).present()) return step;
  }
  return std::nullopt;
}

// A large constant comes in slices of its first dimension, so that it never lies in memory twice.
// False where its forms cannot be cut so, and nothing was done.
Result<bool> PackSlices(const TensorInfo& tensor, const Form& given, const Form& wanted,
                        PackedWeights& store, void* packed) {
  const int64_t entries = tensor.dims[0];
  const int64_t entry = tensor.size().value() / std::max<int64_t>(entries, 1);
  if (tensor.size().value() <= kSliceBytes) return false;
  const std::optional<int64_t> step = SliceStep(entry, given, wanted);
  if (!step || *step >= entries) return false;
  for (int64_t first = 0; first < entries; first += *step) {
    const int64_t count = std::min(*step, entries - first);
    const Form from = given.Slice(first, count);
    const Form to = wanted.Slice(first, count);
    PLIMSOLL_ASSIGN(Primitive reorder, onednn::MakeReorder(from, to));
    PLIMSOLL_TRY(reorder.Build());
    PLIMSOLL_ASSIGN(const HostTensor scratchpad,
                    AllocateOnHeap(graph::DataType::kUint8, {reorder.scratchpad().value()}));
    PLIMSOLL_TRY(reorder.Run(
        {.source = tensor.data, .destination = packed, .scratchpad = scratchpad.data.get()}));
    store.Forget(static_cast<const std::byte*>(tensor.data) + first * entry, Bytes(count * entry));
  }
  return true;
}

}  // namespace

Result<PackedOperand> PackedOperand::Make(const KernelSite& site, size_t input, const Form& given,
                                          const Form& wanted, int64_t pieces,
                                          WorkspaceLayout& workspace) {
  PackedOperand operand;
  operand.given_size_ = given.size();
  operand.wanted_size_ = wanted.size();
  if (given == wanted) return operand;
  PLIMSOLL_ASSIGN(Primitive reorder, onednn::MakeReorder(given, wanted));
  const TensorInfo& tensor = site.inputs[input];
  const Bytes unpacked = wanted.size() + reorder.scratchpad();
  if (IsPackedOnce(site, input) &&
      site.packed_weights->Wants(tensor.data, tensor.size(), wanted.size() * pieces, unpacked)) {
    const auto fill = [&](void* packed) -> Status {
      if (pieces == 1) {
        PLIMSOLL_ASSIGN(const bool done,
                        PackSlices(tensor, given, wanted, *site.packed_weights, packed));
        if (done) return {};
      }
      PLIMSOLL_TRY(reorder.Build());
      PLIMSOLL_ASSIGN(const HostTensor scratchpad,
                      AllocateOnHeap(graph::DataType::kUint8, {reorder.scratchpad().value()}));
      for (int64_t piece = 0; piece < pieces; ++piece) {
        PLIMSOLL_TRY(reorder.Run(
            {.source = static_cast<const std::byte*>(tensor.data) + piece * given.size().value(),
             .destination = static_cast<std::byte*>(packed) + piece * wanted.size().value(),
             .scratchpad = scratchpad.data.get()}));
      }
      return {};
    };
    PLIMSOLL_ASSIGN(operand.packed_,
                    site.packed_weights->Pack(
                        tensor.data, tensor.size(),
                        StrCat("onednn ", pieces, " of ", given.Text(), " to ", wanted.Text()),
                        wanted.size() * pieces, fill));
    return operand;
  }
  if (!site.looked_at) PLIMSOLL_TRY(reorder.Build());
  operand.reordered_ = workspace.Take(wanted.size());
  operand.scratchpad_ = workspace.Take(reorder.scratchpad());
  operand.reorder_.emplace(std::move(reorder));
  return operand;
}

Result<Bytes> PackedOperand::Workspace(const KernelSite& site, size_t input, const Form& given,
                                       const Form& wanted) {
  if (given == wanted || IsPackedOnce(site, input)) return Bytes();
  PLIMSOLL_ASSIGN(const Primitive reorder, onednn::MakeReorder(given, wanted));
  WorkspaceLayout workspace;
  workspace.Take(wanted.size());
  workspace.Take(reorder.scratchpad());
  return workspace.total();
}

Result<const void*> PackedOperand::Get(const void* given, int64_t piece, void* workspace) const {
  if (packed_ != nullptr) {
    return static_cast<const void*>(static_cast<const std::byte*>(packed_) +
                                    piece * wanted_size_.value());
  }
  const void* const from = static_cast<const std::byte*>(given) + piece * given_size_.value();
  if (!reorder_) return from;
  void* const reordered = At(workspace, reordered_);
  PLIMSOLL_TRY(reorder_->Run(
      {.source = from, .destination = reordered, .scratchpad = At(workspace, scratchpad_)}));
  return static_cast<const void*>(reordered);
}

}  // namespace plimsoll::kernels::cpu
