// Plans three buffers of a runtime of its own and checks the plan: what an author of another
// runtime writes first.
#include <cstdio>

#include "plimsoll/plan/hybrid_mem_assigner.h"
#include "plimsoll/plan/problem.h"
#include "plimsoll/plan/verifier.h"

int main() {
  using namespace plimsoll;
  plan::Problem problem;
  const plan::RegionId map = problem.AddRegion({.name = "feature map"});
  problem.AddBuffer({.name = "x", .size = KiB(4), .region = map, .life = {.begin = 0, .end = 2}});
  problem.AddBuffer({.name = "y", .size = KiB(8), .region = map, .life = {.begin = 1, .end = 3}});
  problem.AddBuffer({.name = "z", .size = KiB(4), .region = map, .life = {.begin = 2, .end = 4}});
  const auto plan = plan::HybridMemAssigner().Assign(problem);
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", plan.error().Text().c_str());
    return 1;
  }
  const Status verified = plan::Verify(problem, *plan);
  std::printf("%lld bytes, verified: %s\n", static_cast<long long>(plan->total().value()),
              verified.ok() ? "yes" : "no");
  return verified.ok() && plan->total() == KiB(12) ? 0 : 1;
}
