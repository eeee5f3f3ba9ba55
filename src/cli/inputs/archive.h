#pragma once

#include <string>
#include <vector>

#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// NumPy's archives of arrays (.npz), stored or deflated, by libzip. Errors are kBadFile (npz.file),
// and kUnsupported (input.reader) where the program was built without it.

// The names of the arrays, in the archive's order.
Result<std::vector<std::string>> ArchiveNames(const std::string& file);

// The array of this name; the only one, whatever its name, where there is no other.
Result<kernels::HostTensor> ReadFromArchive(const std::string& file, const std::string& name);

}  // namespace plimsoll::cli
