#pragma once

#include <span>
#include <vector>

#include "kernels/kernel_table.h"

// The tables that make up the CPU's catalogue of kernels, one file a family.
namespace plimsoll::kernels::cpu {

std::vector<std::span<const KernelRow>> Families();

std::span<const KernelRow> ViewKernels();

}  // namespace plimsoll::kernels::cpu
