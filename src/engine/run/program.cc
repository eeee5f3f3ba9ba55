#include "engine/run/program.h"

#include <algorithm>

namespace plimsoll::engine {

Bytes Program::area_bytes() const {
  Bytes sum;
  for (const Area& area : areas) sum += area.bytes;
  return sum;
}

std::vector<std::byte*> AreasBehind(const Program& program, std::byte* arena) {
  std::vector<std::byte*> bases;
  std::byte* at = arena + program.arena.value();
  for (const Area& area : program.areas) {
    bases.push_back(at);
    at += area.bytes.value();
  }
  return bases;
}

Program::Range Program::Prologue() const {
  return units.empty() ? AllTasks() : Range{0, units.front().tasks.begin};
}

Program::Range Program::Epilogue() const {
  const auto end = static_cast<uint32_t>(tasks.size());
  return units.empty() ? Range{end, end} : Range{units.back().tasks.end, end};
}

int32_t Program::BatchNamed(std::string_view name) const {
  const auto found = std::find(batches.begin(), batches.end(), name);
  return found == batches.end() ? kEveryBatch : static_cast<int32_t>(found - batches.begin());
}

InputTransfers CountTransfers(const Program& program) {
  InputTransfers count;
  for (const Transfer& transfer : program.transfers) {
    const auto inputs = static_cast<int64_t>(transfer.sizes.size());
    ++count.transfers;
    count.inputs += inputs;
    if (transfer.fused) count.fused_inputs += inputs;
    for (const Bytes size : transfer.sizes) count.bytes += size;
  }
  return count;
}

}  // namespace plimsoll::engine
