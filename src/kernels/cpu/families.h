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
std::span<const KernelRow> ViewKernels();

}  // namespace plimsoll::kernels::cpu
