#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/plan_models.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// One size that the models leave open, and what it is to be.
struct SizeChoice {
  std::string name;             // "batch"; "x[0]" where the file gives it no name
  std::vector<int64_t> values;  // to plan for
  bool asked = false;           // by the caller: --shape batch=1,2,4
};

// What to plan for: nothing where every size is known. Takes `--shape NAME=1,2,4` out of the
// arguments. A single size that nobody gave is planned for the model's gears, or for 1 to 16.
// Refuses (plan.open_sizes) what leaves several open, and several lists.
Result<std::optional<SizeChoice>> ChooseSizes(PlanArguments& options);

// The arguments with one of the values.
PlanArguments WithSize(PlanArguments options, const std::string& name, int64_t size);

// The largest size that `fits`, 0 where none does: by doubling and halving. Where more may need
// less, sizes next to the answer are tried as well, so that a single bad one does not hide better
// ones. `most` is not exceeded.
int64_t LargestThatFits(int64_t most, const std::function<bool(int64_t)>& fits);

}  // namespace plimsoll::cli
