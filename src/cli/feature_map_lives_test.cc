#include "cli/feature_map_lives.h"

#include <gtest/gtest.h>

#include "compile/compile_model.h"
#include "compile/graph_for_tests.h"

namespace plimsoll::cli {
namespace {

using compile::FloatTensor;
using graph::GraphBuilder;
using graph::ValueId;

TEST(FeatureMapLivesTest, WorkspacesOfKernelsAreAmongTheOwners) {
  GraphBuilder builder;
  const ValueId a = builder.Input("a", FloatTensor({64, 200}));
  const ValueId b = builder.Input("b", FloatTensor({200, 100}));
  const ValueId product = builder.Node("MatMul", {a, b});
  builder.Output(builder.Node("Softmax", {product}));
  const auto model = compile::CompileModel(compile::Inferred(builder), {});
  ASSERT_TRUE(model.ok());
  const FeatureMapLives lives(model->planned);
  Bytes workspaces;
  for (const Bytes bytes : model->plan_options.lifetimes.workspaces) workspaces += bytes;
  ASSERT_GT(workspaces, Bytes(0));
  ASSERT_EQ(lives.waterline().size(), model->planned.timeline.steps.size());
  Bytes sum;
  for (const auto& owner : lives.OwnersAt(lives.peak_step())) sum += owner.bytes;
  EXPECT_EQ(sum, lives.waterline()[static_cast<size_t>(lives.peak_step())]);
  EXPECT_GE(sum, workspaces);
  EXPECT_LE(sum, compile::FeatureMapPeak(model->planned));
}

TEST(FeatureMapLivesTest, AnEmptyPlanHasNoPeak) {
  EXPECT_EQ(FeatureMapLives(compile::PlannedModel()).peak_step(), -1);
}

}  // namespace
}  // namespace plimsoll::cli
