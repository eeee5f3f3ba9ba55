#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "plimsoll/base/status.h"
#include "plimsoll/plimsoll.h"

// What every function of the C API is made of: errors that become handles, structs of any version.

struct plimsoll_status {
  plimsoll::Error error;
  std::string text;
};

namespace plimsoll::bindings {

// Null for success; never throws.
plimsoll_status* ToC(const Status& status) noexcept;
// What was thrown, as a status. Only while an exception is handled.
plimsoll_status* ThrownToC() noexcept;

// Calls `work`, which returns a Status, and keeps exceptions inside.
template <typename Work>
plimsoll_status* Guarded(const Work& work) noexcept {
  try {
    return ToC(work());
  } catch (...) {
    return ThrownToC();
  }
}

Error BadCall(std::string where, std::string why, std::string remedy);
Status CheckGiven(const void* argument, const char* name);

// A struct of the caller's, whose header may be older or newer than ours: fields that it does not
// have keep their default.
template <typename Struct>
Result<Struct> ReadStruct(const Struct* given, const char* name) {
  Struct read = {};
  read.struct_size = sizeof(Struct);
  if (given == nullptr) return read;
  if (given->struct_size < sizeof(size_t)) {
    return BadCall(name, "its struct_size is not set", "initialise it with its _INIT");
  }
  std::memcpy(&read, given, std::min(given->struct_size, sizeof(Struct)));
  return read;
}

// Fills in what the caller's struct has; its size stays.
template <typename Struct>
Status WriteStruct(Struct made, const char* name, Struct* to) {
  PLIMSOLL_TRY(CheckGiven(to, name));
  if (to->struct_size < sizeof(size_t)) {
    return BadCall(name, "its struct_size is not set", "initialise it with its _INIT");
  }
  made.struct_size = to->struct_size;
  std::memcpy(to, &made, std::min(to->struct_size, sizeof(Struct)));
  return {};
}

}  // namespace plimsoll::bindings
