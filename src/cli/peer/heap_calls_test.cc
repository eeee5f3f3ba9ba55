#include "cli/peer/heap_calls.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "engine/api/port_tensors.h"
#include "engine/models_for_tests.h"
#include "kernels/threads/onednn_heap.h"

// Once memory is there, nobody asks the heap for more in a run: neither we nor oneDNN.
namespace plimsoll::cli {
namespace heap_calls_test {

using compile::FloatTensor;
using compile::With;
using engine::Ints;
using engine::Random;
using engine::RandomWeights;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

struct Model {
  std::string name;
  graph::Graph graph;
  std::vector<HostTensor> inputs;
};

// Every kind of primitive: convolutions whose forms change on the way, alone and in groups, and
// pooling.
graph::Graph Primitives() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 24, 40, 40}));
  const ValueId wide = builder.Node("Conv", {x, RandomWeights(builder, "wide", {64, 24, 3, 3}, 1)},
                                    With("pads", Ints{1, 1, 1, 1}));
  const ValueId pooled =
      builder.Node("MaxPool", {builder.Node("Relu", {wide})}, With("kernel_shape", Ints{2, 2}));
  const ValueId narrow =
      builder.Node("Conv", {pooled, RandomWeights(builder, "narrow", {16, 64, 1, 1}, 2)});
  graph::Attributes groups = With("group", int64_t{16});
  groups.Set("pads", Ints{1, 1, 1, 1});
  builder.Output(builder.Node("Conv", {narrow, RandomWeights(builder, "each", {16, 1, 3, 3}, 3)},
                              std::move(groups)));
  return builder.Build();
}

graph::Graph Recurrent() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({12, 2, 32}));
  graph::Attributes attributes = With("hidden_size", int64_t{48});
  attributes.Set("direction", std::string("bidirectional"));
  builder.Output(builder.Nodes("LSTM",
                               {x, RandomWeights(builder, "w", {2, 192, 32}, 1),
                                RandomWeights(builder, "r", {2, 192, 48}, 2)},
                               1, std::move(attributes))[0]);
  return builder.Build();
}

std::vector<Model> Models() {
  std::vector<Model> models;
  models.push_back({"convolutions", engine::ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 4)}});
  models.push_back({"primitives", Primitives(), {Random({1, 24, 40, 40}, 4)}});
  models.push_back(
      {"attention", engine::TransformerLayer(3, 33), {Random({3, 33, engine::kModelWidth}, 4)}});
  models.push_back({"recurrent", Recurrent(), {Random({12, 2, 32}, 4)}});
  return models;
}

// A model in a session of its own, with memory for what it makes.
class Loaded {
 public:
  Loaded(const Model& model, int threads) : inputs_(model.inputs), read_(engine::Views(inputs_)) {
    engine::SessionOptions options;
    options.threads = threads;
    session_ = engine::MakeSession(options);
    id_ = engine::MustAdd(*session_, model.graph);
    const auto executable = session_->Compile(id_, read_);
    EXPECT_TRUE(executable.ok() && *executable != nullptr) << model.name;
    outputs_ = *engine::MakeOutputs(**executable, *session_->Outputs(id_), "");
    written_ = engine::Views(outputs_);
  }
  void Run(int runs) {
    for (int i = 0; i < runs; ++i) EXPECT_TRUE(session_->Run(id_, read_, written_).ok());
  }

 private:
  std::unique_ptr<engine::Session> session_;
  engine::GraphId id_;
  std::vector<HostTensor> inputs_;
  std::vector<HostTensor> outputs_;
  std::vector<TensorView> read_;
  std::vector<TensorView> written_;
};

constexpr int kFirstRuns = 6;  // which make what later ones use
constexpr int kSteadyRuns = 30;

TEST(HeapCallsTest, ASteadyRunMakesNone) {
  if (HeapCalls() < 0) GTEST_SKIP() << "not counted under a sanitizer";
  ASSERT_TRUE(kernels::OneDnnHeap::redirected());
  for (const Model& model : Models()) {
    for (const int threads : {1, 2, 5}) {
      Loaded loaded(model, threads);
      loaded.Run(kFirstRuns);
      const int64_t before = HeapCalls();
      loaded.Run(kSteadyRuns);
      EXPECT_EQ(HeapCalls() - before, 0) << model.name << ", " << threads << " threads";
    }
  }
}

// Each session runs in a thread of its own, all at once.
TEST(HeapCallsTest, SteadyRunsOfManySessionsMakeNone) {
  if (HeapCalls() < 0) GTEST_SKIP() << "not counted under a sanitizer";
  constexpr int kSessions = 6;
  const Model model = Models()[1];
  std::barrier all(kSessions + 1);
  std::vector<std::thread> callers;
  for (int i = 0; i < kSessions; ++i) {
    callers.emplace_back([&] {
      Loaded loaded(model, 3);
      loaded.Run(kFirstRuns);
      all.arrive_and_wait();  // counting begins
      all.arrive_and_wait();
      loaded.Run(kSteadyRuns);
      all.arrive_and_wait();  // counting ends
      all.arrive_and_wait();
    });
  }
  all.arrive_and_wait();
  const int64_t before = HeapCalls();
  all.arrive_and_wait();
  all.arrive_and_wait();
  const int64_t made = HeapCalls() - before;
  all.arrive_and_wait();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(made, 0);
}

}  // namespace heap_calls_test
}  // namespace plimsoll::cli
