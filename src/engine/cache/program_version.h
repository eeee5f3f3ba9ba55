#pragma once

#include <string>

namespace plimsoll::engine {

// A hash of the sources that plans and packed weights depend on; made by the build.
extern const char kSourceHash[];

// What entries of the disk cache depend on beyond their request: the program and the processor.
const std::string& ProgramVersion();

}  // namespace plimsoll::engine
