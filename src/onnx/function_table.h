#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "onnx/opset_table.h"
#include "onnx/wire/records.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// The functions that a model defines. A node whose domain, operator and overload name one is a call
// and is replaced by the function's body.
class FunctionTable {
 public:
  struct Entry {
    const FunctionRecord* record = nullptr;
    OpsetTable opsets;
  };

  // Fails when two functions have one name, when functions call each other in a circle, when calls
  // are nested too deep, and when expanding all calls of the model would give too many nodes. The
  // count is made before anything is expanded, in time linear in the file.
  static Result<FunctionTable> Make(const Source& source, const ModelRecord& model,
                                    const OpsetTable& opsets);

  const Entry* Find(const NodeRecord& node) const;

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  class ExpansionCounter;

  std::map<Key, Entry> functions_;
};

}  // namespace plimsoll::onnx
