#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/passes/pass.h"
#include "compile/tuning/tuning.h"

namespace plimsoll::compile {

// One way to bring a whole graph to kernels.
struct GraphVariant {
  std::string_view name;
  GroupedChannels layouts = GroupedChannels::kNowhere;
  bool slices = true;  // as far as these lower the peak
};

inline constexpr GraphVariant kGraphVariants[] = {
    {"grouped", GroupedChannels::kWherePossible},
    {"filled", GroupedChannels::kWhereFilled},
    {"plain", GroupedChannels::kNowhere},
    {"grouped, whole", GroupedChannels::kWherePossible, false},
    {"filled, whole", GroupedChannels::kWhereFilled, false},
    {"plain, whole", GroupedChannels::kNowhere, false},
};

// Null for a name that is none.
const GraphVariant* FindVariant(std::string_view name);

// The model that is clearly faster than the first, which stays where none is. Two are in memory at
// a time. Those that cannot be made, or whose results differ from the first's (Agree), do not
// count.
Result<size_t> FastestModel(const TuningOptions& options,
                            const std::vector<std::function<Result<RunnableModel>()>>& makers,
                            const std::vector<std::string>& names, bool exactly, double* gain);

}  // namespace plimsoll::compile
