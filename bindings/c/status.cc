#include "c/status.h"

#include "plimsoll/base/text.h"

namespace plimsoll::bindings {
namespace {

// For when there is not even memory for an error.
plimsoll_status& NoMemoryLeft() {
  static plimsoll_status status{
      {ErrorKind::kRunFailed, "c.memory", "out of host memory", "the process", "no memory is left",
       "close other programs or use a smaller model"},
      "out of host memory [c.memory]"};
  return status;
}

}  // namespace

plimsoll_status* ToC(const Status& status) noexcept {
  if (status.ok()) return nullptr;
  try {
    return new plimsoll_status{status.error(), status.error().Text()};
  } catch (...) {
    return &NoMemoryLeft();
  }
}

plimsoll_status* ThrownToC() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return &NoMemoryLeft();
  } catch (const std::exception& thrown) {
    return ToC(Error{ErrorKind::kRunFailed, "c.internal", "internal error", "", thrown.what(),
                     "please report this with the call"});
  } catch (...) {
    return ToC(Error{ErrorKind::kRunFailed, "c.internal", "internal error", "",
                     "an exception of an unknown type", "please report this with the call"});
  }
}

Error BadCall(std::string where, std::string why, std::string remedy) {
  return {ErrorKind::kUsage, "c.argument",   "the call was refused",
          std::move(where),  std::move(why), std::move(remedy)};
}

Status CheckGiven(const void* argument, const char* name) {
  if (argument != nullptr) return {};
  return BadCall(name, "it is NULL", "give an address");
}

}  // namespace plimsoll::bindings

using plimsoll::Error;

namespace {

const char* TextOf(const plimsoll_status* status, std::string Error::*text) {
  return status == nullptr ? "" : (status->error.*text).c_str();
}

}  // namespace

int plimsoll_api_version(void) { return PLIMSOLL_API_VERSION; }
const char* plimsoll_version(void) { return PLIMSOLL_VERSION; }

plimsoll_kind plimsoll_status_kind(const plimsoll_status* status) {
  return status == nullptr ? PLIMSOLL_OK : static_cast<plimsoll_kind>(status->error.kind);
}
const char* plimsoll_status_code(const plimsoll_status* status) {
  return TextOf(status, &Error::code);
}
const char* plimsoll_status_what(const plimsoll_status* status) {
  return TextOf(status, &Error::what);
}
const char* plimsoll_status_place(const plimsoll_status* status) {
  return TextOf(status, &Error::where);
}
const char* plimsoll_status_reason(const plimsoll_status* status) {
  return TextOf(status, &Error::why);
}
const char* plimsoll_status_remedy(const plimsoll_status* status) {
  return TextOf(status, &Error::remedy);
}
const char* plimsoll_status_text(const plimsoll_status* status) {
  return status == nullptr ? "" : status->text.c_str();
}
void plimsoll_status_free(plimsoll_status* status) {
  if (status != &plimsoll::bindings::NoMemoryLeft()) delete status;
}
