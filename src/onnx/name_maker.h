#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "onnx/wire/records.h"

namespace plimsoll::onnx {

// Makes names for what inlined functions bring: the wanted one, or "wanted_2" and so on where that
// is taken by the file or by another expansion.
class NameMaker {
 public:
  // Every value name in the graph and in the bodies inside it is taken from now on.
  void Take(const GraphRecord& graph);

  // `base` itself where that is free.
  std::string Make(std::string base);

 private:
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int64_t> next_number_;
};

}  // namespace plimsoll::onnx
