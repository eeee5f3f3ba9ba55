#include "plimsoll/plan/hybrid_mem_assigner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>

#include "base/must_for_tests.h"
#include "plan/assign/plan_builder.h"
#include "plan/problem/random_problem_for_tests.h"
#include "plimsoll/plan/block_mem_assigner.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::plan {
namespace hybrid_mem_assigner_test {

// Everything an assigner is given is const: it has no way to change a problem.
static_assert(std::is_invocable_v<decltype(&MemAssigner::Assign), const MemAssigner&,
                                  const Problem&, const Effort&>);
static_assert(std::is_same_v<decltype(&MemAssigner::AssignMemoryWithReuse),
                             Placement (MemAssigner::*)(const BlockProblem&, const Budget&) const>);
static_assert(std::is_same_v<decltype(BlockProblem::problem), const Problem*>);

// One problem, larger than those of the property tests.
Problem Layers(int count) {
  Problem problem;
  problem.AddRegion({.name = "map"});
  RandomProblem dice(42);
  for (int i = 0; i < count; ++i) {
    problem.AddBuffer({.size = Bytes(dice.Between(1, 100'000)),
                       .life = {.begin = i, .end = i + dice.Between(1, 30)}});
  }
  return problem;
}

TEST(HybridMemAssignerTest, R38_PlanningLeavesTheProblemAsItWas) {
  const Problem problem = Layers(100);
  const Problem before = problem;
  ASSERT_TRUE(HybridMemAssigner().Assign(problem).ok());
  ASSERT_EQ(problem.buffers.size(), before.buffers.size());
  for (size_t i = 0; i < before.buffers.size(); ++i) {
    EXPECT_EQ(problem.buffers[i].life, before.buffers[i].life);
    EXPECT_EQ(problem.buffers[i].fixed_offset, before.buffers[i].fixed_offset);
  }
}

// Meets the other members before it answers: proof that they run at the same time.
class Meeting : public MemAssigner {
 public:
  struct Place {
    std::mutex mutex;
    std::condition_variable arrived;
    std::set<std::thread::id> threads;
  };
  explicit Meeting(Place& place) : place_(place) {}
  std::string name() const override { return "meeting"; }
  Placement AssignMemoryWithReuse(const BlockProblem& blocks, const Budget& budget) const override {
    std::unique_lock lock(place_.mutex);
    place_.threads.insert(std::this_thread::get_id());
    place_.arrived.notify_all();
    place_.arrived.wait(lock, [&] { return place_.threads.size() == 3; });
    lock.unlock();
    return BlockMemAssigner().AssignMemoryWithReuse(blocks, budget);
  }

 private:
  Place& place_;
};

TEST(HybridMemAssignerTest, R39_MembersRunAtTheSameTimeEachThroughAssignMemoryWithReuse) {
  Meeting::Place place;
  const HybridMemAssigner hybrid(
      {std::make_shared<Meeting>(place), std::make_shared<Meeting>(place),
       std::make_shared<Meeting>(place)},
      3);
  const Problem problem = Layers(50);
  const auto plan = hybrid.Assign(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(place.threads.size(), 3u);
  EXPECT_TRUE(Verify(problem, *plan).ok());
}

TEST(HybridMemAssignerTest, R40_ManyThreadsReadOneProblem) {
  const Problem problem = Layers(300);
  const MemoryPlan expected = Must(HybridMemAssigner(1).Assign(problem, {.steps = 1000}));
  std::vector<std::thread> threads;
  std::vector<std::vector<Offset>> offsets(4);
  for (auto& mine : offsets) {
    threads.emplace_back([&problem, &mine] {
      mine = HybridMemAssigner(3).Assign(problem, {.steps = 1000})->offsets;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : offsets) EXPECT_EQ(mine, expected.offsets);
}

TEST(HybridMemAssignerTest, R41_PreAssignAndSetOpMemOffsetAreForOneThread) {
  OneThread guard;
  EXPECT_TRUE(guard.IsSame());
  bool same = true;
  std::thread([&] { same = guard.IsSame(); }).join();
  EXPECT_FALSE(same);

  const Problem problem = Layers(10);
  PlanBuilder builder(problem);
  ASSERT_TRUE(builder.PreAssign({}).ok());
  const Placement placement =
      BlockMemAssigner().AssignMemoryWithReuse(builder.blocks(), {.steps = 0});
  EXPECT_DEBUG_DEATH(std::thread([&] { builder.SetOpMemOffset(placement); }).join(),
                     "one thread only");
}

TEST(HybridMemAssignerTest, TiesGoToTheEarlierMember) {
  const Problem problem = Layers(1);
  const auto first = std::make_shared<BlockMemAssigner>();
  const std::shared_ptr<const MemAssigner> second = std::move(*MakeAssigner("exact"));
  PlanBuilder builder(problem);
  ASSERT_TRUE(builder.PreAssign({}).ok());
  const auto winner = [&](HybridMemAssigner::Members members) {
    return HybridMemAssigner(std::move(members), 2)
        .AssignMemoryWithReuse(builder.blocks(), {.steps = 10})
        .regions[0]
        .assigner;
  };
  EXPECT_EQ(winner({first, second}), "block");
  EXPECT_EQ(winner({second, first}), "exact");
}

// Counts how often it is asked.
class Counting : public MemAssigner {
 public:
  std::string name() const override { return "counting"; }
  Placement AssignMemoryWithReuse(const BlockProblem& blocks, const Budget& budget) const override {
    ++asked;
    return BlockMemAssigner().AssignMemoryWithReuse(blocks, budget);
  }
  mutable std::atomic<int> asked = 0;
};

TEST(HybridMemAssignerTest, NobodyElseIsAskedOnceTheFirstIsGoodEnough) {
  const Problem problem = Layers(200);
  const std::shared_ptr<const MemAssigner> first = std::move(*MakeAssigner("greedy_by_start"));
  const auto asked = [&](double good_enough) {
    const auto second = std::make_shared<Counting>();
    const auto plan = HybridMemAssigner({first, second}, 1)
                          .Assign(problem, {.steps = 10, .good_enough = good_enough});
    EXPECT_TRUE(plan.ok() && Verify(problem, *plan).ok());
    return second->asked.load();
  };
  EXPECT_EQ(asked(0), 1);
  EXPECT_EQ(asked(10), 0);
}

TEST(HybridMemAssignerTest, ADeadlineThatCutsIsToldAndThePlanStillHolds) {
  const Problem problem = Layers(400);
  const auto plan =
      HybridMemAssigner(1).Assign(problem, {.steps = int64_t{1} << 50, .deadline_ms = 20});
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(Verify(problem, *plan).ok());
  EXPECT_TRUE(plan->deadline_hit || plan->optimal());
}

TEST(HybridMemAssignerTest, EveryAssignerIsMadeByItsName) {
  for (const char* name : {"hybrid", "block", "dynamic_batch", "exact"}) {
    EXPECT_TRUE(MakeAssigner(name).ok()) << name;
  }
}

}  // namespace hybrid_mem_assigner_test
}  // namespace plimsoll::plan
