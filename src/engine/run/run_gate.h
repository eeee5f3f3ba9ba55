#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "config/run_config.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Decides how many runs of a session go on at once. Where all graphs run in one memory (policies 2
// and 4) that is one, and a second is refused (session.busy); else as many as
// graph_max_parallel_model_num says, and those beyond it wait. Thread-safe.
class RunGate {
 public:
  RunGate(config::StaticMemoryPolicy policy, int32_t most);

  // Leave to run, given back when the object dies.
  class Pass {
   public:
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    ~Pass() {
      if (gate_ != nullptr) gate_->Leave();
    }

   private:
    friend RunGate;
    explicit Pass(RunGate* gate) : gate_(gate) {}
    RunGate* gate_;
  };
  Result<Pass> Enter(std::string_view graph);

 private:
  void Leave();

  const config::StaticMemoryPolicy policy_;
  const int32_t most_;
  std::mutex mutex_;
  std::condition_variable left_;
  int32_t running_ = 0;
  std::string last_;  // the graph that entered last
};

}  // namespace plimsoll::engine
