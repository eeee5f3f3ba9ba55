#pragma once

namespace plimsoll::profile {

// What a piece of memory is for.
enum class TensorKind {
  kActivation,
  kWeight,
  kWorkspace,
  kInput,
  kOutput,
  kVariable,
  kCleared,
  kCopy,  // made for one operator: operands side by side, inputs and outputs that are copied
  kUnknown,
};
inline constexpr int kTensorKinds = 9;

}  // namespace plimsoll::profile
