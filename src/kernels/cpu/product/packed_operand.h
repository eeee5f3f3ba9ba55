#pragma once

#include <optional>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/workspace.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// An input in the form that a primitive wants it: as it is, packed once at preparation (constants,
// where the site has a place for packed weights), or reordered into the workspace in each run. It
// may be used in pieces of equal size that lie one behind the other; forms are those of a piece.
class PackedOperand {
 public:
  static Result<PackedOperand> Make(const KernelSite& site, size_t input, const onednn::Form& given,
                                    const onednn::Form& wanted, int64_t pieces,
                                    WorkspaceLayout& workspace);

  // The bytes that Make takes from the workspace.
  static Result<Bytes> Workspace(const KernelSite& site, size_t input, const onednn::Form& given,
                                 const onednn::Form& wanted);

  bool IsReorderedInRuns() const { return reorder_.has_value(); }

  // Where a piece of the operand lies in the form wanted, for the input at `given`.
  Result<const void*> Get(const void* given, int64_t piece, void* workspace) const;

 private:
  const void* packed_ = nullptr;
  Bytes given_size_;
  Bytes wanted_size_;
  std::optional<onednn::Primitive> reorder_;
  int64_t reordered_ = 0;
  int64_t scratchpad_ = 0;
};

}  // namespace plimsoll::kernels::cpu
