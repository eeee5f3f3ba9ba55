#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/base/tensor.h"
#include "plimsoll/engine/model.h"

// Operators of the program's own. Once registered, nodes of that domain and name are read, planned,
// run in place and folded like any other.
//
//   class Square : public OperatorKernel {
//    public:
//     explicit Square(int64_t count) : count_(count) {}
//     Status Run(const OperatorCall& call) const override {
//       const auto* from = static_cast<const float*>(call.inputs[0]);
//       auto* to = static_cast<float*>(call.outputs[0]);
//       for (int64_t i = 0; i < count_; ++i) to[i] = from[i] * from[i];
//       return {};
//     }
//    private:
//     int64_t count_;
//   };
//
//   PLIMSOLL_TRY(RegisterOperator(
//       {.domain = "com.example",
//        .name = "Square",
//        .min_inputs = 1,
//        .max_inputs = 1,
//        .infer_shapes = [](ShapeInference& node) -> Status {
//          node.CopyTypeAndShape(0, 0);
//          return {};
//        },
//        .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
//          if (site.inputs[0].type != DataType::kFloat32) return site.Unsupported("float32 alone");
//          return MakeOperatorKernel<Square>(site.inputs[0].elements());
//        },
//        .in_place = {{.output = 0, .input = 0}}}));
namespace plimsoll {

namespace graph {
class Attributes;
class InferContext;
}  // namespace graph

// The attributes of a node. Borrows them: for the call that hands it out.
class OperatorAttributes {
 public:
  explicit OperatorAttributes(const graph::Attributes& attributes) : attributes_(attributes) {}

  bool Has(std::string_view name) const;
  // The value when the attribute is there and of that type, else `otherwise`.
  int64_t Int(std::string_view name, int64_t otherwise) const;
  double Float(std::string_view name, double otherwise) const;
  std::string String(std::string_view name, std::string_view otherwise) const;
  // Empty when the attribute is not there or of another type.
  std::vector<int64_t> Ints(std::string_view name) const;
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Strings(std::string_view name) const;

 private:
  const graph::Attributes& attributes_;
};

// What a shape rule sees of one node, and where it puts its answers. Rules cope with partial
// knowledge: an input whose rank is not known gives an output whose rank is not known, never an
// error. They fail only on what cannot be right.
class ShapeInference {
 public:
  explicit ShapeInference(graph::InferContext& context) : context_(context) {}

  size_t input_count() const;
  size_t output_count() const;
  bool HasInput(size_t input) const;       // false: an optional input that is left out
  DataType InputType(size_t input) const;  // kUndefined: not known yet, or left out
  // Null where the rank is not known. Dimensions may be symbols, which can be computed with.
  const std::vector<Dim>* InputShape(size_t input) const;
  // The elements of a small integer input, where they are known before the run.
  std::optional<std::vector<int64_t>> InputIntegers(size_t input) const;
  OperatorAttributes attributes() const;

  void SetOutput(size_t output, DataType type, std::vector<Dim> shape);
  void SetOutputOfUnknownRank(size_t output, DataType type);
  // Output `output` is as input `input`, as far as that is known.
  void CopyTypeAndShape(size_t output, size_t input);
  // A dimension that only data tells: a graph with one is run node by node, and the kernel's maker
  // says the size (OperatorTensor::sized).
  Dim UnknownDim(size_t output, size_t axis) const;

  // "the shapes of node 3 'mine' (com.example::Square) cannot be worked out: <why>".
  Error Fail(std::string why) const;

 private:
  graph::InferContext& context_;
};

// A tensor as it is known when a kernel is made.
struct OperatorTensor : ConstTensorView {
  // Of an input: `data` is there where its elements are known already, else null.
  // Of an output: false where the kernel's maker has to fill in `dims`, from the data of the
  // inputs, which is there then.
  bool sized = true;
};

// Where a kernel is to run: one node with fixed types and shapes.
struct OperatorSite {
  std::vector<OperatorTensor> inputs;   // type kUndefined: left out by the node
  std::vector<OperatorTensor> outputs;  // likewise
  OperatorAttributes attributes;
  std::string node;  // "node 3 'mine' (com.example::Square)"
  // The kernel must give the same bytes whatever the number of threads (deterministic=1).
  bool deterministic = false;

  // Errors that name the node: for types or attributes that the operator has no kernel for, and for
  // what cannot be right.
  Error Unsupported(std::string why) const;
  Error BadInput(std::string why) const;
};

// What a kernel is given for one run. Pointers stand for the site's tensors, in order, null where
// one is left out; they are aligned to their element at least. An output may be an input's memory
// where the definition allows it (in_place), and nowhere else.
struct OperatorCall {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;  // 64-byte aligned, workspace() bytes, not cleared
};

// A node ready to run on the CPU. Run reads and writes only what the call names and is const, so
// one kernel may run in several threads over several calls. It must not throw.
class OperatorKernel {
 public:
  virtual ~OperatorKernel() = default;
  virtual Bytes workspace() const { return {}; }  // memory for the run alone; it goes into the plan
  virtual Status Run(const OperatorCall& call) const = 0;
};

// Owned by the engine.
using OperatorKernelPointer = std::unique_ptr<const OperatorKernel>;

// A kernel of the program's class, as makers return it.
template <typename Kernel, typename... Arguments>
OperatorKernelPointer MakeOperatorKernel(Arguments&&... arguments) {
  return std::make_unique<const Kernel>(std::forward<Arguments>(arguments)...);
}

// The output may be written into the input's memory while the node runs: the kernel reads each
// element of that input before, or as, it writes the output there. Taken where both are of the same
// shape and size of element; a node that has one value as several inputs needs a pair for each.
struct InPlacePair {
  int output = 0;
  int input = 0;
};

inline constexpr int kNewestVersion = 1 << 20;
inline constexpr int kAnyNumber = 1 << 20;

// All that the engine asks of an operator.
struct OperatorDefinition {
  std::string domain;          // as the model names it; "plimsoll" is the engine's own
  std::string name;            // of the operator
  int since = 1;               // first version of the domain's operator set with this meaning
  int until = kNewestVersion;  // last one
  int min_inputs = 0;
  int max_inputs = kAnyNumber;
  int min_outputs = 1;
  int max_outputs = 1;
  std::function<Status(ShapeInference& node)> infer_shapes = {};
  std::function<Result<OperatorKernelPointer>(OperatorSite& site)> make_kernel = {};
  std::vector<InPlacePair> in_place = {};  // best first
  bool deterministic = true;  // the same inputs give the same outputs, so nodes may be folded
};

// Makes the operator known to every session of the process, from the next model that is opened on.
// Refuses (operator.definition) a definition that is incomplete, and (operator.registered) one
// whose versions overlap with those of an operator that is there, the engine's own included.
// Thread-safe.
Status RegisterOperator(OperatorDefinition definition);

}  // namespace plimsoll
