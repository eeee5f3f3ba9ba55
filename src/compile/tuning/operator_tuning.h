#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "compile/prepare_kernels.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// By node: the alternative that tuning chose; that of `usual`, the choices without tuning (empty:
// none), where it chose none. Earlier results are taken
// from the store; others are measured where the options say so, and kept there. `most_workspace` is
// what kernels obey without tuning, where it is not empty; `room` is the largest workspace of each
// node that does not lift the peak. Constants take no more memory than without. What was found in
// the store is counted in `model.fusion`.
Result<std::vector<KernelChoice>> ChooseAlternatives(CompiledModel& model,
                                                     const CompileOptions& options,
                                                     const std::vector<Bytes>& most_workspace,
                                                     const std::vector<Bytes>& room,
                                                     const std::vector<KernelChoice>& usual);

// Packed constants on the heap, for kernels that are tried and thrown away. Not thread-safe.
class TemporaryPacking : public kernels::PackedWeights {
 public:
  Result<const void*> Pack(const void* data, Bytes plain, std::string_view layout, Bytes packed,
                           const Fill& fill) override;
  void Forget(const void*, Bytes) override {}
  Bytes more() const { return more_; }  // than the plain forms
  std::shared_ptr<const void> memory() const { return memory_; }

 private:
  using Tensors = std::vector<kernels::HostTensor>;
  std::shared_ptr<Tensors> memory_ = std::make_shared<Tensors>();
  Bytes more_;
};

}  // namespace plimsoll::compile
