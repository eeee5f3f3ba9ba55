#pragma once

#include <optional>
#include <string>

#include "engine/session.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// What `--limit` says; nothing where it was not given.
Result<std::optional<Bytes>> ParseLimit(const std::string& text);

// That a session takes more than the limit: kDoesNotFit, code plan.limit. `details` tells more of
// what takes it, `remedy` what to do.
Error AboveLimit(const std::string& models, const engine::DeviceBytes& device, Bytes limit,
                 const std::string& details, std::string remedy);

// That nobody can tell before the run: kUnsupported, code plan.limit_unknown.
Error LimitUnknown(const std::string& models, const std::string& reason);

}  // namespace plimsoll::cli
