#include "kernels/deterministic.h"

namespace plimsoll::kernels {
namespace {

thread_local bool wanted = false;

}  // namespace

void SetDeterministic(bool deterministic) { wanted = deterministic; }

bool Deterministic() { return wanted; }

}  // namespace plimsoll::kernels
