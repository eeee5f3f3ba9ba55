#include "kernels/cpu/host_families.h"

namespace plimsoll::kernels {

HostOperator FindHostOperator(std::string_view domain, std::string_view name, int version) {
  for (const auto family : {cpu::SequenceOperators(), cpu::SequencePieceOperators(),
                            cpu::OptionalOperators(), cpu::MapOperators()}) {
    for (const cpu::HostRow& row : family) {
      if (row.domain == domain && row.name == name && row.since <= version) return row.run;
    }
  }
  return nullptr;
}

}  // namespace plimsoll::kernels
