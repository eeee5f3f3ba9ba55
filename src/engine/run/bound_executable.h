#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "engine/profile/plan_profile.h"
#include "engine/run/executable.h"
#include "engine/run/run_record.h"
#include "engine/run/streamed_run.h"

namespace plimsoll::engine {

// An executable and where its operands lay in its last run, so that the next one in the same memory
// need not work that out again.
struct BoundExecutable {
  std::shared_ptr<const Executable> executable;
  std::optional<StreamedRun> streamed;  // where nodes are on several streams
  Executable::Addresses addresses;      // in these two; without operands: not bound yet
  const std::byte* arena = nullptr;
  std::vector<std::byte*> areas;
  std::vector<RunRecord::StableAddress> stable;  // of operands that never move
  std::shared_ptr<const PlanProfile> profile;    // null: no run of it was recorded
};

}  // namespace plimsoll::engine
