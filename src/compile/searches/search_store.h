#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::compile {

// Where the answers of long searches stay from one compilation to the next, also of another
// process. A request is all that its answer depends on, but for the version of the program. An
// answer that comes back is checked as if a stranger had made it; no answer is always right.
class SearchStore {
 public:
  virtual ~SearchStore() = default;
  virtual std::optional<std::string> Find(const std::string& request) = 0;
  virtual void Keep(const std::string& request, std::string answer) = 0;
};

}  // namespace plimsoll::compile
