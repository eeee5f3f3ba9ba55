#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::graph::operators {

// One line of a table of tests: an operator, what goes in, what must come out.
//
// Values are written as types print: "float32[1,3,h,w]", "float32[...]" where the rank is unknown,
// "seq(float32[2])", "" where an input is left out. Known content follows in braces,
// "int64[2]{4,n}". A size that only data will tell is "?".
struct OperatorCase {
  std::string op;  // "Conv", or "ai.onnx.ml:Scaler"
  int version = 0;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, Attribute>> attributes;
  // What comes out; or one text "fails: differ in rank" with a part of the reason.
  std::vector<std::string> outputs;
};

// Runs the case's rule and expects its outputs.
void Check(const OperatorCase& operator_case);
void CheckAll(const std::vector<OperatorCase>& cases);

// Infers all nodes of a graph in order, bodies included.
Status InferAll(Graph& graph);

ValueType ParseType(const std::string& text);
std::string TextOf(const Value& value);  // in the notation of the table

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Strings = std::vector<std::string>;

}  // namespace plimsoll::graph::operators
