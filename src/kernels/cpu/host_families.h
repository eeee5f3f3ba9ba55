#pragma once

#include <span>
#include <string_view>

#include "graph/operator_row.h"
#include "kernels/host_value.h"

// The tables of operators over sequences, optionals and maps, one file per family.
namespace plimsoll::kernels::cpu {

struct HostRow {
  std::string_view domain;
  std::string_view name;
  int since = 1;
  HostOperator run = nullptr;
};

std::span<const HostRow> SequenceOperators();
std::span<const HostRow> SequencePieceOperators();
std::span<const HostRow> OptionalOperators();
std::span<const HostRow> MapOperators();

}  // namespace plimsoll::kernels::cpu
