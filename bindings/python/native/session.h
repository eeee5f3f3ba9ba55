#pragma once

#include <nanobind/nanobind.h>

namespace plimsoll::python {

// Adds Session, one model in a session, and RunOptions to the module.
void AddSession(nanobind::module_& module);

}  // namespace plimsoll::python
