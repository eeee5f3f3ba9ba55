#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/host_value.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels {

// Keeps what kernels pack on the heap, for programs that time kernels without an engine.
class HeapWeights final : public PackedWeights {
 public:
  Result<const void*> Pack(const void*, Bytes, std::string_view, Bytes packed,
                           const Fill& fill) override {
    forms_.push_back(*AllocateOnHeap(graph::DataType::kUint8, {packed.value()}));
    PLIMSOLL_TRY(fill(forms_.back().data.get()));
    return static_cast<const void*>(forms_.back().data.get());
  }
  void Forget(const void*, Bytes) override {}

  std::span<const HostTensor> forms() const { return forms_; }

 private:
  std::vector<HostTensor> forms_;
};

// Numbers between -0.5 and 0.5.
inline HostTensor FilledTensor(const Dims& dims) {
  HostTensor tensor = *AllocateOnHeap(graph::DataType::kFloat32, dims);
  auto* const elements = static_cast<float*>(tensor.data.get());
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    elements[i] = static_cast<float>(i * 37 % 101) * 0.01f - 0.5f;
  }
  return tensor;
}

}  // namespace plimsoll::kernels
