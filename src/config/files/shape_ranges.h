#pragma once

#include <string>
#include <string_view>

#include "config/run_config.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// Reads dynamic_inputs_shape_range:
//
//   getnext:[128 ,3~5, 2~128, -1],[64 ,3~5, 2~128, -1];data:[128 ,3~5, 2~128, -1]
//
// getnext lists dataset inputs, data lists placeholders; each at most once, in either order. A
// number is a fixed size, a~b a range with both ends, -1 any size, [] a scalar. Blanks are allowed
// inside brackets only. Linear in the text. The error's `why` gives the character, counted from 1.
Result<ShapeRanges> ParseShapeRanges(std::string_view text);

// The same grammar, without blanks, getnext first.
std::string Text(const ShapeRanges& ranges);

}  // namespace plimsoll::config
