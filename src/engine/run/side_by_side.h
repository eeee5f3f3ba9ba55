#pragma once

#include "compile/compile_model.h"
#include "engine/run/program.h"

namespace plimsoll::engine {

// Shares out the tasks of model.side_by_side: two tasks of which one writes bytes that the other
// touches stay in one share, in their order, whatever the plan was made to keep apart. Places where
// that leaves too little to do at once run one task after the other.
void SetSideBySide(const compile::CompiledModel& model, Program& program);

}  // namespace plimsoll::engine
