#include "plimsoll/plan/custom_mem_assigner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plimsoll/plan/verifier.h"

namespace plimsoll::plan {
namespace custom_mem_assigner_test {
namespace {

// First fit in the order of the items, over pairs.
class FirstFit : public CustomMemAssigner {
 public:
  std::string name() const override { return "first_fit"; }
  std::vector<Offset> PlaceItems(const RegionItems& region, const Effort&) const override {
    const auto items = region.items();
    std::vector<Offset> offsets(items.size());
    for (size_t i = 0; i < items.size(); ++i) offsets[i] = items[i].fixed.value_or(Offset(0));
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].fixed) continue;
      Bytes at;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t k = 0; k < items.size(); ++k) {
          if (k == i || (k > i && !items[k].fixed)) continue;
          const Bytes low(offsets[k].value());
          const bool meets = at < low + items[k].size && low < at + items[i].size;
          if (!meets || !region.Together(i, k)) continue;
          at = (low + items[k].size).RoundUp(items[i].alignment);
          moved = true;
        }
      }
      offsets[i] = Offset(at.value());
    }
    return offsets;
  }
};

// Everything at the start of the region.
class Careless : public CustomMemAssigner {
 public:
  std::string name() const override { return "careless"; }
  std::vector<Offset> PlaceItems(const RegionItems&, const Effort&) const override { return {}; }
};

Problem ThreeBuffers() {
  Problem problem;
  const RegionId map = problem.AddRegion({.name = "feature map"});
  problem.AddBuffer({.name = "x", .size = KiB(4), .region = map, .life = {.begin = 0, .end = 2}});
  problem.AddBuffer({.name = "y", .size = KiB(8), .region = map, .life = {.begin = 1, .end = 3}});
  problem.AddBuffer({.name = "z", .size = KiB(4), .region = map, .life = {.begin = 2, .end = 4}});
  return problem;
}

TEST(CustomMemAssigner, PlacesWhatMayShareBytesAtOnePlace) {
  const Problem problem = ThreeBuffers();
  const auto plan = FirstFit().Assign(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(Verify(problem, *plan).ok());
  EXPECT_EQ(plan->total(), KiB(12));
  EXPECT_EQ(plan->assigner, "first_fit");
}

TEST(CustomMemAssigner, AnAnswerThatIsTooShortIsRefusedByTheVerifier) {
  const Problem problem = ThreeBuffers();
  const auto plan = Careless().Assign(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(Verify(problem, *plan).ok());
}

TEST(CustomMemAssigner, IsMadeByItsNameOnceRegistered) {
  const auto make = [](const AssignerOptions&) { return std::make_unique<FirstFit>(); };
  ASSERT_TRUE(RegisterAssigner("custom_mem_assigner_test", make).ok());
  const auto made = MakeAssigner("custom_mem_assigner_test");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->Assign(ThreeBuffers())->total(), KiB(12));
  const std::vector<std::string> names = AssignerNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "custom_mem_assigner_test"), 1);
  for (const char* taken : {"custom_mem_assigner_test", "hybrid", ""}) {
    const Status refused = RegisterAssigner(taken, make);
    ASSERT_FALSE(refused.ok()) << taken;
    EXPECT_EQ(refused.error().code, "plan.assigner_name");
  }
}

}  // namespace
}  // namespace custom_mem_assigner_test
}  // namespace plimsoll::plan
