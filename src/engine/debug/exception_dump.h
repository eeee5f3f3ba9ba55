#pragma once

#include <filesystem>

#include "config/run_settings.h"
#include "engine/debug/operand_tensors.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Where the files of failed operators go (enable_exception_dump): mode 1 the folder itself, mode 2
// extra-info/data-dump/<device_id> in it.
std::filesystem::path ExceptionFolder(const config::ExceptionDump& settings, int device);

// What is written of an operator that failed: its kernel where one was prepared, and the memory
// that only the kernel used.
struct FailedOperator {
  const OperatorTensors& tensors;
  const kernels::Kernel* kernel = nullptr;
  const void* workspace = nullptr;
};

// Writes a new folder, exception_info.<operator>.<node>.<time stamp>:
//
//   input.<number>.npy, output.<number>.npy    as they were when the operator had failed: an input
//                                              that it overwrites in place is no longer there
//   workspace.bin                              where the kernel has one
//   description.json                           mode 1: the error, and shape, type and format of
//                                              each tensor
//   tiling.json                                mode 2: the error, and what the kernel was prepared
//                                              with
//
// Gives the error with a hint where that folder is, or why there is none.
Error WriteExceptionDump(const config::ExceptionDump& settings, int device,
                         const FailedOperator& failed, Error error);

}  // namespace plimsoll::engine
