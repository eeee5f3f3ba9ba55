#include "engine/cache/program_version.h"

#include "kernels/processor.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

const std::string& ProgramVersion() {
  static const std::string version =
      StrCat("sources ", kSourceHash, "\n", kernels::ProcessorAndLibrary());
  return version;
}

}  // namespace plimsoll::engine
