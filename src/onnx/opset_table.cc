#include "onnx/opset_table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

struct StandardDomain {
  std::string_view name;
  int oldest;
  int newest;
};

constexpr std::array<StandardDomain, 5> kStandardDomains = {{
    {"", kOldestOpset, kNewestOpset},
    {"ai.onnx.ml", 1, 5},
    {"ai.onnx.preview", 1, 1},
    {"ai.onnx.preview.training", 1, 1},
    {graph::kContributedDomain, 1, 1},
}};

// Whether the operator means the same in every operator set from 1 to 7. The standard's own cases
// carry some of these in models that import operator set 1.
bool SameSinceFirst(const NodeRecord& node) {
  const graph::OperatorRow* row =
      node.domain.empty() ? graph::FindOperator(node.domain, node.op, 1) : nullptr;
  return row != nullptr && row->until >= kOldestOpset;
}

std::string DomainName(std::string_view domain) {
  return domain.empty() ? "the ONNX standard" : StrCat("domain ", Quote(domain));
}

}  // namespace

Result<OpsetTable> OpsetTable::Make(const Source& source, const std::vector<OpsetRecord>& imports,
                                    const OpsetTable* otherwise) {
  OpsetTable table;
  for (const OpsetRecord& import : imports) {
    const bool sane = import.version >= 1 && import.version <= std::numeric_limits<int>::max();
    if (!sane) {
      return source.BadFile(
          "onnx.opset", source.file,
          StrCat("operator set ", import.version, " of ", DomainName(import.domain), " cannot be"));
    }
    const auto version = static_cast<int>(import.version);
    const auto [entry, is_new] = table.versions_.emplace(import.domain, version);
    if (!is_new && entry->second != version) {
      return source.BadFile("onnx.duplicate", source.file,
                            StrCat("operator sets ", entry->second, " and ", version, " of ",
                                   DomainName(import.domain), " are both imported"));
    }
  }
  if (otherwise != nullptr) {
    table.versions_.insert(otherwise->versions_.begin(), otherwise->versions_.end());
  }
  return table;
}

std::optional<int> OpsetTable::Find(std::string_view domain) const {
  const auto entry = versions_.find(domain);
  if (entry == versions_.end()) return std::nullopt;
  return entry->second;
}

Result<int> OpsetTable::VersionFor(const Source& source, const NodeRecord& node,
                                   const std::function<std::string()>& where) const {
  const std::optional<int> version = Find(node.domain);
  const auto standard =
      std::find_if(kStandardDomains.begin(), kStandardDomains.end(),
                   [&](const StandardDomain& domain) { return domain.name == node.domain; });
  if (standard == kStandardDomains.end()) return version.value_or(0);
  // Files of ONNX Runtime's tools leave its own domain out, of which there is one version.
  if (!version && node.domain == graph::kContributedDomain) return 1;
  if (!version) {
    return source.BadFile("onnx.opset", where(),
                          StrCat("it is an operator of ", DomainName(node.domain),
                                 ", of which the model imports no operator set"));
  }
  const int oldest = SameSinceFirst(node) ? 1 : standard->oldest;
  if (*version >= oldest && *version <= standard->newest) return *version;
  return source.Unsupported(
      "onnx.opset", where(),
      StrCat("it is of operator set ", *version, " of ", DomainName(node.domain),
             "; this build knows ", standard->oldest, " to ", standard->newest),
      "convert the model with onnx.version_converter");
}

}  // namespace plimsoll::onnx
