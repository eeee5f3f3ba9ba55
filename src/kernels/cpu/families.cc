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
      TransposeKernels(),
      ConcatKernels(),
      SliceKernels(),
      ExpandKernels(),
      GatherKernels(),
      ScatterKernels(),
      PadKernels(),
      GeneratorKernels(),
      ArrangementKernels(),
      SelectionKernels(),
      UniqueKernels(),
      TopKKernels(),
      ArgExtremeKernels(),
      CumulativeKernels(),
      NonMaxSuppressionKernels(),
      LinearModelKernels(),
      TreeEnsembleKernels(),
      SupportVectorKernels(),
      ViewKernels(),
  };
}

}  // namespace plimsoll::kernels::cpu
