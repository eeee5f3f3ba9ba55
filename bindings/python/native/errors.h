#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "plimsoll/base/status.h"

namespace plimsoll::python {

// Errors of the library become exceptions of plimsoll.errors, with code, place, reason and remedy.
// All of these need the GIL.

[[noreturn]] void Raise(const Error& error);
void Check(const Status& status);

template <typename T>
T Take(Result<T> result) {
  if (!result.ok()) Raise(result.error());
  return std::move(result).value();
}

// An argument of the Python caller's that cannot be right.
Error BadArgument(std::string code, std::string where, std::string why, std::string remedy);

}  // namespace plimsoll::python
