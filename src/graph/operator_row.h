#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/memory_attributes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::graph {

class InferContext;

// Computes types and shapes of a node's outputs, and their content where that is known.
using ShapeRule = Status (*)(InferContext& context);
struct Graph;
struct Node;
// What the operator asks of memory; may depend on the node's attributes.
using MemoryRule = void (*)(const Node& node, MemoryAttributes& attributes);
// Whether a node's results differ from run to run though its inputs are the same.
using RandomRule = bool (*)(const Node& node);
// How many additions and multiplications a node does at least; 0 where its shapes are not known.
using OperationsRule = int64_t (*)(const Graph& graph, const Node& node);

inline constexpr std::string_view kMachineLearningDomain = "ai.onnx.ml";
inline constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";
// Operators that ONNX Runtime adds to the standard; its optimisers and exporters write them.
inline constexpr std::string_view kContributedDomain = "com.microsoft";
inline constexpr int kNewest = 1 << 20;
inline constexpr int kAny = 1 << 20;

// A set of inputs by position, as a bit mask. Inputs(1, 3): the second and the fourth.
using InputSet = uint32_t;
inline constexpr InputSet kEveryInput = ~InputSet{0};
template <typename... Positions>
constexpr InputSet Inputs(Positions... positions) {
  return ((InputSet{1} << positions) | ... | InputSet{0});
}
constexpr bool Contains(InputSet inputs, size_t position) {
  return position < 32 ? ((inputs >> position) & 1) != 0 : inputs == kEveryInput;
}

// How an output can be bytes of an input (or, for kJoin, an input bytes of the output) without a
// copy. Whether a node's shapes and attributes allow it is for the compiler to find out.
enum class View {
  kNone,
  kWhole,             // always: the output is input 0 under another shape
  kWholeIfUnchanged,  // where type and shape stay the same and nothing is drawn at random
  kPermutation,       // where no axis longer than 1 changes its place among such axes
  kSplit,             // the outputs are parts of input 0 along `axis`
  kJoin,              // the inputs are parts of the output along `axis`
  kSlice,             // starts, ends, axes and steps of input 0
  kIndex,             // one index of input 0 along `axis`
};

// How an operator of one input can be applied by the fused operator that makes that input: by its
// name and up to two numbers, which are attributes `alpha` and `beta` of the node.
struct FusedActivation {
  bool fusable = false;
  int parameters = 0;
  double alpha = 0;  // where the node does not give it
  double beta = 0;
};

// Everything that passes, planner and executor ask about an operator. What a row does not say is
// false, or nothing.
struct OperatorFacts {
  // Each output element comes from the elements at the same place of the inputs, which are
  // broadcast.
  bool elementwise = false;
  bool keeps_zero = false;       // elementwise, and zeros alone give zero
  bool result_is_shape = false;  // reads shapes only; the output's elements are sizes
  View view = View::kNone;
  // Inputs whose memory output 0 may be written into: each element is read before, or as, it is
  // overwritten. With kEveryInput, several inputs may be the same value; else the overwritten one
  // must not be read as another input too.
  InputSet in_place_inputs = 0;
  // Further outputs that may be written into the memory of an input which nothing else of the node
  // reads: a cache that grows inside its own memory. Output 0: none.
  struct CachePair {
    int output = 0;
    int input = 0;
  };
  std::array<CachePair, 2> in_place_caches = {};
  // Output 0 may be written where input 0 begins, in memory with room for all of it: the elements
  // of input 0 move to their places first. No other input may lie there.
  bool grows_over_first_input = false;
  // Inputs whose elements the host must know before the node is prepared: axes, shapes, sizes,
  // scales, conditions and trip counts. All others may lie in memory that the host cannot reach.
  // Where elements of a tensor tell the size of a result (NonZero, Compress), that is not marked.
  InputSet host_inputs = 0;
  FusedActivation activation = {};
  MemoryRule memory = nullptr;          // none: nothing special
  RandomRule random = nullptr;          // none: never
  OperationsRule operations = nullptr;  // none: they are not counted
};

// The facts that many rows share.
inline constexpr OperatorFacts kElementwise = {.elementwise = true, .in_place_inputs = kEveryInput};
inline constexpr OperatorFacts kElementwiseKeepsZero = {
    .elementwise = true, .keeps_zero = true, .in_place_inputs = kEveryInput};
inline constexpr OperatorFacts kActivation = {.elementwise = true,
                                              .keeps_zero = true,
                                              .in_place_inputs = kEveryInput,
                                              .activation = {.fusable = true}};
inline constexpr OperatorFacts kOverFirstInput = {.in_place_inputs = Inputs(0)};
template <typename... Positions>
constexpr OperatorFacts HostInputs(Positions... positions) {
  return {.host_inputs = Inputs(positions...)};
}

// One operator of one range of versions. Tables of rows live in graph/operators/, one file per
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
  OperatorFacts facts = {};
};

// The row for an operator at a version, of the tables or registered by the program; or null.
const OperatorRow* FindOperator(std::string_view domain, std::string_view name, int version);

// The facts of a node's operator; none where it has no row.
const OperatorFacts& FactsOf(const Node& node);

// Every row of the tables, family by family.
std::span<const OperatorRow* const> AllOperators();

}  // namespace plimsoll::graph
