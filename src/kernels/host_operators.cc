#include "kernels/cpu/host_families.h"

namespace plimsoll::kernels {

const HostOperator* FindHostOperator(std::string_view domain, std::string_view name, int version) {
  for (const auto family : {cpu::SequenceOperators(), cpu::SequencePieceOperators(),
                            cpu::OptionalOperators(), cpu::MapOperators()}) {
    for (const HostOperator& row : family) {
      if (row.domain == domain && row.name == name && row.since <= version) return &row;
    }
  }
  return nullptr;
}

}  // namespace plimsoll::kernels
