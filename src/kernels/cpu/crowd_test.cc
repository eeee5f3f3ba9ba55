#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "kernels/cpu/random_nodes_for_tests.h"
#include "kernels/parallel.h"

// Many threads that run kernels at once, each with more threads of its own than there are
// processors for: as sessions of a server do. The thread sanitizer looks on where it is built in.
namespace plimsoll::kernels::cpu {
namespace crowd_test {

constexpr int kCallers = 8;
constexpr int kThreadsEach = 4;

struct Work {
  std::string name;
  OneNode node;
  std::vector<HostTensor> inputs;
};

std::vector<Work> Works() {
  return {{"Conv",
           {"Conv", {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
           {Wavy({1, 16, 40, 40}, 1), Wavy({32, 16, 3, 3}, 2)}},
          {"depthwise Conv",
           {"Conv", {{"kernel_shape", Ints{3, 3}}, {"group", int64_t{24}}}},
           {Wavy({1, 24, 40, 40}, 1), Wavy({24, 1, 3, 3}, 2)}},
          {"MatMul", {"MatMul", {}}, {Wavy({96, 64}, 1), Wavy({64, 160}, 2)}},
          {"Softmax", {"Softmax", {}}, {Wavy({300, 200}, 1)}}};
}

TEST(CrowdTest, KernelsOfManyCallersAtOnceGiveWhatOneCallerGets) {
  const std::vector<Work> works = Works();
  std::vector<std::vector<float>> expected;
  for (const Work& work : works) {
    const ThreadScope threads(kThreadsEach);
    HeapPackedWeights weights;
    const auto prepared = Prepare(work.node, work.inputs, {1}, &weights);
    ASSERT_TRUE(prepared.ok()) << work.name << ": " << prepared.error().Text();
    expected.push_back(*prepared->Run());
  }
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      const ThreadScope threads(kThreadsEach);
      HeapPackedWeights weights;
      for (int turn = 0; turn < 3 * static_cast<int>(works.size()); ++turn) {
        const size_t i = static_cast<size_t>(caller + turn) % works.size();
        const auto prepared = Prepare(works[i].node, works[i].inputs, {1}, &weights);
        ASSERT_TRUE(prepared.ok()) << works[i].name;
        for (int run = 0; run < 8; ++run) {
          const auto made = prepared->Run();
          ASSERT_TRUE(made.ok() && *made == expected[i]) << works[i].name << ", run " << run;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace crowd_test
}  // namespace plimsoll::kernels::cpu
