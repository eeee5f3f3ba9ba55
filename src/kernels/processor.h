#pragma once

#include <string>

namespace plimsoll::kernels {

// What kernels and packed weights depend on beyond our own code: the instructions that this
// processor has, and the version of the library that kernels are made with.
std::string ProcessorAndLibrary();

}  // namespace plimsoll::kernels
