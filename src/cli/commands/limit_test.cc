#include "cli/commands/limit.h"

#include <gtest/gtest.h>

#include "cli/session_plan.h"
#include "onnx/model_reader.h"

// What a session takes, as `plan` and `run` judge and tell it.
namespace plimsoll::cli {
namespace limit_test {

engine::SessionMemory SomeMemory() {
  engine::SessionMemory memory;
  memory.device = {.weights = Bytes(1000),
                   .feature_maps = Bytes(200),
                   .variables = Bytes(30),
                   .ports = Bytes(0),
                   .granularity = Bytes(4)};
  return memory;
}

TEST(LimitTest, ASizeIsReadOrRefused) {
  EXPECT_EQ(*ParseLimit(""), std::nullopt);
  EXPECT_EQ(*ParseLimit("2KiB"), Bytes(2048));
  EXPECT_EQ(ParseLimit("much").error().code, "cli.size");
}

TEST(LimitTest, TheRefusalNamesEveryPartThatThereIs) {
  const Error error =
      AboveLimit("m.onnx", SomeMemory().device, Bytes(1233), "; highest at add", "buy more");
  EXPECT_EQ(error.kind, ErrorKind::kDoesNotFit);
  EXPECT_EQ(error.why,
            "it takes 1.21 KiB from the device, 1 B above the limit of 1.2 KiB: weights 1000 B, "
            "feature map 200 B, variables 30 B, granularity 4 B; highest at "
            "add");
}

TEST(LimitTest, PartsOfNothingAreNotNamed) {
  engine::DeviceBytes device;
  device.weights = Bytes(1000);
  device.ports = Bytes(5);
  EXPECT_NE(AboveLimit("m", device, Bytes(1), "", "")
                .why.find(": weights 1000 B, inputs and outputs 5 B"),
            std::string::npos);
  EXPECT_EQ(AboveLimit("m", device, Bytes(1), "", "").why.find(" 0 B"), std::string::npos);
}

TEST(LimitTest, AModelWithoutKernelHasAReasonInsteadOfATotal) {
  auto graph = onnx::ReadModel(PLIMSOLL_SOURCE_DIR "/examples/reference_output.onnx");
  ASSERT_TRUE(graph.ok());
  auto broken = *graph;
  broken.nodes[0].op = "NoSuchOperator";
  for (const auto& [model, known] : {std::pair(*graph, true), std::pair(broken, false)}) {
    auto session = SessionPlan::Make({});
    ASSERT_TRUE(session.ok());
    std::vector<TensorView> inputs;
    for (const graph::ValueId input : model.root().inputs) {
      const graph::ValueType& type = model[input].declared;
      inputs.push_back({.type = type.data_type, .dims = graph::StaticDims(*type.shape)});
    }
    const auto planned = session->Add(model, {}, inputs);
    ASSERT_TRUE(planned.ok()) << planned.error().Text();
    EXPECT_EQ(planned->executable != nullptr, known) << planned->reason;
    EXPECT_EQ(session->reason().empty(), known);
  }
}

}  // namespace limit_test
}  // namespace plimsoll::cli
