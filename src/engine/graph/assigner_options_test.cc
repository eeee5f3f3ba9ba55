#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "config/options/option_table.h"
#include "config/settings.h"
#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/plan/assigner.h"

// ge.plimsoll.*: who places the buffers of the plans that run, and how.
namespace plimsoll::engine {
namespace assigner_options_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

struct Model {
  std::string name;
  Graph graph;
  std::vector<HostTensor> inputs;
};

// A node with two outputs of different sizes, both used again later, between products.
Graph Sorted() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({24, 48}));
  const ValueId w = RandomWeights(builder, "w", {48, 48}, 3);
  ValueId y = builder.Node("MatMul", {x, w});
  std::vector<ValueId> indices;
  for (int i = 0; i < 3; ++i) {
    const auto sorted = builder.Nodes("TopK", {y, builder.Int64s("k" + std::to_string(i), {40})}, 2,
                                      compile::With("axis", int64_t{1}));
    indices.push_back(sorted[1]);
    const ValueId narrow = RandomWeights(builder, "n" + std::to_string(i), {40, 48}, 4);
    y = builder.Node("MatMul", {sorted[0], narrow});
  }
  builder.Output(y);
  for (const ValueId index : indices) {
    builder.Output(
        builder.Node("Mul", {index, builder.Int64("two" + std::to_string(index.index()), 2)}));
  }
  return builder.Build();
}

std::vector<Model> Models() {
  return {{"convolutions", ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 4)}},
          {"transformer", TransformerLayer(2, 12), {Random({2, 12, kModelWidth}, 4)}},
          {"sorted", Sorted(), {Random({24, 48}, 4)}}};
}

std::vector<Offset> OffsetsOf(const Model& model, const config::RunConfig& config) {
  const auto executable = ExpectSameBytes(model.graph, model.inputs, Under(config));
  return executable == nullptr ? std::vector<Offset>() : executable->model().planned.plan.offsets;
}

using Knob = std::optional<bool> config::BlockReuse::*;
const std::vector<std::pair<std::string, Knob>> kKnobs = {
    {"ge.plimsoll.useRange", &config::BlockReuse::use_range},
    {"ge.plimsoll.ascendingSort", &config::BlockReuse::ascending_sort},
    {"ge.plimsoll.reuseFirstRelease", &config::BlockReuse::reuse_first_release},
    {"ge.plimsoll.memoryPriorityMode", &config::BlockReuse::memory_priority_mode}};

TEST(AssignerOptionsTest, R66_EveryKnobChangesThePlanOfAModelThatRuns) {
  const std::vector<Model> models = Models();
  for (const auto& [key, knob] : kKnobs) {
    config::Settings on;
    on.Set(key, 1);
    config::Settings off;
    off.Set(key, 0);
    const auto nothing = [](std::string_view) { return std::optional<std::string>(); };
    const bool differs = std::any_of(models.begin(), models.end(), [&](const Model& model) {
      return OffsetsOf(model, *config::Resolve(on, nothing)) !=
             OffsetsOf(model, *config::Resolve(off, nothing));
    });
    EXPECT_TRUE(differs) << key;
  }
}

TEST(AssignerOptionsTest, R66_EveryCombinationOfKnobsGivesAVerifiedPlanAndTheSameResults) {
  for (const Model& model : Models()) {
    for (unsigned bits = 0; bits < 16; ++bits) {
      SCOPED_TRACE(StrCat(model.name, ", knobs ", bits));
      config::RunConfig config;
      for (size_t i = 0; i < kKnobs.size(); ++i) {
        config.block_reuse.*kKnobs[i].second = ((bits >> i) & 1) != 0;
      }
      const auto executable = ExpectSameBytes(model.graph, model.inputs, Under(config));
      ASSERT_NE(executable, nullptr);
      EXPECT_EQ(executable->model().planned.plan.assigner, "block");
    }
  }
}

TEST(AssignerOptionsTest, R66_EveryAssignerCanBeNamedAndItsPlanRuns) {
  const auto& words = config::FindOption("ge.plimsoll.memoryAssigner")->legal.words;
  EXPECT_EQ(std::vector<std::string>(words.begin(), words.end()), plan::AssignerNames());
  for (const std::string& name : plan::AssignerNames()) {
    config::RunConfig config;
    config.memory_assigner = name;
    for (const Model& model : Models()) {
      const auto executable = ExpectSameBytes(model.graph, model.inputs, Under(config));
      ASSERT_NE(executable, nullptr);
      EXPECT_EQ(executable->model().planned.plan.assigner, name);
    }
  }
}

TEST(AssignerOptionsTest, AStrategyForABatchThatIsNotThereIsNoted) {
  config::RunConfig config;
  config.batch_strategies["b7"] = std::nullopt;
  const auto executable = ExpectSameBytes(Sorted(), {Random({24, 48}, 4)}, Under(config));
  ASSERT_NE(executable, nullptr);
  const auto& notes = executable->model().planned.buffers.notes;
  EXPECT_TRUE(
      std::any_of(notes.begin(), notes.end(), [](const auto& note) { return note.value == "b7"; }));
}

}  // namespace assigner_options_test
}  // namespace plimsoll::engine
