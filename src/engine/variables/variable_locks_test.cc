#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <ostream>
#include <shared_mutex>
#include <thread>

#include "engine/hooked_allocator_for_tests.h"
#include "engine/variables/training_for_tests.h"

// Who may touch the session's variables while a run is in the middle: a run that updates them is
// alone with them, runs that only read them go on side by side.
namespace plimsoll::engine {
namespace variable_locks_test {

using compile::FloatTensor;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

using Elements = std::vector<float>;

// Which others may come in now. Asked from a thread of its own, since a lock has one owner.
struct Leave {
  bool read = false;
  bool write = false;
  bool operator==(const Leave&) const = default;
};
std::ostream& operator<<(std::ostream& stream, const Leave& leave) {
  return stream << (leave.read ? "read " : "") << (leave.write ? "write" : "");
}
constexpr Leave kNobody{.read = false, .write = false};
constexpr Leave kReaders{.read = true, .write = false};

class Watch {
 public:
  // Asks about the session's variables whenever it is called.
  std::function<void()> Asker() {
    return [this] {
      if (variables_ == nullptr) return;
      std::shared_mutex* const mutex = lock_;
      std::thread([&] {
        Leave leave;
        leave.read = mutex->try_lock_shared();
        if (leave.read) mutex->unlock_shared();
        leave.write = mutex->try_lock();
        if (leave.write) mutex->unlock();
        seen_.push_back(leave);
      }).join();
    };
  }
  void Look(Variables& variables) {
    variables_ = &variables;
    lock_ = variables.LockToRead().mutex();
  }
  const std::vector<Leave>& seen() const { return seen_; }

 private:
  Variables* variables_ = nullptr;
  std::shared_mutex* lock_ = nullptr;
  std::vector<Leave> seen_;
};

// y = (w x) x, which leaves w as it is and takes memory for the first product.
Graph Reader() {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({4, 4}));
  const ValueId x = builder.Input("x", FloatTensor({4, 4}));
  builder.Output(builder.Node("MatMul", {builder.Node("MatMul", {w, x}), x}));
  return builder.Build();
}

class VariableLocksTest : public testing::TestWithParam<int> {};

TEST_P(VariableLocksTest, ATrainingStepIsAloneWithTheVariables) {
  Watch watch;
  SessionOptions options = Training();
  options.config.iterations_per_loop = GetParam();
  options.allocator = std::make_shared<HookedAllocator>(watch.Asker());
  options.load.optimise = false;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  watch.Look(session->variables());
  MustRun(*session, id, {Floats({4}, {1, 2, 3, 4})});
  EXPECT_EQ(watch.seen(), std::vector<Leave>{kNobody}) << "one feature map for all steps";
  EXPECT_EQ(session->variables().steps(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Steps, VariableLocksTest, testing::Values(1, 2, 5));

TEST(VariableLocksOfGraphsTest, EachStepOfAFedLoopIsAlone) {
  Watch watch;
  SessionOptions options = Training();
  options.config.iterations_per_loop = 3;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  watch.Look(session->variables());
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  const HostTensor loss = *kernels::AllocateOnHeap(DataType::kFloat32, {});
  const std::vector<TensorView> from = {View(x)};
  const std::vector<TensorView> to = {View(loss)};
  RunOptions run;
  const auto ask = watch.Asker();
  run.feed = [&](int64_t) -> Result<std::span<const TensorView>> {
    ask();
    return std::span<const TensorView>(from);
  };
  ASSERT_EQ(CodeOf(session->Run(id, {}, to, run)), "");
  EXPECT_EQ(watch.seen(), std::vector<Leave>(3, kNobody));
}

TEST(VariableLocksOfGraphsTest, ARunThatOnlyReadsLetsReadersInAndNoWriter) {
  Watch watch;
  SessionOptions options;
  options.config.iterations_per_loop = 3;
  options.load.optimise = false;
  options.allocator = std::make_shared<HookedAllocator>(watch.Asker());
  const auto session = MakeSession(options);
  const auto id = session->Add(Reader(), {{"w", "", ""}});
  ASSERT_TRUE(id.ok());
  watch.Look(session->variables());
  MustRun(*session, *id, {Random({4, 4}, 1)});
  EXPECT_EQ(watch.seen(), std::vector<Leave>{kReaders});
  EXPECT_EQ(session->variables().steps(), 0) << "a run that updates nothing is no step";
}

TEST(VariableLocksOfGraphsTest, TheLockIsGivenBackWhateverBecomesOfTheRun) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, MomentumStep());
  Watch watch;
  watch.Look(session->variables());
  const auto ask = watch.Asker();
  const std::atomic<bool> cancelled = true;
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  MustRun(*session, id, {x});
  ask();
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({x}), {.cancelled = &cancelled}).status()),
            "run.cancelled");
  ask();
  EXPECT_EQ(CodeOf(session->variables().Set("nobody", View(x))), "variables.name");
  EXPECT_EQ(CodeOf(session->variables().Restore("/nowhere/at/all")), "variables.file");
  ask();
  EXPECT_EQ(watch.seen(), std::vector<Leave>(3, (Leave{.read = true, .write = true})));
}

// Two sessions' worth of graphs on one set of variables: w += x, as often as it is run.
Graph AddTo(const std::string& variable) {
  GraphBuilder builder;
  const ValueId w = builder.Input(variable, FloatTensor({64}));
  const ValueId next = builder.Node("Add", {w, builder.Input("x", FloatTensor({64}))});
  builder.Output(next);
  builder.graph()[next].name = "next";
  return builder.Build();
}

TEST(VariableLocksOfGraphsTest, NoStepOfTwoGraphsThatTrainAtOnceIsLost) {
  SessionOptions options;
  options.config.graph_max_parallel_model_num = 4;
  const auto session = MakeSession(options);
  std::vector<GraphId> ids;
  for (int i = 0; i < 2; ++i) {
    const auto id = session->Add(AddTo("w"), {{"w", "next", ""}});
    ASSERT_TRUE(id.ok());
    ids.push_back(*id);
  }
  constexpr int kRuns = 200;
  std::latch together(2);
  std::vector<std::thread> threads;
  for (const GraphId id : ids) {
    threads.emplace_back([&, id] {
      together.arrive_and_wait();
      for (int run = 0; run < kRuns; ++run) MustRun(*session, id, {Floats({64}, Elements(64, 1))});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(VariableOf(*session, "w"), Elements(64, 2 * kRuns));
  EXPECT_EQ(session->variables().steps(), 2 * kRuns);
}

// The second run comes while the first is in the middle, and finds the variable updated.
TEST(VariableLocksOfGraphsTest, AStepThatComesInTheMiddleOfAnotherSeesItsResult) {
  std::latch inside(1);
  std::latch goes_on(1);
  SessionOptions options;
  options.config.graph_max_parallel_model_num = 4;
  const auto session = MakeSession(options);
  const auto first = session->Add(AddTo("w"), {{"w", "next", ""}});
  const auto second = session->Add(AddTo("w"), {{"w", "next", ""}});
  ASSERT_TRUE(first.ok() && second.ok());
  const HostTensor x = Floats({64}, Elements(64, 3));
  const std::vector<TensorView> from = {View(x)};
  RunOptions run;
  run.feed = [&](int64_t) -> Result<std::span<const TensorView>> {
    inside.count_down();
    goes_on.wait();
    return std::span<const TensorView>(from);
  };
  std::thread slow([&] { EXPECT_EQ(CodeOf(session->Run(*first, {}, {}, run)), ""); });
  inside.wait();
  std::thread other([&] { MustRun(*session, *second, {Floats({64}, Elements(64, 4))}); });
  goes_on.count_down();
  slow.join();
  other.join();
  EXPECT_EQ(VariableOf(*session, "w"), Elements(64, 7));
}

}  // namespace variable_locks_test
}  // namespace plimsoll::engine
