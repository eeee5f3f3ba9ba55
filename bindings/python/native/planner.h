#pragma once

#include <nanobind/nanobind.h>

namespace plimsoll::python {

// Adds the planner and the replay of traces to the module.
void AddPlanner(nanobind::module_& module);

}  // namespace plimsoll::python
