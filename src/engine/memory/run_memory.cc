#include "engine/memory/run_memory.h"

#include <utility>

#include "engine/run/port_checks.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

RunMemory::RunMemory(std::shared_ptr<FeatureMemory> memory, GraphShapes shapes, std::string graph,
                     bool base_moves)
    : memory_(std::move(memory)),
      shapes_(shapes),
      graph_(std::move(graph)),
      base_moves_(base_moves),
      areas_(memory_->MakeAreas()),
      ports_(memory_->MakePortMemory()) {}

Result<RunMemory::Taken> RunMemory::Take(const Program& program) {
  Taken taken;
  const bool own = base_.data() == nullptr;
  const Bytes size = own ? program.arena : Bytes(0);
  const Bytes given(std::ssize(base_));
  if (!own && program.arena > given) {
    return Error{.kind = ErrorKind::kDoesNotFit,
                 .code = "run.base_size",
                 .what = "the run was refused",
                 .where = "feature map",
                 .why = StrCat("it takes ", program.arena, ", the memory given for it has ", given),
                 .remedy = "ask for the size of the feature map first, and give that much"};
  }
  areas_at_.resize(program.areas.size());
  for (size_t i = 0; i < areas_at_.size(); ++i) {
    PLIMSOLL_ASSIGN(areas_at_[i], areas_->Take(program.areas[i]));
  }
  FeatureMap& held = memory_->KeptWhileLoaded(shapes_) ? kept_ : taken.held;
  if (held.size() < size) {
    held = FeatureMap();
    PLIMSOLL_ASSIGN(held, memory_->Take(shapes_, size, graph_));
  }
  taken.arena = own ? held.base() : base_.data();
  last_taken_ = program.total();
  taken_ = true;
  return taken;
}

Result<std::byte*> RunMemory::TakePorts(Bytes size) {
  return ports_->Take({.type = plan::MemoryType::kDevice, .bytes = size, .key = "ports"});
}

Status RunMemory::SetBase(std::byte* base, Bytes size) {
  if (taken_ && !base_moves_) {
    return BadArgument("run.base", "feature map", "the graph has run, and its base is fixed",
                       "set ge.featureBaseRefreshable to 1, or give the base before the first run");
  }
  if (base == nullptr || reinterpret_cast<uintptr_t>(base) % plan::kDefaultAlignment != 0) {
    return BadArgument("run.base", "feature map",
                       base == nullptr ? "there is no memory behind it"
                                       : StrCat("it is not aligned to ", plan::kDefaultAlignment),
                       StrCat("give memory aligned to ", plan::kDefaultAlignment, " bytes"));
  }
  if (base_.data() == nullptr) kept_ = FeatureMap();
  base_ = {base, static_cast<size_t>(size.value())};
  return {};
}

}  // namespace plimsoll::engine
