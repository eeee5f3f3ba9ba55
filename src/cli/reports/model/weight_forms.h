#pragma once

#include <optional>
#include <string_view>

#include "compile/compile_model.h"

namespace plimsoll::cli {

inline constexpr const char* kWeightsHelp =
    "Form of weights that kernels can pack: packed; smaller: whichever takes less, as "
    "MemoryPriority does; plain";

// What `--weights` says; nothing where it was not given.
inline std::optional<compile::WeightForms> ParseWeightForms(std::string_view text) {
  if (text == "packed") return compile::WeightForms::kPacked;
  if (text == "smaller") return compile::WeightForms::kSmaller;
  if (text == "plain") return compile::WeightForms::kPlain;
  return std::nullopt;
}

}  // namespace plimsoll::cli
