#include "kernels/cpu/product/packed_operand.h"

#include "kernels/host_value.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

using onednn::Form;
using onednn::Primitive;

namespace {

bool IsPackedOnce(const KernelSite& site, size_t input) {
  return site.inputs[input].constant && site.packed_weights != nullptr;
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
    PLIMSOLL_ASSIGN(HostTensor scratchpad,
                    AllocateOnHeap(graph::DataType::kUint8, {reorder.scratchpad().value()}));
    const auto fill = [&](void* packed) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        PLIMSOLL_TRY(reorder.Run(
            {.source = static_cast<const std::byte*>(tensor.data) + piece * given.size().value(),
             .destination = static_cast<std::byte*>(packed) + piece * wanted.size().value(),
             .scratchpad = scratchpad.data.get()}));
      }
      return Status();
    };
    PLIMSOLL_ASSIGN(operand.packed_,
                    site.packed_weights->Pack(
                        tensor.data, tensor.size(),
                        StrCat("onednn ", pieces, " of ", given.Text(), " to ", wanted.Text()),
                        wanted.size() * pieces, fill));
    return operand;
  }
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
