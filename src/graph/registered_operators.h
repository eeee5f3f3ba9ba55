#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/operator_row.h"
#include "plimsoll/base/status.h"

namespace plimsoll::graph {

// An operator that the program brings along, beside those of the tables.
struct RegisteredOperator {
  std::string domain;
  std::string name;
  OperatorRow row;  // its names, shape rule and versions are filled in from the other members
  int since = 1;
  int until = kNewest;
  std::function<Status(InferContext& context)> infer;
  std::vector<std::pair<int, int>> in_place;  // output, and the input whose memory it may take
  bool deterministic = true;
};

// Refuses (operator.definition) an operator without a name or a shape rule and one of our own
// domain, and (operator.registered) one whose versions overlap with those of an operator that is
// there. One table for the process; nothing ever leaves it. Thread-safe.
Status RegisterOperator(RegisteredOperator added);

// Null where the program registered none of that name and version.
const RegisteredOperator* FindRegisteredOperator(std::string_view domain, std::string_view name,
                                                 int version);

}  // namespace plimsoll::graph
