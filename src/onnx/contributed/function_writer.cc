#include "onnx/contributed/function_writer.h"

#include <array>
#include <cassert>
#include <string>

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

// Names by number: the records keep views on them.
std::string_view NumberedName(std::string_view letter, size_t number) {
  constexpr size_t kMost = 64;
  static const auto* const names = [] {
    auto* made = new std::array<std::array<std::string, kMost>, 3>;
    for (size_t i = 0; i < kMost; ++i) {
      (*made)[0][i] = "in" + std::to_string(i);
      (*made)[1][i] = "out" + std::to_string(i);
      (*made)[2][i] = "t" + std::to_string(i);
    }
    return made;
  }();
  assert(number < kMost);
  return (*names)[letter == "in" ? 0 : letter == "out" ? 1 : 2][number];
}

}  // namespace

FunctionWriter::FunctionWriter(const NodeRecord& node, const graph::Attributes& attributes)
    : node_(node), given_(attributes) {
  function_.domain = node.domain;
  function_.name = node.op;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    function_.inputs.push_back(NumberedName("in", i));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    function_.outputs.push_back(NumberedName("out", i));
  }
}

FunctionWriter::Name FunctionWriter::in(size_t input) const {
  return has(input) ? NumberedName("in", input) : Name();
}

FunctionWriter::Name FunctionWriter::out(size_t output) const {
  return wants(output) ? NumberedName("out", output) : Name();
}

FunctionWriter::Name FunctionWriter::NewName() { return NumberedName("t", names_++); }

void FunctionWriter::Add(std::string_view op, std::vector<Name> inputs, std::vector<Name> outputs,
                         NamedAttributes attributes, std::string_view domain) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  while (outputs.size() > 1 && outputs.back().empty()) outputs.pop_back();
  NodeRecord& node = function_.nodes.emplace_back();
  node.domain = domain;
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  for (auto& [name, value] : attributes) {
    AttributeRecord& attribute = node.attributes.emplace_back();
    attribute.name = name;
    attribute.value = std::move(value);
  }
}

FunctionWriter::Name FunctionWriter::Make(std::string_view op, std::vector<Name> inputs,
                                          NamedAttributes attributes, std::string_view domain) {
  const Name made = NewName();
  Add(op, std::move(inputs), {made}, std::move(attributes), domain);
  return made;
}

FunctionWriter::Name FunctionWriter::Int64s(std::vector<int64_t> elements) {
  return Make("Constant", {}, {{"value_ints", std::move(elements)}});
}

FunctionWriter::Name FunctionWriter::Int64(int64_t element) {
  return Make("Constant", {}, {{"value_int", element}});
}

FunctionWriter::Name FunctionWriter::Float32(double element) {
  return Make("Constant", {}, {{"value_float", element}});
}

void FunctionWriter::PassOn(NamedAttributes& attributes, std::string_view name) const {
  if (const graph::Attribute* value = given_.Find(name)) attributes.emplace_back(name, *value);
}

Error CannotWrite(std::string why) {
  return {.kind = ErrorKind::kUnsupported,
          .code = "onnx.contributed",
          .what = "",
          .where = "",
          .why = std::move(why),
          .remedy = ""};
}

Status AddConvolution(FunctionWriter& f, std::vector<FunctionWriter::Name> inputs, int64_t groups) {
  FunctionWriter::NamedAttributes attributes{{"group", groups}};
  for (const std::string_view name :
       {"auto_pad", "dilations", "kernel_shape", "pads", "strides", "activation"}) {
    f.PassOn(attributes, name);
  }
  if (const std::vector<double>* parameters = f.given().Floats("activation_params")) {
    constexpr std::string_view kNames[] = {"activation_alpha", "activation_beta"};
    if (parameters->size() > std::size(kNames)) {
      return CannotWrite(StrCat("there are ", parameters->size(), " parameters of an activation"));
    }
    for (size_t i = 0; i < parameters->size(); ++i) {
      attributes.emplace_back(kNames[i], (*parameters)[i]);
    }
  }
  // What is not fused yet is left to the passes.
  const bool fused = f.given().Find("activation") != nullptr || !inputs[3].empty();
  f.Add(fused ? "FusedConv" : "Conv", std::move(inputs), {f.out(0)}, std::move(attributes),
        fused ? "plimsoll" : "");
  return {};
}

}  // namespace plimsoll::onnx
