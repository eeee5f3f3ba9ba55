#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/base/tensor.h"

namespace plimsoll::kernels {

using Dims = std::vector<int64_t>;

using plimsoll::ElementCount;

// A tensor as it is known when a kernel is prepared. Row-major, little-endian, sub-byte types
// packed low bits first. Elements of a string tensor are std::string objects.
struct TensorInfo {
  graph::DataType type = graph::DataType::kUndefined;  // kUndefined: left out by the node
  Dims dims;
  // The elements, where they are known already: constants, and everything when the node is
  // prepared just before it runs. std::string objects for strings. May be unaligned for constants.
  const void* data = nullptr;
  bool constant = false;  // `data` stays what it is for as long as the kernel lives
  bool assumed = false;   // likewise, but `data` is an address alone: its elements are not known
  bool sized = true;      // of an output: `dims` are known; else the kernel's maker fills them in

  bool present() const { return type != graph::DataType::kUndefined; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t elements() const { return ElementCount(dims); }
  Bytes size() const { return graph::SizeOf(type, elements()); }
  // Elements of an integer or bool tensor whose data is known; empty when it is not.
  std::vector<int64_t> Integers() const;
  std::vector<double> Doubles() const;  // likewise, of integers and floats of any width
};

// Packed forms of constants. Whoever loads a model decides where these live and who shares them.
class PackedWeights {
 public:
  virtual ~PackedWeights() = default;
  using Fill = std::function<Status(void* packed)>;
  // Says that what is packed from now on is for this node.
  virtual void BeginNode(const graph::Node& /*node*/) {}
  // Whether to pack the constant at `data`. A kernel that is told no reads it as it is, and takes
  // `workspace` more in each run.
  virtual bool Wants(const void* /*data*/, Bytes /*plain*/, Bytes /*packed*/,
                     Bytes /*workspace*/) const {
    return true;
  }
  // The packed form `layout` (a text that tells it from every other form) of the constant at
  // `data`: made by `fill` at the first call, 64-byte aligned, valid for as long as the object.
  // The plain form may be gone from memory after it.
  virtual Result<const void*> Pack(const void* data, Bytes plain, std::string_view layout,
                                   Bytes packed, const Fill& fill) = 0;
  // While `fill` runs: these bytes of the plain form have been read for the last time.
  virtual void Forget(const void* data, Bytes size) = 0;
};

// A way to make a kernel that takes less time than the maker's own and holds a constant in a larger
// form: memory for time.
struct Trade {
  std::string name;  // of the alternative
  size_t input = 0;  // the constant
  Bytes packed;      // that form of it
  Bytes usual;       // the form that the maker's own way holds
  Bytes workspace;
  double saved = 0;  // time, in multiplications of float32 as fast as the processor has them
};

// The ways in which a maker can make a kernel besides the one that it takes by itself. Each has a
// name that says what is different, and gives results that differ by rounding at most.
struct Alternatives {
  std::string_view wanted = {};               // empty, or unknown: the maker's own way
  std::vector<std::string>* names = nullptr;  // where given: takes in the names of all there are
  std::vector<Trade>* trades = nullptr;       // likewise; these are not among `names`

  // For makers: there is an alternative of this name. Whether it is the one to take.
  bool Offer(std::string_view name) const {
    if (names != nullptr) names->emplace_back(name);
    return !wanted.empty() && wanted == name;
  }
  // The same of one that holds more memory.
  bool Offer(const Trade& trade) const {
    if (trades != nullptr) trades->push_back(trade);
    return wanted == trade.name;
  }
};

// Where a kernel is to run: one node, with everything that is known of its tensors.
struct KernelSite {
  const graph::Graph& graph;
  graph::NodeId id;
  std::vector<TensorInfo> inputs;           // as many as the node lists
  std::vector<TensorInfo> outputs;          // likewise
  PackedWeights* packed_weights = nullptr;  // null: use constants as they are
  // Outputs that the operator needs zeroed (MemoryAttributes::needs_clearing) are zero when a run
  // begins. Else the kernel clears them itself.
  bool outputs_cleared = false;
  // The largest workspace that is welcome. A maker with several implementations takes the fastest
  // that keeps to it; where none does, the one with the smallest workspace.
  Bytes most_workspace = Bytes(kSaturated);
  Alternatives alternatives = {};
  // The kernel tells what it needs and never runs, so that its maker may leave out what only a run
  // takes.
  bool looked_at = false;
  // The graph runs with other sizes too, each of which prepares its kernels: what takes long to
  // prepare must save as much.
  bool sizes_vary = false;
  // The kernel gives the same bytes for the same input with any number of threads. Else a few
  // implementations split a sum between threads, and its last bits follow their number.
  bool deterministic = false;

  const graph::Node& node() const { return graph[id]; }
  const graph::Attributes& attributes() const { return node().attributes; }
  bool has_input(size_t i) const { return i < inputs.size() && inputs[i].present(); }
  bool has_output(size_t i) const { return i < outputs.size() && outputs[i].present(); }

  // "cannot run node 3 'topk' (TopK): <why>", kind kUnsupported, code kernel.unsupported.
  Error Unsupported(std::string why) const;
  // The same words for data or attributes that cannot be right: kind kRunFailed, code kernel.input.
  Error BadInput(std::string why) const;
};

// What a kernel is given for one run. Pointers stand for the site's tensors, in order, null where
// one is left out; they are aligned to their element at least, but for inputs of which rows are
// read (Kernel::rows_read). An output may be an input's memory where the catalogue allows it
// (InPlacePairs) or where the kernel moves nothing (a view).
struct KernelCall {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;  // 64-byte aligned, workspace() bytes, not cleared
};

// A node ready to run with fixed types and shapes. Run allocates nothing, and reads and writes only
// what the call names; it is const, so one kernel may run in several threads over several calls.
// Errors are for what only data tells: an index out of range.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Bytes workspace() const { return {}; }
  virtual Status Run(const KernelCall& call) const = 0;
  // Which implementation this is, for reports and tests: "jit:avx2", "ours".
  virtual std::string_view implementation() const { return "ours"; }
  // What the workspace is for, in a few words for reports: "input and output in blocks of
  // channels". Empty where it is a fixed small amount, or none.
  virtual std::string_view workspace_purpose() const { return {}; }
  // Rows of an input that a run picks, where it reads no more of it than these; 0: it reads all of
  // it. Rows are copied from wherever they lie, which need not be aligned.
  virtual int64_t rows_read(size_t /*input*/) const { return 0; }
};

using KernelPointer = std::unique_ptr<const Kernel>;

// A kernel out of a callable (const KernelCall&) -> Status or void, the workspace it needs and what
// for. The text must outlive the kernel.
template <typename Body>
KernelPointer MakeKernel(Body body, Bytes workspace = {}, std::string_view purpose = {}) {
  class BodyKernel final : public Kernel {
   public:
    BodyKernel(Body body, Bytes workspace, std::string_view purpose)
        : body_(std::move(body)), workspace_(workspace), purpose_(purpose) {}
    Bytes workspace() const override { return workspace_; }
    std::string_view workspace_purpose() const override { return purpose_; }
    Status Run(const KernelCall& call) const override {
      if constexpr (std::is_void_v<decltype(body_(call))>) {
        body_(call);
        return {};
      } else {
        return body_(call);
      }
    }

   private:
    Body body_;
    Bytes workspace_;
    std::string_view purpose_;
  };
  return std::make_unique<const BodyKernel>(std::move(body), workspace, purpose);
}

}  // namespace plimsoll::kernels
