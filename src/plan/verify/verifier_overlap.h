#pragma once

#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/memory_plan.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// The one form in which the verifier tells what a plan breaks.
Error Broken(std::string_view code, std::string where, std::string why);
std::string BufferText(const Problem& problem, size_t buffer);

// Buffers that hold bytes at some moment.
bool EverLives(const Buffer& buffer);

// The part of Verify about time: buffers of different families (the roots that they are windows of)
// that live together and share bytes.
Status VerifyLives(const Problem& problem, const MemoryPlan& plan,
                   const std::vector<size_t>& family);

}  // namespace plimsoll::plan
