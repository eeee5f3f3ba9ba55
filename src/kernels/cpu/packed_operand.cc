#include "kernels/cpu/packed_operand.h"

#include "kernels/host_value.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

using onednn::Form;
using onednn::Primitive;

Result<PackedOperand> PackedOperand::Make(const KernelSite& site, size_t input, const Form& given,
                                          const Form& wanted, WorkspaceLayout& workspace) {
  PackedOperand operand;
  if (given == wanted) return operand;
  PLIMSOLL_ASSIGN(Primitive reorder, onednn::MakeReorder(given, wanted));
  const TensorInfo& tensor = site.inputs[input];
  const Bytes unpacked = wanted.size() + reorder.scratchpad();
  if (tensor.constant && site.packed_weights != nullptr &&
      site.packed_weights->Wants(tensor.data, tensor.size(), wanted.size(), unpacked)) {
    PLIMSOLL_ASSIGN(HostTensor scratchpad,
                    AllocateOnHeap(graph::DataType::kUint8, {reorder.scratchpad().value()}));
    PLIMSOLL_ASSIGN(
        operand.packed_,
        site.packed_weights->Pack(tensor.data, tensor.size(),
                                  StrCat("onednn ", given.Text(), " to ", wanted.Text()),
                                  wanted.size(), [&](void* packed) {
                                    return reorder.Run({.source = tensor.data,
                                                        .destination = packed,
                                                        .scratchpad = scratchpad.data.get()});
                                  }));
    return operand;
  }
  operand.reordered_ = workspace.Take(wanted.size());
  operand.scratchpad_ = workspace.Take(reorder.scratchpad());
  operand.reorder_.emplace(std::move(reorder));
  return operand;
}

Result<const void*> PackedOperand::Get(const void* given, void* workspace) const {
  if (packed_ != nullptr) return packed_;
  if (!reorder_) return given;
  void* const reordered = At(workspace, reordered_);
  PLIMSOLL_TRY(reorder_->Run(
      {.source = given, .destination = reordered, .scratchpad = At(workspace, scratchpad_)}));
  return static_cast<const void*>(reordered);
}

}  // namespace plimsoll::kernels::cpu
