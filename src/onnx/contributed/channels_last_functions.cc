#include "graph/operator_row.h"
#include "onnx/contributed/compositions.h"

namespace plimsoll::onnx {
namespace {

using Name = FunctionWriter::Name;
using NamedAttributes = FunctionWriter::NamedAttributes;

// From [N, H, W, C] to [N, C, H, W], or back.
Name Turned(FunctionWriter& f, Name value, size_t spatial, bool channels_first) {
  std::vector<int64_t> perm(spatial + 2, 0);
  const auto last = static_cast<int64_t>(spatial) + 1;
  for (size_t i = 1; i < perm.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (channels_first) {
      perm[i] = axis == 1 ? last : axis - 1;
    } else {
      perm[i] = axis == last ? 1 : axis + 1;
    }
  }
  return f.Make("Transpose", {value}, {{"perm", std::move(perm)}});
}

// The operator over channels that come first, between Transposes where the node's come last. Those
// of neighbours meet and vanish.
Status AddTurned(FunctionWriter& f, std::string_view op, std::string_view domain, bool last,
                 std::initializer_list<std::string_view> attribute_names) {
  NamedAttributes attributes;
  size_t spatial = 2;
  for (const std::string_view name : attribute_names) f.PassOn(attributes, name);
  for (const std::string_view name : {"kernel_shape", "strides", "dilations"}) {
    const std::vector<int64_t>* given = f.given().Ints(name);
    if (given != nullptr && !given->empty()) spatial = given->size();
  }
  std::vector<Name> inputs;
  for (size_t i = 0; i < f.input_count(); ++i) inputs.push_back(f.in(i));
  if (!last) {
    f.Add(op, std::move(inputs), {f.out(0)}, std::move(attributes), domain);
    return {};
  }
  inputs[0] = Turned(f, inputs[0], spatial, true);
  const Name made = f.Make(op, std::move(inputs), std::move(attributes), domain);
  f.Add("Identity", {Turned(f, made, spatial, false)}, {f.out(0)});
  return {};
}

}  // namespace

Status WriteQLinearConv(FunctionWriter& f) {
  return AddTurned(f, "QLinearConv", "", f.given().Int("channels_last", 0) != 0,
                   {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

Status WriteNhwcMaxPool(FunctionWriter& f) {
  return AddTurned(f, "MaxPool", "", true,
                   {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"});
}

Status WriteQLinearAveragePool(FunctionWriter& f) {
  return AddTurned(
      f, "QLinearAveragePool", graph::kContributedDomain, true,
      {"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"});
}

}  // namespace plimsoll::onnx
