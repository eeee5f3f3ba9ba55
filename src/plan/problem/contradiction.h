#pragma once

#include <string>
#include <utility>

#include "plimsoll/base/status.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// The one form in which this room refuses a problem. `code` comes without the room's prefix.
inline Error Refuse(std::string_view code, std::string where, std::string why) {
  return {.kind = ErrorKind::kUsage,
          .code = StrCat("plan.", code),
          .what = "this memory problem cannot be planned",
          .where = std::move(where),
          .why = std::move(why),
          .remedy = ""};
}

// "buffer 3 'conv_out'".
inline std::string Describe(const Problem& problem, BufferId id) {
  return StrCat("buffer ", id.index(), " '", problem.buffer(id).name, "'");
}

}  // namespace plimsoll::plan
