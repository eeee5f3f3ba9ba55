#include "kernels/processor.h"

#include <dnnl.h>
#include <hwy/highway.h>

#include "kernels/cpu/quantization/tile_unit.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels {

std::string ProcessorAndLibrary() {
  const dnnl_version_t& version = *dnnl_version();
  return StrCat("instructions ", static_cast<int64_t>(dnnl_get_effective_cpu_isa()), " ",
                hwy::SupportedTargets(), " tiles ", static_cast<int64_t>(cpu::UsableTiles()),
                ", oneDNN ", version.major, ".", version.minor, ".", version.patch, " ",
                version.hash);
}

}  // namespace plimsoll::kernels
