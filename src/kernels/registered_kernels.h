#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kernels/kernel_table.h"
#include "plimsoll/base/status.h"

namespace plimsoll::kernels {

// A kernel for an operator that the program brings along (graph/registered_operators.h). One table
// for the process. Thread-safe.
void RegisterKernel(std::string domain, std::string name, int since, int until,
                    std::function<Result<KernelPointer>(KernelSite& site)> make);

// Null where the program registered none of that name and version.
const KernelRow* FindRegisteredKernel(std::string_view domain, std::string_view name, int version);

}  // namespace plimsoll::kernels
