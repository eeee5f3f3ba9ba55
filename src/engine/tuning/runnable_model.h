#pragma once

#include <memory>

#include "compile/compile_model.h"
#include "compile/tuning/tuning.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// A model with memory of its own on the heap, to be run for tuning: compile::MakeRunnable. Numbers
// that it reads are made up; indices are zeros. Fails for graphs with batches.
Result<compile::RunnableModel> MakeRunnableModel(compile::CompiledModel model,
                                                 std::shared_ptr<const void> constants);

}  // namespace plimsoll::engine
