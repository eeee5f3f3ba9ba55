#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/kernel.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::kernels {

// Where the executor sends what touches memory of a device: kernels, copies and fills, done one
// after the other. Addresses are the device's; either side of a copy may be memory of the host.
// What is sent may be done later: it uses its addresses until Finish returns, or until something is
// refused: then nothing is under way any more.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual Status Run(const Kernel& kernel, const KernelCall& call) = 0;
  virtual Status Copy(void* to, const void* from, Bytes size) = 0;
  virtual Status Fill(void* at, uint8_t value, Bytes size) = 0;
  // Waits until everything is done, and fails as the first of it failed; what was sent after that
  // was left out. Errors are told once.
  virtual Status Finish() = 0;
  // Whether everything is done already; waits for nothing.
  virtual Result<bool> IsDone() { return true; }
  // Kernels that have not begun are left out, and Finish fails so, unless something failed before.
  virtual void Cancel(const Error& /*reason*/) {}
};

// Does everything at once, in memory that the host reaches.
class HostQueue final : public Queue {
 public:
  Status Run(const Kernel& kernel, const KernelCall& call) override { return kernel.Run(call); }
  Status Copy(void* to, const void* from, Bytes size) override {
    if (size > Bytes(0)) std::memcpy(to, from, static_cast<size_t>(size.value()));
    return {};
  }
  Status Fill(void* at, uint8_t value, Bytes size) override {
    if (size > Bytes(0)) std::memset(at, value, static_cast<size_t>(size.value()));
    return {};
  }
  Status Finish() override { return {}; }
};

}  // namespace plimsoll::kernels
