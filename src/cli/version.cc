#include "cli/version.h"

namespace plimsoll::cli {

std::string Version() { return PLIMSOLL_VERSION; }

}  // namespace plimsoll::cli
