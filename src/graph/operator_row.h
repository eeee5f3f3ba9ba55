#pragma once

#include <span>
#include <string_view>

#include "graph/memory_attributes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::graph {

class InferContext;

// Computes types and shapes of a node's outputs, and their content where that is known.
using ShapeRule = Status (*)(InferContext& context);
// What the operator does to memory that depends on the node's attributes.
struct Node;
using MemoryRule = void (*)(const Node& node, MemoryAttributes& attributes);

inline constexpr std::string_view kMachineLearningDomain = "ai.onnx.ml";
inline constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";
inline constexpr int kNewest = 1 << 20;
inline constexpr int kAny = 1 << 20;

// One operator of one range of versions. Tables of rows live in graph/operators/, one file a
// family.
struct OperatorRow {
  std::string_view domain;
  std::string_view name;
  int since = 1;        // first version of the domain's operator set with this meaning
  int until = kNewest;  // last one
  int min_inputs = 0;
  int max_inputs = kAny;
  int min_outputs = 1;
  int max_outputs = 1;
  ShapeRule infer = nullptr;
  MemoryRule memory = nullptr;  // none: nothing special
};

// The row for an operator at a version, of the tables or registered by the program; or null.
const OperatorRow* FindOperator(std::string_view domain, std::string_view name, int version);

// Every row of the tables, family by family.
std::span<const OperatorRow* const> AllOperators();

}  // namespace plimsoll::graph
