#pragma once

#include <mutex>
#include <vector>

#include "device/cuda/cuda_cards.h"

namespace plimsoll::device {

// The one kernel of our own: it looks at memory where it lies. Thread-safe.
class CudaByteCount {
 public:
  explicit CudaByteCount(CudaCards& cards)
      : cards_(cards), loaded_(static_cast<size_t>(cards.devices())) {}
  ~CudaByteCount();

  // As CudaDevice::CountOtherBytes.
  Status Launch(CudaCall& call, cuda::Stream stream, Address at, Bytes size, uint8_t value,
                Address counter);

 private:
  struct Loaded {
    cuda::Module module = nullptr;  // null: not loaded yet
    cuda::Kernel kernel = nullptr;
  };
  Result<cuda::Kernel> KernelOf(CudaCall& call);

  CudaCards& cards_;
  std::mutex mutex_;
  std::vector<Loaded> loaded_;  // by device
};

}  // namespace plimsoll::device
