#pragma once

#include "engine/debug/operand_tensors.h"
#include "engine/transfer/device_side.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Runs a kernel in memory of its own in which every operand and the workspace lie between guard
// zones, and gives the run its outputs only when the kernel kept to its operands (`oom` of
// op_debug_config). Fails with run.EZ9999, naming node, operand and offset, when
//   - a byte of a zone changed: a write with offset below 0, or beyond the operand's size, by up to
//     kGuardZone bytes (0X5A5A0001);
//   - an input changed that is no output;
//   - the outputs depend on what the zones hold: a read outside of an operand, or of what nobody
//     wrote (0X5A5A0002). For this the kernel runs twice, with different bytes in the zones; one
//     that gives something else each time is not judged.
// A kernel that writes farther away, or through a pointer that it kept, is not caught, and a read
// that changes no result is not either.
//
// The plan is as without the check, but for small workspaces, which have a place in it and are not
// put on the kernel's stack. Takes memory for the operands of
// one node: of the device where its work is done later, else of the process. Waits for the queue.
Status RunBetweenGuards(const KernelRun& run, const OperatorTensors& tensors,
                        const DeviceSide& side);

inline constexpr Bytes kGuardZone = KiB(16);

}  // namespace plimsoll::engine
