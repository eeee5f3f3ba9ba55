#pragma once

namespace plimsoll::kernels {

// How many channels lie side by side in a blocked activation tensor on this machine: 16 where
// AVX-512 computes, 8 elsewhere. A tensor [N, C, spatial...] is then, as bytes, the row-major
// tensor [N, ceil(C / BlockSize()), spatial..., BlockSize()]; channels beyond C hold zeros.
int BlockSize();

}  // namespace plimsoll::kernels
