#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/weights/weight_hash.h"

namespace plimsoll::engine {

// What external weights are called on disk, and what may therefore be removed as ours.

constexpr char kWeightLockName[] = ".lock";

std::string WeightFolderName(pid_t process, uint64_t session);  // "tmp_weight_<pid>_<session>"
bool IsWeightFolderName(std::string_view name);

std::string WeightFileName(const WeightHash& hash);  // "weight_<hash>"
// What a file is called until all of it has been written.
std::string PartialWeightFileName(const WeightHash& hash);
bool IsWeightFileName(std::string_view name);  // whole or partial

}  // namespace plimsoll::engine
