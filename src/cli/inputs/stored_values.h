#pragma once

#include <filesystem>

#include "graph/value_type.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// A value that the standard's test data stores in a .pb file, of the declared type.
Result<kernels::HostValue> ReadHostValue(const std::filesystem::path& file,
                                         const graph::ValueType& declared);

}  // namespace plimsoll::cli
