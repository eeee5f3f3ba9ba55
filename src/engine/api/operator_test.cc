#include "plimsoll/engine/operator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compile/graph_for_tests.h"
#include "engine/session_for_tests.h"
#include "graph/builder.h"

namespace plimsoll {
namespace api_operator_test {
namespace {

constexpr const char* kDomain = "test.operator";

// y[i] = x[i] * factor, by way of its workspace.
class Times : public OperatorKernel {
 public:
  Times(int64_t count, float factor) : count_(count), factor_(factor) {}
  Bytes workspace() const override { return Bytes(count_ * 4); }
  Status Run(const OperatorCall& call) const override {
    std::memcpy(call.workspace, call.inputs[0], static_cast<size_t>(count_) * 4);
    const auto* from = static_cast<const float*>(call.workspace);
    auto* to = static_cast<float*>(call.outputs[0]);
    for (int64_t i = 0; i < count_; ++i) to[i] = from[i] * factor_;
    return {};
  }

 private:
  int64_t count_;
  float factor_;
};

OperatorDefinition TimesNamed(std::string name) {
  return {.domain = kDomain,
          .name = std::move(name),
          .min_inputs = 1,
          .max_inputs = 1,
          .infer_shapes = [](ShapeInference& node) -> Status {
            if (node.InputType(0) == DataType::kBool) return node.Fail("bools have no product");
            node.CopyTypeAndShape(0, 0);
            return {};
          },
          .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
            if (site.inputs[0].type != DataType::kFloat32) return site.Unsupported("float32 alone");
            return MakeOperatorKernel<Times>(
                site.inputs[0].elements(), static_cast<float>(site.attributes.Float("factor", 2)));
          },
          .in_place = {{.output = 0, .input = 0}}};
}

// The first `count` elements, a number that only data tells.
OperatorDefinition Prefix() {
  class Copy : public OperatorKernel {
   public:
    explicit Copy(Bytes bytes) : bytes_(bytes) {}
    Status Run(const OperatorCall& call) const override {
      std::memcpy(call.outputs[0], call.inputs[0], static_cast<size_t>(bytes_.value()));
      return {};
    }

   private:
    Bytes bytes_;
  };
  return {.domain = kDomain,
          .name = "Prefix",
          .infer_shapes = [](ShapeInference& node) -> Status {
            node.SetOutput(0, node.InputType(0), {node.UnknownDim(0, 0)});
            return {};
          },
          .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
            OperatorTensor& output = site.outputs[0];
            if (!output.sized) output.dims = {site.inputs[1].Elements<int64_t>()[0]};
            return MakeOperatorKernel<Copy>(output.size());
          }};
}

// The builder knows the version of the standard's operators alone.
graph::Graph Versioned(graph::GraphBuilder& builder) {
  graph::Graph graph = builder.Build();
  for (graph::Node& node : graph.nodes) {
    if (node.domain == kDomain) node.version = 1;
  }
  return graph;
}

graph::Graph TwoNodes(const std::string& op) {
  graph::GraphBuilder builder;
  const auto x = builder.Input("x", compile::FloatTensor({4, 8}));
  graph::Attributes three;
  three.Set("factor", 3.0);
  const auto a = builder.Node("Relu", {x});
  const auto b = builder.Nodes(op, {a}, 1, {}, kDomain)[0];
  builder.Output(builder.Nodes(op, {b}, 1, three, kDomain)[0]);
  return Versioned(builder);
}

TEST(ApiOperator, RunsPlannedAndInPlace) {
  ASSERT_TRUE(RegisterOperator(TimesNamed("Times")).ok());
  auto session = *engine::Session::Create({});
  const auto id = session->Add(TwoNodes("Times"));
  ASSERT_TRUE(id.ok()) << id.error().Text();
  const Tensor x = engine::Random({4, 8}, 1);
  const auto executable = session->Compile(*id, ViewsOf(std::vector{x}));
  ASSERT_TRUE(executable.ok()) << executable.error().Text();
  ASSERT_NE(*executable, nullptr);
  // The first reads where it writes; the second writes the caller's output. With its workspace,
  // neither needs more than one value and one workspace at a time.
  const Bytes value = Bytes(4 * 8 * 4).RoundUp(512);
  EXPECT_LE(compile::FeatureMapPeak((*executable)->model().planned), value * 2);
  const auto outputs = session->RunValues(*id, {Value::Of(x)});
  ASSERT_TRUE(outputs.ok()) << outputs.error().Text();
  const auto got = (*outputs)[0].tensor.Elements<float>();
  const auto given = x.Elements<float>();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], std::max(given[i], 0.0F) * 6);
}

// Each element twice, one behind the other: written over its input it would read what it wrote.
OperatorDefinition Doubled() {
  class Double : public OperatorKernel {
   public:
    explicit Double(int64_t count) : count_(count) {}
    Status Run(const OperatorCall& call) const override {
      const auto* from = static_cast<const float*>(call.inputs[0]);
      auto* to = static_cast<float*>(call.outputs[0]);
      for (int64_t i = 0; i < count_; ++i) to[2 * i] = to[2 * i + 1] = from[i];
      return {};
    }

   private:
    int64_t count_;
  };
  return {.domain = kDomain,
          .name = "Doubled",
          .infer_shapes = [](ShapeInference& node) -> Status {
            const std::vector<Dim>* shape = node.InputShape(0);
            if (shape == nullptr) return node.Fail("its rank is not known");
            node.SetOutput(0, node.InputType(0), {shape->at(0) * Dim(2)});
            return {};
          },
          .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
            return MakeOperatorKernel<Double>(site.inputs[0].elements());
          },
          .in_place = {{.output = 0, .input = 0}}};
}

TEST(ApiOperator, IsNotRunInPlaceWhereTheSizesDiffer) {
  ASSERT_TRUE(RegisterOperator(Doubled()).ok());
  graph::GraphBuilder builder;
  const auto x = builder.Input("x", compile::FloatTensor({3}));
  const auto once = builder.Nodes("Doubled", {builder.Node("Relu", {x})}, 1, {}, kDomain)[0];
  builder.Output(builder.Node("Neg", {builder.Node("Exp", {once})}));
  auto session = *engine::Session::Create({});
  const auto id = session->Add(Versioned(builder));
  ASSERT_TRUE(id.ok()) << id.error().Text();
  const auto outputs = session->RunValues(*id, {Value::Of(engine::Floats({3}, {0, 1, 2}))});
  ASSERT_TRUE(outputs.ok()) << outputs.error().Text();
  const std::vector<float> got = engine::ElementsOf((*outputs)[0].tensor);
  ASSERT_EQ(got.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(got[i], -std::exp(static_cast<float>(i / 2)), 1e-4F) << i;
  }
}

// y[i] = a[i] + b[n - 1 - i]: may lie over a, not over b.
OperatorDefinition Mirrored() {
  class Mirror : public OperatorKernel {
   public:
    explicit Mirror(int64_t count) : count_(count) {}
    Status Run(const OperatorCall& call) const override {
      const auto* a = static_cast<const float*>(call.inputs[0]);
      const auto* b = static_cast<const float*>(call.inputs[1]);
      auto* to = static_cast<float*>(call.outputs[0]);
      for (int64_t i = 0; i < count_; ++i) to[i] = a[i] + b[count_ - 1 - i];
      return {};
    }

   private:
    int64_t count_;
  };
  return {.domain = kDomain,
          .name = "Mirrored",
          .infer_shapes = [](ShapeInference& node) -> Status {
            node.CopyTypeAndShape(0, 0);
            return {};
          },
          .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
            return MakeOperatorKernel<Mirror>(site.inputs[0].elements());
          },
          .in_place = {{.output = 0, .input = 0}}};
}

TEST(ApiOperator, IsNotRunInPlaceOfAValueThatItReadsOtherwiseToo) {
  ASSERT_TRUE(RegisterOperator(Mirrored()).ok());
  graph::GraphBuilder builder;
  const auto x = builder.Input("x", compile::FloatTensor({4}));
  const auto a = builder.Node("Exp", {builder.Node("Relu", {x})});
  const auto y = builder.Nodes("Mirrored", {a, a}, 1, {}, kDomain)[0];
  builder.Output(builder.Node("Neg", {y}));
  auto session = *engine::Session::Create({});
  const auto id = session->Add(Versioned(builder));
  ASSERT_TRUE(id.ok()) << id.error().Text();
  const auto outputs = session->RunValues(*id, {Value::Of(engine::Floats({4}, {0, 1, 2, 3}))});
  ASSERT_TRUE(outputs.ok()) << outputs.error().Text();
  const std::vector<float> got = engine::ElementsOf((*outputs)[0].tensor);
  for (size_t i = 0; i < 4; ++i) {
    const auto place = static_cast<float>(i);
    EXPECT_NEAR(got[i], -(std::exp(place) + std::exp(3 - place)), 1e-3F) << i;
  }
}

TEST(ApiOperator, MayTellItsSizesWhenItRuns) {
  ASSERT_TRUE(RegisterOperator(Prefix()).ok());
  graph::GraphBuilder builder;
  const auto x = builder.Input("x", compile::FloatTensor({5}));
  const auto count =
      builder.Input("count", graph::ValueType::Tensor(DataType::kInt64, graph::Shape{}));
  builder.Output(builder.Nodes("Prefix", {x, count}, 1, {}, kDomain)[0]);
  auto session = *engine::Session::Create({});
  const auto id = session->Add(Versioned(builder));
  ASSERT_TRUE(id.ok()) << id.error().Text();
  const auto outputs = session->RunValues(
      *id, {Value::Of(engine::Floats({5}, {1, 2, 3, 4, 5})), Value::Of(engine::Integer(3))});
  ASSERT_TRUE(outputs.ok()) << outputs.error().Text();
  EXPECT_EQ((*outputs)[0].tensor.dims, (std::vector<int64_t>{3}));
  EXPECT_EQ(engine::ElementsOf((*outputs)[0].tensor), (std::vector<float>{1, 2, 3}));
}

TEST(ApiOperator, WhatItRefusesNamesTheNode) {
  ASSERT_TRUE(RegisterOperator(TimesNamed("Refusing")).ok());
  for (const DataType type : {DataType::kBool, DataType::kInt32}) {
    graph::GraphBuilder builder;
    const auto x = builder.Input("x", graph::ValueType::Tensor(type, graph::Shape{2}));
    builder.Output(builder.Nodes("Refusing", {x}, 1, {}, kDomain)[0]);
    auto session = *engine::Session::Create({});
    const auto id = session->Add(Versioned(builder));
    const Tensor given = *Tensor::Allocate(type, {2});
    const Error error = id.ok() ? session->RunValues(*id, {Value::Of(given)}).error() : id.error();
    EXPECT_EQ(error.code, type == DataType::kBool ? "graph.shape" : "kernel.unsupported");
    EXPECT_NE(error.Text().find("test.operator::Refusing"), std::string::npos) << error.Text();
  }
}

TEST(ApiOperator, ClashesAndHalvesAreRefused) {
  OperatorDefinition first = TimesNamed("Versioned");
  first.until = 3;
  ASSERT_TRUE(RegisterOperator(first).ok());
  OperatorDefinition later = TimesNamed("Versioned");
  later.since = 4;
  EXPECT_TRUE(RegisterOperator(later).ok()) << "versions that do not overlap";
  const struct {
    std::function<void(OperatorDefinition&)> change;
    const char* code;
  } refused[] = {
      {[](auto& one) { one.since = 3; }, "operator.registered"},
      {[](auto& one) { one.domain = "", one.name = "Relu"; }, "operator.registered"},
      {[](auto& one) { one.domain = "plimsoll"; }, "operator.definition"},
      {[](auto& one) { one.name = ""; }, "operator.definition"},
      {[](auto& one) { one.infer_shapes = nullptr; }, "operator.definition"},
      {[](auto& one) { one.make_kernel = nullptr; }, "operator.definition"},
      {[](auto& one) { one.since = 5, one.until = 4; }, "operator.definition"},
  };
  for (const auto& [change, code] : refused) {
    OperatorDefinition one = TimesNamed("Versioned");
    change(one);
    const Status status = RegisterOperator(one);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code) << status.error().Text();
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace api_operator_test
}  // namespace plimsoll
