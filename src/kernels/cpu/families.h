#pragma once

#include <span>
#include <vector>

#include "kernels/kernel_table.h"

// The tables that make up the CPU's catalogue of kernels, one file a family.
namespace plimsoll::kernels::cpu {

std::vector<std::span<const KernelRow>> Families();

std::span<const KernelRow> StringConcatKernels();
std::span<const KernelRow> StringNormalizerKernels();
std::span<const KernelRow> StringSplitKernels();
std::span<const KernelRow> RegexFullMatchKernels();
std::span<const KernelRow> TfIdfVectorizerKernels();
std::span<const KernelRow> OptionalKernels();
std::span<const KernelRow> LabelEncoderKernels();
std::span<const KernelRow> FeatureColumnKernels();
std::span<const KernelRow> TransposeKernels();
std::span<const KernelRow> ConcatKernels();
std::span<const KernelRow> SliceKernels();
std::span<const KernelRow> ExpandKernels();
std::span<const KernelRow> GatherKernels();
std::span<const KernelRow> ScatterKernels();
std::span<const KernelRow> PadKernels();
std::span<const KernelRow> GeneratorKernels();
std::span<const KernelRow> ArrangementKernels();
std::span<const KernelRow> SelectionKernels();
std::span<const KernelRow> UniqueKernels();
std::span<const KernelRow> TopKKernels();
std::span<const KernelRow> ArgExtremeKernels();
std::span<const KernelRow> CumulativeKernels();
std::span<const KernelRow> NonMaxSuppressionKernels();
std::span<const KernelRow> LinearModelKernels();
std::span<const KernelRow> TreeEnsembleKernels();
std::span<const KernelRow> SupportVectorKernels();
std::span<const KernelRow> ViewKernels();

}  // namespace plimsoll::kernels::cpu
