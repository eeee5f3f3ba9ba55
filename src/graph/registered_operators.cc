#include "graph/registered_operators.h"

#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "graph/infer_context.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph {
namespace {

struct RegisteredTable {
  std::shared_mutex mutex;
  std::deque<RegisteredOperator> operators;  // addresses stay
  std::multimap<std::pair<std::string_view, std::string_view>, const RegisteredOperator*> by_name;
};

RegisteredTable& Registered() {
  static RegisteredTable table;
  return table;
}

Status InferRegistered(InferContext& context) {
  const Node& node = context.node();
  return FindRegisteredOperator(node.domain, node.op, node.version)->infer(context);
}

Error Refused(const RegisteredOperator& added, std::string code, std::string why,
              std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = std::move(code),
               .what = "cannot register the operator",
               .where = StrCat(added.domain.empty() ? "" : StrCat(added.domain, "::"), added.name,
                               " from version ", added.since),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Status CheckDefinition(const RegisteredOperator& added) {
  constexpr const char* kCode = "operator.definition";
  if (added.name.empty()) return Refused(added, kCode, "it has no name", "give it one");
  if (added.infer == nullptr) {
    return Refused(added, kCode, "it has no shape rule", "say which shapes its outputs have");
  }
  if (added.domain == "plimsoll") {
    return Refused(added, kCode, "the domain plimsoll is the engine's own", "use another domain");
  }
  if (added.since < 1 || added.until < added.since) {
    return Refused(added, kCode, StrCat("no version is in ", added.since, " to ", added.until),
                   "versions count from 1");
  }
  return {};
}

bool Overlaps(const RegisteredOperator& added, std::string_view domain, std::string_view name,
              int since, int until) {
  return added.domain == domain && added.name == name && added.since <= until &&
         since <= added.until;
}

}  // namespace

Status RegisterOperator(RegisteredOperator added) {
  PLIMSOLL_TRY(CheckDefinition(added));
  const auto taken = [&](std::string_view whose, int since) {
    return Refused(added, "operator.registered",
                   StrCat(whose, " has that name, from version ", since),
                   "take another domain, name or range of versions");
  };
  for (const OperatorRow* row : AllOperators()) {
    if (Overlaps(added, row->domain, row->name, row->since, row->until)) {
      return taken("an operator of the engine", row->since);
    }
  }
  RegisteredTable& table = Registered();
  const std::unique_lock lock(table.mutex);
  for (const RegisteredOperator& other : table.operators) {
    if (Overlaps(added, other.domain, other.name, other.since, other.until)) {
      return taken("an operator that was registered before", other.since);
    }
  }
  RegisteredOperator& kept = table.operators.emplace_back(std::move(added));
  kept.row.domain = kept.domain;
  kept.row.name = kept.name;
  kept.row.since = kept.since;
  kept.row.until = kept.until;
  kept.row.infer = InferRegistered;
  table.by_name.emplace(std::pair(kept.row.domain, kept.row.name), &kept);
  return {};
}

const RegisteredOperator* FindRegisteredOperator(std::string_view domain, std::string_view name,
                                                 int version) {
  RegisteredTable& table = Registered();
  const std::shared_lock lock(table.mutex);
  const auto [first, last] = table.by_name.equal_range({domain, name});
  for (auto found = first; found != last; ++found) {
    const RegisteredOperator& one = *found->second;
    if (one.since <= version && version <= one.until) return &one;
  }
  return nullptr;
}

}  // namespace plimsoll::graph
