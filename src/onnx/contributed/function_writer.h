#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/attribute.h"
#include "onnx/wire/records.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Writes the body of a function for one node. Values are named by position: inputs "in0", "in1",
// outputs "out0" and so on, what lies between "t0", "t1".
class FunctionWriter {
 public:
  using Name = std::string_view;
  using NamedAttributes = std::vector<std::pair<std::string_view, graph::Attribute>>;

  FunctionWriter(const NodeRecord& node, const graph::Attributes& attributes);

  const graph::Attributes& given() const { return given_; }
  size_t input_count() const { return node_.inputs.size(); }
  bool has(size_t input) const {
    return input < node_.inputs.size() && !node_.inputs[input].empty();
  }
  bool wants(size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  Name in(size_t input) const;    // empty where it is left out
  Name out(size_t output) const;  // likewise

  // A node whose outputs have these names.
  void Add(std::string_view op, std::vector<Name> inputs, std::vector<Name> outputs,
           NamedAttributes attributes = {}, std::string_view domain = "");
  // A node with one output, whose name is given.
  Name Make(std::string_view op, std::vector<Name> inputs, NamedAttributes attributes = {},
            std::string_view domain = "");
  Name Int64s(std::vector<int64_t> elements);
  Name Int64(int64_t element);
  Name Float32(double element);
  Name NewName();
  // `a`, or the sum of both where the second is there.
  Name SumOf(Name a, Name b) { return b.empty() ? a : Make("Add", {a, b}); }
  // The node's attribute of that name, as an attribute of a node in the body.
  void PassOn(NamedAttributes& attributes, std::string_view name) const;

  FunctionRecord Finish() { return std::move(function_); }

 private:
  const NodeRecord& node_;
  const graph::Attributes& given_;
  FunctionRecord function_;
  size_t names_ = 0;
};

// Why a node has no function. Who asked for it knows the place.
Error CannotWrite(std::string why);

// A convolution with the node's window and activation: data, filter, bias, and what is added before
// the activation; the last two may be empty, but all four are given.
Status AddConvolution(FunctionWriter& f, std::vector<FunctionWriter::Name> inputs, int64_t groups);

}  // namespace plimsoll::onnx
