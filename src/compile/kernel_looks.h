#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/kernel.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// What is known of a kernel once it was prepared.
struct KernelLook {
  Bytes workspace;
  std::vector<kernels::Trade> trades;  // that it offers
  uint64_t packed_inputs = 0;          // CompiledModel::packed_inputs
};

// What kernels were found to need, by everything that they depend on, so that the attempts of a
// compilation prepare each kernel once. Of weights only the dimensions count, so that equal layers
// are one: what a kernel needs does not depend on their elements. For one compilation, in one
// thread.
class KernelLooks {
 public:
  // What the kernel at the site needs: as it is known, or as `prepare` tells. `context`: what the
  // kernel depends on besides its site.
  Result<KernelLook> At(const kernels::KernelSite& site, std::string_view context,
                        const std::function<Result<KernelLook>()>& prepare);

  // Constants are held by what is known, since their addresses stand for them.
  void Clear() { known_.clear(); }

 private:
  struct Known {
    KernelLook look;
    std::vector<std::shared_ptr<const void>> held;
  };
  std::unordered_map<std::string, Known> known_;
};

}  // namespace plimsoll::compile
