#pragma once

#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// Live bytes over time as a small picture in text, the peak's height on the left:
//
//   1.5 MiB ┤  ▂▇█▅
//           ┤▃▇████▆▁
//         0 └──────────
std::string WaterlinePicture(const std::vector<Bytes>& live, int width, int height);

}  // namespace plimsoll::cli
