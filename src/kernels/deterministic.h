#pragma once

namespace plimsoll::kernels {

// Whether the kernels that the calling thread prepares from now on give the same bytes for the same
// input with any number of threads (deterministic=1). Off, a few implementations split a sum
// between threads, and its last bits follow their number.
void SetDeterministic(bool deterministic);
bool Deterministic();

}  // namespace plimsoll::kernels
