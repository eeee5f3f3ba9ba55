#include "compile/placement/target.h"

namespace plimsoll::compile {

using graph::MemoryAttributes;

bool IsTransfer(const graph::Node& node) {
  return node.domain == "plimsoll" && node.op == "Transfer";
}

bool MayRunOnHost(const graph::Node& node) {
  if (!SubgraphsOf(node).empty() || node.memory.memory_type == MemoryAttributes::Type::kP2P) {
    return false;
  }
  MemoryAttributes memory = node.memory;
  memory.memory_type = MemoryAttributes::Type::kDevice;
  memory.needs_clearing.clear();
  memory.batch_label.clear();
  return IsOrdinary(memory);
}

bool Target::RunsOnHost(const graph::Node& node) const {
  return !host_reachable && node.memory.memory_type == MemoryAttributes::Type::kHost &&
         MayRunOnHost(node);
}

}  // namespace plimsoll::compile
