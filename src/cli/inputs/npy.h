#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// NumPy's file format (versions 1 and 2): arrays of numbers, bool, complex and text. Column order
// of numbers and big-endian elements are converted. Types that NumPy does not have (bfloat16, 8-bit
// floats, 4-bit integers) are refused. Errors are kBadFile with the place and reason.
Result<kernels::HostTensor> ReadNpy(const std::filesystem::path& file);
// The same from a stream that can seek; `where` names it in errors.
Result<kernels::HostTensor> ReadNpy(std::istream& in, const std::string& where);
Status WriteNpy(const std::filesystem::path& file, const kernels::HostTensor& tensor);

}  // namespace plimsoll::cli
