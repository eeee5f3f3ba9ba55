#pragma once

#include <string_view>

#include "kernels/cpu/classical/tree_ensemble.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// The trees of a TreeEnsemble node: indices into flat lists of nodes and leaves.
Result<TreeEnsemble> ReadFlatTrees(const KernelSite& site);

// The trees of a TreeEnsembleRegressor or TreeEnsembleClassifier node: nodes named by the ids of
// their tree and of themselves, votes listed under `votes` ("target" or "class").
Result<TreeEnsemble> ReadTreesById(const KernelSite& site, std::string_view votes, int64_t targets);

}  // namespace plimsoll::kernels::cpu
