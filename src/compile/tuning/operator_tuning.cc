#include "compile/tuning/operator_tuning.h"

#include <algorithm>
#include <map>
#include <random>

#include "compile/node_site.h"
#include "compile/prepare_kernels.h"
#include "kernels/backend.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using kernels::HostTensor;
using kernels::KernelPointer;
using kernels::KernelSite;
using kernels::TensorInfo;

constexpr size_t kUsualAlternatives = 3;  // without deeper_opat
// No maker has an alternative of this name.
constexpr std::string_view kMakersOwn = "the maker's own";

// Numbers between -1 and 1; zeros for what may be an index.
Result<HostTensor> MadeUpTensor(const TensorInfo& info, uint32_t seed) {
  PLIMSOLL_ASSIGN(HostTensor tensor, kernels::AllocateOnHeap(info.type, info.dims));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (graph::IsFloating(info.type)) {
      kernels::StoreDouble(info.type, tensor.data.get(), i,
                           static_cast<double>(random() % 2001) / 1000.0 - 1.0);
    } else {
      kernels::StoreInteger(info.type, tensor.data.get(), i, 0);
    }
  }
  return tensor;
}

Result<HostTensor> CopiedTensor(const TensorInfo& info) {
  PLIMSOLL_ASSIGN(HostTensor tensor, kernels::AllocateOnHeap(info.type, info.dims));
  const auto* const from = static_cast<const std::byte*>(info.data);
  std::copy_n(from, info.size().value(), static_cast<std::byte*>(tensor.data.get()));
  return tensor;
}

// One kernel with memory to run in.
struct Trial {
  std::string name;
  KernelPointer kernel;
  TemporaryPacking packing;
  HostTensor workspace;
  std::vector<HostTensor> outputs;
  std::vector<const void*> read;
  std::vector<void*> written;

  Status Run() const {
    return kernel->Run({.inputs = read, .outputs = written, .workspace = workspace.data.get()});
  }
};

// Measures the alternatives of one node against each other.
class NodeTuning {
 public:
  NodeTuning(const Graph& graph, NodeId id, const CompileOptions& options, Bytes most, Bytes room,
             std::string usual)
      : graph_(graph),
        id_(id),
        options_(options),
        most_(most),
        room_(room),
        usual_(std::move(usual)) {}

  // The alternatives there are.
  std::vector<std::string> Names() const {
    NodeSite known(graph_, id_);
    std::vector<std::string> names;
    if (!usual_.empty()) names.emplace_back(kMakersOwn);
    known.site().alternatives.names = &names;
    NoPacking packing;
    if (!Prepare(known.site(), packing).ok()) return {};
    const size_t most = options_.tuning.deeper ? names.size() : kUsualAlternatives;
    if (names.size() > most) names.resize(most);
    return names;
  }

  Result<TunedChoice> Choose(const std::vector<std::string>& names) {
    TunedChoice choice;
    choice.what = Describe(graph_, id_);
    PLIMSOLL_TRY(MakeInputs());
    std::vector<std::unique_ptr<Trial>> trials;
    PLIMSOLL_ASSIGN(std::unique_ptr<Trial> first, Try(usual_));
    PLIMSOLL_TRY(first->Run());
    trials.push_back(std::move(first));
    for (const std::string& name : names) {
      auto made = Try(name);
      if (!made.ok() || !IsWelcome(**made, *trials[0])) continue;
      if ((*made)->Run().ok() && SameResults(**made, *trials[0]))
        trials.push_back(*std::move(made));
    }
    std::vector<Candidate> candidates;
    for (const auto& trial : trials) {
      candidates.push_back({trial->name, [&trial = *trial] { return trial.Run(); }});
    }
    const TuningOptions& tuning = options_.tuning;
    const Stopwatch stopwatch =
        tuning.stopwatch ? tuning.stopwatch : StopwatchFor(tuning.high_performance);
    PLIMSOLL_ASSIGN(const size_t best, ClearlyFastest(stopwatch, candidates, &choice.gain));
    if (best > 0) choice.choice = trials[best]->name;
    return choice;
  }

 private:
  Result<KernelPointer> Prepare(KernelSite& site, kernels::PackedWeights& packing) const {
    const bool packs = options_.packed_weights != nullptr && MayPack(site.node()) &&
                       options_.weight_forms != WeightForms::kPlain;
    if (packs) site.packed_weights = &packing;
    site.deterministic = options_.deterministic;
    site.most_workspace = site.alternatives.wanted.empty() ? most_ : std::min(most_, room_);
    return options_.plan.lifetimes.target.BackendOf(site.node()).Prepare(site);
  }

  Status MakeInputs() {
    NodeSite known(graph_, id_);
    for (const TensorInfo& info : known.site().inputs) {
      HostTensor& input = inputs_.emplace_back();
      if (!info.present()) continue;
      const bool copied = info.data != nullptr;
      PLIMSOLL_ASSIGN(input, copied ? CopiedTensor(info)
                                    : MadeUpTensor(info, static_cast<uint32_t>(inputs_.size())));
    }
    return {};
  }

  Result<std::unique_ptr<Trial>> Try(const std::string& name) const {
    auto trial = std::make_unique<Trial>();
    trial->name = name;
    NodeSite known(graph_, id_);
    KernelSite& site = known.site();
    site.alternatives.wanted = trial->name;
    PLIMSOLL_ASSIGN(trial->kernel, Prepare(site, trial->packing));
    PLIMSOLL_ASSIGN(
        trial->workspace,
        kernels::AllocateOnHeap(graph::DataType::kUint8,
                                {std::max<int64_t>(trial->kernel->workspace().value(), 1)}));
    for (const HostTensor& input : inputs_) trial->read.push_back(input.data.get());
    for (const TensorInfo& info : site.outputs) {
      HostTensor& output = trial->outputs.emplace_back();
      if (info.present()) {
        PLIMSOLL_ASSIGN(output, kernels::AllocateOnHeap(info.type, info.dims));
      }
      trial->written.push_back(output.data.get());
    }
    return trial;
  }

  bool IsWelcome(const Trial& trial, const Trial& first) const {
    return trial.kernel->workspace() <= std::max(room_, first.kernel->workspace()) &&
           trial.packing.more() <= std::max(first.packing.more(), Bytes(0));
  }

  bool SameResults(const Trial& trial, const Trial& first) const {
    for (size_t i = 0; i < trial.outputs.size(); ++i) {
      if (first.outputs[i].data == nullptr) continue;
      if (!Agree(trial.outputs[i], first.outputs[i], options_.deterministic)) return false;
    }
    return true;
  }

  const Graph& graph_;
  const NodeId id_;
  const CompileOptions& options_;
  const Bytes most_;         // workspace without tuning
  const Bytes room_;         // workspace of an alternative
  const std::string usual_;  // the alternative without tuning; empty: none
  std::vector<HostTensor> inputs_;
};

// A site whose constants are there, without bodies and without special memory.
bool CanBeMeasured(const Graph& graph, const Node& node) {
  for (const graph::ValueId input : node.inputs) {
    if (!input.valid()) continue;
    const graph::ConstantId constant = graph[input].constant;
    if (constant.valid() && graph[constant].missing) return false;
  }
  return node.memory.needs_clearing.empty();
}

// Patterns of UB fusion that made the node what it is.
std::vector<FusionPattern> FusedBy(const Node& node) {
  std::vector<FusionPattern> patterns;
  if (node.domain != "plimsoll") return patterns;
  const bool convolution = node.op == "FusedConv";
  if (!convolution && node.op != "FusedMatMul") return patterns;
  if (node.inputs.size() > 3) {
    patterns.push_back(convolution ? FusionPattern::kConvAdd : FusionPattern::kMatMulAdd);
  }
  if (!node.attributes.String("activation", "").empty()) {
    patterns.push_back(convolution ? FusionPattern::kConvActivation
                                   : FusionPattern::kMatMulActivation);
  }
  return patterns;
}

}  // namespace

Result<const void*> TemporaryPacking::Pack(const void*, Bytes plain, std::string_view, Bytes packed,
                                           const Fill& fill) {
  PLIMSOLL_ASSIGN(HostTensor tensor,
                  kernels::AllocateOnHeap(graph::DataType::kUint8, {packed.value()}));
  PLIMSOLL_TRY(fill(tensor.data.get()));
  more_ += packed - plain;
  memory_->push_back(tensor);
  return static_cast<const void*>(tensor.data.get());
}

Result<std::vector<KernelChoice>> ChooseAlternatives(CompiledModel& model,
                                                     const CompileOptions& options,
                                                     const std::vector<Bytes>& most_workspace,
                                                     const std::vector<Bytes>& room,
                                                     const std::vector<KernelChoice>& usual) {
  const Graph& graph = model.graph;
  std::vector<KernelChoice> choices = usual;
  choices.resize(graph.nodes.size());
  const auto choose = [&](NodeId id, const std::string& alternative) {
    if (!alternative.empty()) choices[id.index()] = {alternative, room[id.index()]};
  };
  std::map<std::string, std::string> found;  // by signature, in this compilation
  std::vector<TunedChoice> kept;
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      const Node& node = graph[id];
      if (!SubgraphsOf(node).empty() || IsTransfer(node)) continue;
      const Bytes most = most_workspace.empty() ? Bytes(kSaturated) : most_workspace[id.index()];
      const std::string before = choices[id.index()].alternative;
      NodeTuning tuning(graph, id, options, most, room[id.index()], before);
      const std::vector<std::string> names = tuning.Names();
      if (names.empty()) continue;
      std::string signature =
          StrCat(SignatureOf(graph, id), options.packed_weights != nullptr,
                 static_cast<int>(options.weight_forms), options.deterministic, before);
      const auto known = found.find(signature);
      if (known != found.end()) {
        choose(id, known->second);
        continue;
      }
      if (const auto stored = options.tuning.store->Find(signature)) {
        for (const FusionPattern pattern : FusedBy(node)) model.fusion.HitRepository(pattern);
        choose(id, *stored);
        continue;
      }
      const bool wanted = options.tuning.operators && IsSelected(options.tuning, graph, id);
      // In the smaller form constants are packed or not by what others read of them.
      const bool smaller = options.weight_forms == WeightForms::kSmaller;
      if (!wanted || smaller || !CanBeMeasured(graph, node)) continue;
      auto choice = tuning.Choose(names);
      if (!choice.ok()) continue;
      choose(id, choice->choice);
      found.emplace(signature, choice->choice);
      choice->signature = std::move(signature);
      kept.push_back(*std::move(choice));
    }
  }
  if (!kept.empty()) options.tuning.store->Keep(kept);
  return choices;
}

}  // namespace plimsoll::compile
