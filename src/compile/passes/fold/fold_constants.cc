#include "compile/passes/fold/fold_constants.h"

#include <algorithm>

#include "base/mapped_pages.h"
#include "compile/memory/storage/views.h"
#include "compile/passes/bodies.h"
#include "compile/passes/fold/constant_chains.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/assumed_constants.h"
#include "compile/shapes/known_tensor.h"
#include "compile/shapes/shapes.h"
#include "kernels/backend.h"
#include "kernels/catalogue.h"
#include "kernels/run_once.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;
using kernels::HostTensor;

constexpr Bytes kAlwaysFolded(int64_t{1} << 20);
constexpr int64_t kMostGrowth = 4;

bool GrowsTooMuch(Bytes made, Bytes read) {
  return made > kAlwaysFolded && made.value() / kMostGrowth > read.value();
}

class Folding {
 public:
  enum class Transposes { kFold, kLeaveToProducts };
  Folding(Graph& graph, Transposes transposes)
      : graph_(graph), rewriter_(graph), chains_(rewriter_), transposes_(transposes) {}

  FusionCounts Run() {
    Body(Graph::kRoot, /*contents_hold=*/true);
    return counts_;
  }

 private:
  // What is known of the elements inside a loop's body may be true of one iteration only.
  void Body(SubgraphId body, bool contents_hold) {
    for (const NodeId id : rewriter_.NodesOf(body)) {
      if (rewriter_.IsDropped(id)) continue;
      const bool branch = graph_[id].domain.empty() && graph_[id].op == "If";
      const std::vector<SubgraphId> inner = SubgraphsOf(graph_[id]);
      for (const SubgraphId sub : inner) Body(sub, contents_hold && branch);
      if (!inner.empty() || !MayRewrite(graph_[id])) continue;
      if (FoldStored(id) || (contents_hold && FoldKnown(id)) || FoldAsWindow(id) ||
          FoldByKernel(id)) {
        counts_.Took(FusionPattern::kConstantFold);
      }
    }
  }

  // A Constant node becomes the tensor that it carries.
  bool FoldStored(NodeId id) {
    const graph::Node& node = graph_[id];
    const graph::ConstantTensor* stored = node.attributes.Tensor("value");
    if (!node.domain.empty() || node.op != "Constant" || stored == nullptr) return false;
    rewriter_.MakeConstant(node.outputs[0], *stored);
    rewriter_.Drop(id);
    return true;
  }

  bool FoldKnown(NodeId id) {
    const std::vector<ValueId>& outputs = graph_[id].outputs;
    if (outputs.size() != 1 || !outputs[0].valid()) return false;
    const graph::Value& made = graph_[outputs[0]];
    const bool whole_numbers = made.content && made.content->dims() != nullptr;
    const std::optional<HostTensor> known = whole_numbers ? KnownTensor(made) : std::nullopt;
    if (!known) return false;
    rewriter_.MakeConstant(outputs[0], kernels::ToConstant(*known));
    Retire(id);
    return true;
  }

  // What is a run of a constant's bytes stays where it lies, unless it is a piece that would keep
  // all of a constant alive that is otherwise free to go. A piece of a file keeps nothing.
  bool FoldAsWindow(NodeId id) {
    const std::vector<ValueId>& inputs = graph_[id].inputs;
    if (inputs.empty() || !inputs[0].valid() || !graph_[inputs[0]].constant.valid()) return false;
    if (!InferAgain(id)) return false;
    const std::vector<WindowOf> windows = WindowsOf(graph_, id);
    if (windows.size() != graph_[id].outputs.size()) return false;
    std::vector<graph::ConstantTensor> parts;
    for (const WindowOf& window : windows) {
      const std::optional<graph::ConstantTensor> part = PartOf(window);
      if (!part) return false;
      parts.push_back(*part);
    }
    for (size_t i = 0; i < windows.size(); ++i) {
      rewriter_.MakeConstant(windows[i].part, std::move(parts[i]));
    }
    Retire(id);
    return true;
  }

  std::optional<graph::ConstantTensor> PartOf(const WindowOf& window) const {
    const graph::ConstantId constant = graph_[window.whole].constant;
    const graph::ValueType& type = graph_[window.part].type;
    const std::optional<Bytes> size = SizeOf(type);
    if (!constant.valid() || !size || *size == Bytes(0)) return std::nullopt;
    graph::ConstantTensor part = graph_[constant];
    const auto offset = static_cast<size_t>(window.offset.value());
    const auto length = static_cast<size_t>(size->value());
    if (part.type != type.data_type || (part.missing && !IsAssumed(part)) ||
        offset > part.bytes.size() || length > part.bytes.size() - offset) {
      return std::nullopt;
    }
    const bool whole = length == part.bytes.size();
    const auto lies_in_file = [&part] {
      return part.missing ? !part.external_file.empty() : LieInFile(part.bytes);
    };
    if (!whole && (*size <= kAlwaysFolded || !lies_in_file())) return std::nullopt;
    part.dims = StaticDims(*type.shape);
    part.bytes = part.bytes.subspan(offset, length);
    return part;
  }

  bool FoldByKernel(NodeId id) {
    const graph::Node& node = graph_[id];
    if (!kernels::IsDeterministic(node)) return false;
    if (!kernels::HostBackend().Supports(graph_, id)) return false;
    Bytes read;
    bool assumed = false;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      if (!graph_[input].constant.valid()) return false;
      const graph::ConstantTensor& constant = graph_[graph_[input].constant];
      if (constant.missing && !IsAssumed(constant)) return false;
      assumed |= constant.missing;
      read += constant.Size();
    }
    const bool left = transposes_ == Transposes::kLeaveToProducts && IsForProducts(node);
    if (left || !InferAgain(id)) return Decline();
    if (WouldGrow(node, read) && !chains_.Keeps(id)) return Decline();
    const auto made = assumed ? AssumeOutputs(id) : RunOnce(id);
    if (!made.ok()) return Decline();
    const std::vector<ValueId> outputs = node.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid()) rewriter_.MakeConstant(outputs[i], (*made)[i]);
    }
    Retire(id);
    return true;
  }

  bool Decline() {
    counts_.Declined(FusionPattern::kConstantFold);
    return false;
  }

  Result<std::vector<graph::ConstantTensor>> RunOnce(NodeId id) const {
    std::vector<HostTensor> inputs;
    for (const ValueId input : graph_[id].inputs) {
      inputs.emplace_back();
      if (!input.valid()) continue;
      PLIMSOLL_ASSIGN(inputs.back(), kernels::ToHostTensor(graph_[graph_[input].constant]));
    }
    // Constants are the same whatever the number of threads.
    PLIMSOLL_ASSIGN(const std::vector<HostTensor> made,
                    kernels::RunOnce(graph_, id, inputs, kernels::AllocateOnHeap, true));
    std::vector<graph::ConstantTensor> constants;
    for (const HostTensor& tensor : made) constants.push_back(kernels::ToConstant(tensor));
    return constants;
  }

  // What the node would make of constants whose data is missing; fails where only that data tells
  // the size of an output.
  Result<std::vector<graph::ConstantTensor>> AssumeOutputs(NodeId id) const {
    std::vector<graph::ConstantTensor> constants;
    for (const ValueId output : graph_[id].outputs) {
      constants.emplace_back();
      if (!output.valid()) continue;
      const graph::ValueType& type = graph_[output].type;
      if (!SizeOf(type)) {
        return Error{.kind = ErrorKind::kUnsupported,
                     .code = "plan.weights",
                     .what = "cannot work out a constant",
                     .where = Describe(graph_, id),
                     .why = "its size depends on weights that are missing",
                     .remedy = "put the file of the weights next to the model"};
      }
      PLIMSOLL_ASSIGN(constants.back(), AssumedConstant(type.data_type, StaticDims(*type.shape)));
    }
    return constants;
  }

  bool IsForProducts(const graph::Node& node) const {
    const bool widens = IsWideningCast(graph_, node);
    if (!Is(node, "Transpose") && !widens) return false;
    const ValueId made = node.outputs[0];
    const std::optional<Bytes> size = SizeOf(graph_[made].type);
    if (!size || *size <= kAlwaysFolded || rewriter_.IsOutput(made)) return false;
    const std::vector<NodeId> readers = rewriter_.readers(made);
    return std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
      const graph::Node& product = graph_[reader];
      if (Is(product, "Transpose") || IsWideningCast(graph_, product)) {
        return IsForProducts(product);
      }
      const bool suits = Is(product, "MatMul") || (widens && Is(product, "Gemm"));
      return suits && product.inputs[1] == made;
    });
  }

  // Inputs that became constants may tell more than was known; an error changes nothing.
  bool InferAgain(NodeId id) {
    std::vector<graph::Value> before;
    for (const ValueId output : graph_[id].outputs) {
      before.push_back(output.valid() ? graph_[output] : graph::Value());
    }
    if (InferNode(graph_, id).ok()) return true;
    for (size_t i = 0; i < before.size(); ++i) {
      if (graph_[id].outputs[i].valid()) graph_[graph_[id].outputs[i]] = before[i];
    }
    return false;
  }

  // Also where a size is not known before the run: folding must not take memory without measure.
  bool WouldGrow(const graph::Node& node, Bytes read) const {
    Bytes made;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const std::optional<Bytes> size = SizeOf(graph_[output].type);
      if (size) made += *size;
      if (!graph_[output].type.is_tensor()) return true;
    }
    return GrowsTooMuch(made, read);
  }

  // Takes the node out and lets go of constants that only it read.
  void Retire(NodeId id) {
    const std::vector<ValueId> inputs = graph_[id].inputs;
    rewriter_.Drop(id);
    for (const ValueId input : inputs) {
      if (!input.valid() || rewriter_.ReaderCount(input) > 0 || rewriter_.IsOutput(input)) {
        continue;
      }
      if (const graph::ConstantId constant = graph_[input].constant; constant.valid()) {
        const std::span<const std::byte> bytes = graph_[constant].bytes;
        if (Bytes(static_cast<int64_t>(bytes.size())) > kAlwaysFolded) DropMappedPages(bytes);
        graph_.constants[constant.index()] = {};
        graph_[input].constant = graph::ConstantId();
      } else {
        rewriter_.DropUnused(graph_[input].producer);
      }
    }
  }

  Graph& graph_;
  Rewriter rewriter_;
  ConstantChains chains_;
  Transposes transposes_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FoldConstants(Graph& graph, const FusionSwitches& /*switches*/) {
  return Folding(graph, Folding::Transposes::kFold).Run();
}

FusionCounts FoldBeforeFusing(Graph& graph, const FusionSwitches& /*switches*/) {
  return Folding(graph, Folding::Transposes::kLeaveToProducts).Run();
}

}  // namespace plimsoll::compile
