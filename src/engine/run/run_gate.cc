#include "engine/run/run_gate.h"

#include "plimsoll/base/text.h"

namespace plimsoll::engine {

using config::StaticMemoryPolicy;

RunGate::RunGate(StaticMemoryPolicy policy, int32_t most) : policy_(policy), most_(most) {}

Result<RunGate::Pass> RunGate::Enter(std::string_view graph) {
  std::unique_lock lock(mutex_);
  const bool one_memory = policy_ == StaticMemoryPolicy::kSharedStatic ||
                          policy_ == StaticMemoryPolicy::kSharedAndExpandable;
  if (one_memory && running_ > 0) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "session.busy",
                 .what = "the run was refused",
                 .where = std::string(graph),
                 .why = StrCat("under static_memory_policy ", static_cast<int>(policy_),
                               " all graphs run in one memory, and ", last_, " is running in it"),
                 .remedy = "run one after the other, or set static_memory_policy to 0 or 3"};
  }
  left_.wait(lock, [&] { return running_ < most_; });
  ++running_;
  last_ = graph;
  return Pass(this);
}

void RunGate::Leave() {
  {
    const std::lock_guard lock(mutex_);
    --running_;
  }
  left_.notify_one();
}

}  // namespace plimsoll::engine
