#include "onnx/contributed/blocked_functions.h"

#include <string_view>

#include "onnx/contributed/function_writer.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using Name = FunctionWriter::Name;
using NamedAttributes = FunctionWriter::NamedAttributes;

// The first `channels` along an axis.
Name FirstOf(FunctionWriter& f, Name value, int64_t channels, int64_t axis) {
  return f.Make("Slice", {value, f.Int64s({0}), f.Int64s({channels}), f.Int64s({axis})});
}

Name PlainFilter(FunctionWriter& f, const BlockedNode& facts) {
  const int64_t b = facts.block;
  const auto [outputs, inputs, height, width] = facts.filter;
  Name filter;
  if (facts.blocks_of_inputs) {
    filter = f.Make("Reshape", {f.in(1), f.Int64s({outputs / b, inputs / b, height, width, b, b})});
    filter = f.Make("Transpose", {filter}, {{"perm", std::vector<int64_t>{0, 5, 1, 4, 2, 3}}});
  } else {
    filter = f.Make("Reshape", {f.in(1), f.Int64s({outputs / b, inputs, height, width, b})});
    filter = f.Make("Transpose", {filter}, {{"perm", std::vector<int64_t>{0, 4, 1, 2, 3}}});
  }
  filter = f.Make("Reshape", {filter, f.Int64s({outputs, inputs, height, width})});
  if (facts.output_channels < outputs) filter = FirstOf(f, filter, facts.output_channels, 0);
  if (facts.blocks_of_inputs && facts.input_channels < inputs) {
    filter = FirstOf(f, filter, facts.input_channels, 1);
  }
  return filter;
}

Status WriteConvolution(FunctionWriter& f, const BlockedNode& facts) {
  Name bias = f.in(2);
  if (!bias.empty() && facts.output_channels < facts.filter[0]) {
    bias = FirstOf(f, bias, facts.output_channels, 0);
  }
  const int64_t groups = facts.depthwise ? facts.output_channels : f.given().Int("group", 1);
  return AddConvolution(f, {f.in(0), PlainFilter(f, facts), bias, f.in(3)}, groups);
}

Status WritePool(FunctionWriter& f, std::string_view op) {
  NamedAttributes attributes;
  for (const std::string_view name : {"auto_pad", "ceil_mode", "count_include_pad", "dilations",
                                      "kernel_shape", "pads", "strides"}) {
    f.PassOn(attributes, name);
  }
  f.Add(op, {f.in(0)}, {f.out(0)}, std::move(attributes));
  return {};
}

Status WriteUpsample(FunctionWriter& f) {
  const std::vector<int64_t>* scales = f.given().Ints("scales");
  if (scales == nullptr) return CannotWrite("it has no scales");
  NamedAttributes attributes{{"nearest_mode", std::string("floor")}};
  f.PassOn(attributes, "mode");
  attributes.emplace_back("coordinate_transformation_mode",
                          f.given().String("coordinate_transformation_mode", "asymmetric"));
  const Name factors = f.Make("Cast", {f.Int64s(*scales)},
                              {{"to", static_cast<int64_t>(graph::DataType::kFloat32)}});
  f.Add("Resize", {f.in(0), {}, factors}, {f.out(0)}, std::move(attributes));
  return {};
}

Status WriteReorderInput(FunctionWriter& f, const BlockedNode& facts) {
  Name data = f.in(0);
  if (f.given().Int("channels_last", 0) != 0) {
    data = f.Make("Transpose", {data}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  }
  if (facts.output_channels > 0) data = FirstOf(f, data, facts.output_channels, 1);
  f.Add("Identity", {data}, {f.out(0)});
  return {};
}

Status WriteReorderOutput(FunctionWriter& f) {
  const Name data = FirstOf(f, f.in(0), f.given().Int("channels", 0), 1);
  if (f.given().Int("channels_last", 0) != 0) {
    f.Add("Transpose", {data}, {f.out(0)}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  } else {
    f.Add("Identity", {data}, {f.out(0)});
  }
  return {};
}

Status Write(FunctionWriter& f, std::string_view op, const BlockedNode& facts) {
  if (op == "Conv") return WriteConvolution(f, facts);
  if (op == "ReorderInput") return WriteReorderInput(f, facts);
  if (op == "ReorderOutput") return WriteReorderOutput(f);
  if (op == "Upsample") return WriteUpsample(f);
  if (op == "Reshape") {
    f.Add("Identity", {f.in(0)}, {f.out(0)});
    return {};
  }
  for (const std::string_view pool :
       {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"}) {
    if (op == pool) return WritePool(f, op);
  }
  return CannotWrite("no such operator is known");
}

}  // namespace

Result<FunctionRecord> BlockedFunction(const NodeRecord& node, const BlockedNode& facts,
                                       const graph::Attributes& attributes) {
  FunctionWriter writer(node, attributes);
  PLIMSOLL_TRY(Write(writer, node.op, facts));
  return writer.Finish();
}

}  // namespace plimsoll::onnx
