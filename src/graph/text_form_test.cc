#include "graph/text_form.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace plimsoll::graph {
namespace text_form_test {

TEST(TextFormTest, ShowsInputsConstantsNodesAttributesAndBodies) {
  GraphBuilder builder;
  const ValueId x =
      builder.Input("x", ValueType::Tensor(DataType::kFloat32, Shape{1, Dim::Symbol("n")}));
  const ValueId flag = builder.Input("flag", ValueType::Tensor(DataType::kBool, Shape{}));
  const ValueId target = builder.Int64s("target", {1, -1});
  Attributes zero;
  zero.Set("allowzero", int64_t{0});
  const ValueId flat = builder.Node("Reshape", {x, target}, zero);
  const SubgraphId then_body = builder.BeginBody("then");
  const ValueId positive = builder.Node("Relu", {flat});
  builder.EndBody({positive});
  Attributes branches;
  branches.Set("then_branch", then_body);
  builder.Output(builder.Node("If", {flag}, branches));
  EXPECT_EQ(TextForm(builder.Build()),
            "graph\n"
            "  input %x: float32[1,n]\n"
            "  input %flag: bool[]\n"
            "  const %target: int64[2] = [1, -1]\n"
            "  %Reshape_0: ? = Reshape(%x, %target) {allowzero=0}\n"
            "  %If_2: ? = If(%flag) {then_branch=body 1}\n"
            "    body 1 then\n"
            "      %Relu_1: ? = Relu(%Reshape_0)\n"
            "      output %Relu_1\n"
            "  output %If_2\n");
}

}  // namespace text_form_test
}  // namespace plimsoll::graph
