#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 by oneDNN, a tile of the output at a time: what the tile looks at is
// brought into the workspace in the form that oneDNN is fast in, with its padding, however wide
// that is. The workspace keeps to the site's most_workspace; tiles are as large as it allows and
// pays. Plain and blocked forms are read and written as they lie. Constant weights are packed once
// where the site has a place for them.
//
// Unsupported where oneDNN has no fast convolution of this kind, where there is no room for a tile
// of useful size, and where moving data would cost more than a product (product_convolution.h).
Result<KernelPointer> MakeTiledConvolution(const KernelSite& site, const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
