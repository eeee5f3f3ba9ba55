#pragma once

#include <span>

#include "kernels/host_value.h"

// The tables of operators over sequences, optionals and maps, one file per family.
namespace plimsoll::kernels::cpu {

std::span<const HostOperator> SequenceOperators();
std::span<const HostOperator> SequencePieceOperators();
std::span<const HostOperator> OptionalOperators();
std::span<const HostOperator> MapOperators();

}  // namespace plimsoll::kernels::cpu
