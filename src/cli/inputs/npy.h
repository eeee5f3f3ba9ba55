#pragma once

#include <filesystem>

#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// NumPy's file format (versions 1 and 2), row-major little-endian arrays of numbers, bool and
// complex. Types that NumPy does not have (bfloat16, 8-bit floats, 4-bit integers) are refused.
// Errors are kBadFile with the place and reason.
Result<kernels::HostTensor> ReadNpy(const std::filesystem::path& file);
Status WriteNpy(const std::filesystem::path& file, const kernels::HostTensor& tensor);

}  // namespace plimsoll::cli
