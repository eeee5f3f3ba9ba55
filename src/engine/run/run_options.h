#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/run/ports.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

struct RunOptions {
  // Looked at between tasks. A training step that has begun to write its variables goes to its end
  // first, so that no step is half applied.
  const std::atomic<bool>* cancelled = nullptr;
  // Set to the number of each task of the executable as it begins; runs node by node leave it.
  std::atomic<int64_t>* task = nullptr;
  // The batch to run, of a graph whose nodes carry batch labels; empty: the one that the sizes of
  // the inputs name.
  std::string batch = {};
  // Gives the inputs of each step 0, 1, ... of a loop (iterations_per_loop) in place of the run's
  // inputs; what it gives must stay until it is called again. A graph that updates no variables
  // has step 0 alone.
  std::function<Result<std::span<const TensorView>>(int64_t step)> feed = {};
};

}  // namespace plimsoll::engine
