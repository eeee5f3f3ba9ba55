// The scenarios of the seed's table, each from a model file in examples/ to a verified plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "compile/memory/zero_copy.h"
#include "compile/plan_model.h"
#include "compile/shapes/input_shapes.h"
#include "compile/shapes/shapes.h"
#include "onnx/model_reader.h"

namespace plimsoll::cli {
namespace scenario_test {

using compile::PlannedModel;
using compile::PlanOptions;
using graph::Graph;
using graph::ValueId;

struct Planned {
  Graph graph;
  PlannedModel model;

  ValueId Value(std::string_view name) const {
    for (size_t i = 0; i < graph.values.size(); ++i) {
      if (graph.values[i].name == name) return ValueId(i);
    }
    return {};
  }
  const plan::Buffer& Buffer(std::string_view value) const {
    return model.buffers.problem.buffer(model.buffers.buffer_of[Value(value).index()]);
  }
  int64_t Offset(std::string_view value) const {
    const ValueId id = Value(value);
    return model.plan.offsets[model.buffers.buffer_of[id.index()].index()].value() +
           model.buffers.offset_in_buffer[id.index()].value();
  }
  const plan::Region& Region(std::string_view value) const {
    return model.buffers.problem.region(Buffer(value).region);
  }
  bool Notes(std::string_view value, std::string_view text) const {
    return std::any_of(model.buffers.notes.begin(), model.buffers.notes.end(),
                       [&](const auto& note) {
                         return note.value == value && note.text.find(text) != std::string::npos;
                       });
  }
};

Planned PlanExample(const std::string& name, const PlanOptions& options = {}) {
  auto graph = onnx::ReadModel(std::string(PLIMSOLL_SOURCE_DIR "/examples/") + name + ".onnx");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().Text();
    return {};
  }
  EXPECT_TRUE(compile::GiveInputShapes(*graph, {}).ok());
  EXPECT_TRUE(compile::InferShapes(*graph).ok());
  auto model = compile::PlanModel(*graph, options);
  if (!model.ok()) {
    ADD_FAILURE() << model.error().Text();
    return {};
  }
  return {std::move(*graph), std::move(*model)};
}

constexpr int64_t kTensor = 4 * 256 * 4;

TEST(ScenarioTest, ContinuousInputsLieSideBySideInInputOrder) {
  for (const char* name : {"continuous_input_padded", "continuous_input_unpadded"}) {
    const Planned planned = PlanExample(name);
    EXPECT_EQ(planned.Offset("z_ready") - planned.Offset("x_ready"), kTensor) << name;
  }
}

TEST(ScenarioTest, ContinuousOutputsLieSideBySideInOutputOrder) {
  for (const char* name : {"continuous_output_padded", "continuous_output_unpadded"}) {
    const Planned planned = PlanExample(name);
    EXPECT_EQ(planned.Offset("marked1") - planned.Offset("marked0"), kTensor / 2) << name;
  }
}

TEST(ScenarioTest, MemoryToBeClearedLiesInItsAreaAndIsSharedWithNobody) {
  const Planned planned = PlanExample("needs_clearing");
  EXPECT_EQ(planned.Buffer("marked0").atomic_addr_clean_id, 0);
  ASSERT_EQ(planned.model.plan.clearing_areas.size(), 1u);
  EXPECT_EQ(planned.model.plan.clearing_areas[0].size.value(), kTensor);
}

TEST(ScenarioTest, UnderPolicyOneMemoryToBeClearedJoinsNormalReuse) {
  PlanOptions options;
  options.lifetimes.clear_together = false;
  const Planned planned = PlanExample("needs_clearing", options);
  EXPECT_EQ(planned.Buffer("marked0").atomic_addr_clean_id, plan::kNoClearing);
  EXPECT_TRUE(planned.model.plan.clearing_areas.empty());
}

TEST(ScenarioTest, P2PMemoryIsARegionOfItsOwnAndClearedOnItsOwn) {
  const Planned planned = PlanExample("p2p_clearing");
  EXPECT_EQ(planned.Region("peer").memory_type, plan::MemoryType::kP2pDdr);
  EXPECT_EQ(planned.Region("plain").memory_type, plan::MemoryType::kDevice);
  ASSERT_EQ(planned.model.plan.clearing_areas.size(), 2u);
  EXPECT_NE(planned.model.plan.clearing_areas[0].region,
            planned.model.plan.clearing_areas[1].region);
}

TEST(ScenarioTest, InputsAndOutputsUseTheCallersMemoryAtThirtyTwoBytes) {
  const Planned planned = PlanExample("tiny_cnn");
  for (const char* port : {"image", "probabilities"}) {
    EXPECT_TRUE(planned.Buffer(port).zero_copy) << port;
    EXPECT_EQ(planned.Region(port).alignment, 32) << port;
  }
  EXPECT_EQ(planned.Region("conv0").alignment, 512);
}

TEST(ScenarioTest, R55_ZeroCopyNeedsTheNodeAndEveryPeerToSupportIt) {
  const Planned planned = PlanExample("no_address_refresh");
  const auto storage_of = [&](std::string_view name) -> const compile::JoinedStorage& {
    return planned.model.joined[planned.model.joined.IdOf(planned.Value(name))];
  };
  std::string reason;
  const auto supports = [&](std::string_view name) {
    return IsNodeAndPeerNodeTaskSupportZeroCopy(
        planned.graph, compile::FindStableValues(planned.graph), storage_of(name), reason);
  };
  EXPECT_TRUE(supports("x"));
  EXPECT_FALSE(supports("marked0"));
  EXPECT_NE(reason.find("cannot take a new address"), std::string::npos);
}

TEST(ScenarioTest, ConstantsHaveAddressesThatAreSettledFirst) {
  const Planned planned = PlanExample("tiny_cnn");
  EXPECT_TRUE(planned.Buffer("w0").is_fixed_addr_prior);
  EXPECT_EQ(planned.Region("w0").kind, plan::RegionKind::kWeights);
}

TEST(ScenarioTest, R57_ASubgraphsNetOutputIsCopiedOutAndTheRootsIsNot) {
  const Planned planned = PlanExample("subgraph_output");
  for (const char* result : {"then_result", "else_result"}) {
    EXPECT_EQ(planned.Region(result).kind, plan::RegionKind::kFeatureMap) << result;
  }
  EXPECT_TRUE(planned.Buffer("y0").zero_copy);
  EXPECT_TRUE(planned.Notes("y0", "NetOutput"));
}

TEST(ScenarioTest, R58_DataThatCarriesMultiBatchShapesIsCopied) {
  const Planned planned = PlanExample("multi_batch_shape");
  EXPECT_EQ(planned.Region("gears").kind, plan::RegionKind::kFeatureMap);
  EXPECT_TRUE(planned.Notes("gears", "multi-batch shapes"));
  EXPECT_TRUE(planned.Buffer("x_4").zero_copy);
}

TEST(ScenarioTest, GearsOfDifferentLabelsOverlay) {
  const Planned planned = PlanExample("multi_batch_shape");
  EXPECT_TRUE(planned.Buffer("gear_1_a").batch.valid());
  EXPECT_NE(planned.Buffer("gear_1_a").batch, planned.Buffer("gear_4_a").batch);
}

TEST(ScenarioTest, R63_ARefreshableBaseMovesFixedAddressesOutOfTheFeatureMap) {
  const Planned fixed_base = PlanExample("fixed_address");
  PlanOptions options;
  options.lifetimes.feature_base_refreshable = true;
  const Planned refreshable = PlanExample("fixed_address", options);
  const auto needs_none = [](const Planned& planned, const PlanOptions& with) {
    const compile::JoinedStorageId id = planned.model.joined.IdOf(planned.Value("marked0"));
    return IsNoNeedAssignMemory(planned.graph, compile::FindStableValues(planned.graph),
                                planned.model.joined[id], with.lifetimes);
  };
  EXPECT_FALSE(needs_none(fixed_base, {}));
  EXPECT_EQ(fixed_base.Region("marked0").kind, plan::RegionKind::kFeatureMap);
  EXPECT_TRUE(needs_none(refreshable, options));
  EXPECT_NE(refreshable.Region("marked0").kind, plan::RegionKind::kFeatureMap);
  EXPECT_TRUE(refreshable.Buffer("marked0").is_fixed_addr_prior);
}

TEST(ScenarioTest, AReferenceOutputIsItsInputsMemory) {
  const Planned planned = PlanExample("reference_output");
  EXPECT_EQ(planned.Offset("marked0"), planned.Offset("x_ready"));
}

TEST(ScenarioTest, ANodeOnAnotherStreamGivesItsMemoryBackOnlyAfterItsEvents) {
  const Planned planned = PlanExample("stream");
  EXPECT_EQ(planned.model.buffers.problem.streams.size(), 2u);
  EXPECT_FALSE(planned.model.buffers.problem.synchronisations.empty());
}

}  // namespace scenario_test
}  // namespace plimsoll::cli
