#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/wire/records.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

inline constexpr int kOldestIrVersion = 3;
inline constexpr int kNewestIrVersion = 14;
inline constexpr int kOldestOpset = 7;
inline constexpr int kNewestOpset = 28;

// Which version of each domain's operators a model or a function means.
class OpsetTable {
 public:
  // Domains that are not imported are as in `otherwise`, where there is one. Fails when a domain is
  // imported twice with different versions, or with one below 1.
  static Result<OpsetTable> Make(const Source& source, const std::vector<OpsetRecord>& imports,
                                 const OpsetTable* otherwise = nullptr);

  // The version to read a node at. A domain of the standard must be imported, and at a version that
  // we know: of versions before 7 only the operators that 7 did not change. Foreign domains may be
  // anything; 0 when they are not imported. `where` tells errors the node's place.
  Result<int> VersionFor(const Source& source, const NodeRecord& node,
                         const std::function<std::string()>& where) const;

  std::optional<int> Find(std::string_view domain) const;

 private:
  std::map<std::string_view, int> versions_;
};

}  // namespace plimsoll::onnx
