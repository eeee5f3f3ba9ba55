#include "kernels/cpu/families.h"

namespace plimsoll::kernels::cpu {

std::vector<std::span<const KernelRow>> Families() {
  return {
      StringConcatKernels(),
      StringNormalizerKernels(),
      StringSplitKernels(),
      RegexFullMatchKernels(),
      TfIdfVectorizerKernels(),
      OptionalKernels(),
      LabelEncoderKernels(),
      FeatureColumnKernels(),
      ViewKernels(),
  };
}

}  // namespace plimsoll::kernels::cpu
