#include "engine/node_by_node/interpreter.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "compile/passes/host_operators.h"
#include "engine/node_by_node/control_flow.h"
#include "engine/node_by_node/host_tensors.h"
#include "graph/operator_row.h"
#include "kernels/backend.h"
#include "kernels/run_once.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;
using kernels::HostSite;
using kernels::HostTensor;
using kernels::HostValue;

bool IsTensor(const HostValue& value) { return value.kind == HostValue::Kind::kTensor; }

// Whether the type says all that there is to know of a tensor's size.
bool IsTypeOf(const graph::ValueType& type, const HostTensor& tensor) {
  if (!type.is_tensor() || type.data_type != tensor.type || !type.shape) return false;
  return std::ranges::equal(*type.shape, tensor.dims, [](const graph::Dim& dim, int64_t size) {
    return dim.is_number() && dim.number() == size;
  });
}

}  // namespace

Interpreter::Interpreter(Graph graph)
    : graph_(std::move(graph)),
      facts_(FindFacts()),
      kernels_(graph_),
      has_batches_(std::ranges::any_of(
          graph_.nodes, [](const graph::Node& node) { return !node.memory.batch_label.empty(); })),
      values_(graph_.values.size()) {}

// Of what a node reads and makes, its last reads are the values of its own body that no later node
// of that body reads.
std::vector<Interpreter::NodeFacts> Interpreter::FindFacts() const {
  std::vector<NodeFacts> all(graph_.nodes.size());
  std::vector<bool> needed(graph_.values.size());
  for (size_t b = 0; b < graph_.subgraphs.size(); ++b) {
    const graph::Subgraph& body = graph_.subgraphs[b];
    for (const ValueId output : body.outputs) {
      if (output.valid()) needed[output.index()] = true;
    }
    for (auto id = body.nodes.rbegin(); id != body.nodes.rend(); ++id) {
      const graph::Node& node = graph_[*id];
      NodeFacts& facts = all[id->index()];
      facts.host_operator = kernels::FindHostOperator(node.domain, node.op, node.version);
      facts.control_flow = IsControlFlow(node);
      facts.has_kernel = kernels::HostBackend().Supports(graph_, *id);
      facts.as_view = graph::FactsOf(node).view == graph::View::kWhole &&
                      std::ranges::find(body.outputs, node.outputs[0]) == body.outputs.end();
      const auto visit = [&](ValueId value) {
        if (!value.valid() || needed[value.index()] || graph_[value].home != SubgraphId(b)) return;
        if (graph_[value].constant.valid()) return;
        needed[value.index()] = true;
        facts.last_reads.push_back(value);
      };
      for (const ValueId output : node.outputs) visit(output);
      for (const ValueId read : compile::ReadsOf(graph_, *id)) {
        visit(read);
        if (graph_[read].constant.valid()) facts.constants.push_back(read);
      }
    }
  }
  return all;
}

Result<Interpreter::Values> Interpreter::Run(Values inputs, const Options& options) {
  options_ = options;
  if (options.streams != nullptr) {
    if (independent_.empty()) independent_ = compile::IndependentHostOperators(graph_);
    side_.emplace(*options.streams, options.monitor);
  }
  counts_ = {};
  single_.clear();
  prepared_before_ = kernels_.prepared();
  counted_.assign(graph_.nodes.size(), false);
  read_constants_.assign(graph_.values.size(), false);
  auto outputs = RunBody(Graph::kRoot, std::move(inputs));
  if (options.stretches != nullptr) options.stretches->EndRun();
  side_.reset();
  unreleased_.clear();
  for (size_t i = 0; i < values_.size(); ++i) {
    // Constants that stretches have taken over are not held here any more.
    if (!graph_.values[i].constant.valid() || !read_constants_[i]) values_[i] = {};
  }
  return outputs;
}

void Interpreter::AddTo(HeldWeights& weights) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const HostTensor& tensor = values_[i].tensor;
    if (graph_.values[i].constant.valid() && tensor.data != nullptr) {
      weights.emplace(tensor.data.get(), HeldWeight{tensor.size(), graph_.values[i].name});
    }
  }
}

Result<Interpreter::Values> Interpreter::RunBody(SubgraphId id, Values inputs) {
  const graph::Subgraph& body = graph_[id];
  if (body.dropped()) return *body.impossible;
  for (size_t i = 0; i < body.inputs.size() && i < inputs.size(); ++i) {
    Put(body.inputs[i], std::move(inputs[i]));
  }
  size_t single_until = UsesStretches() ? 0 : body.nodes.size();  // nodes run by themselves
  for (size_t i = 0; i < body.nodes.size();) {
    const NodeId node = body.nodes[i];
    const std::string& batch = graph_[node].memory.batch_label;
    if (options_.batch && !batch.empty() && batch != *options_.batch) {
      ++i;
      continue;
    }
    PLIMSOLL_TRY(CheckGoesOn(node));
    if (i >= single_until) {
      PLIMSOLL_ASSIGN(const Stretches::Found found,
                      options_.stretches->Find(graph_, id, i, values_));
      if (found.part != nullptr) {
        PLIMSOLL_TRY(RunStretch(*found.part));
        i = found.end;
        continue;
      }
      single_until = found.end;
    }
    CountSingle(node);
    PLIMSOLL_TRY(id == Graph::kRoot && side_ ? Visit(node) : RunNode(node, options_.allocate));
    Release(facts_[node.index()].last_reads);
    ++i;
  }
  if (id == Graph::kRoot && side_) PLIMSOLL_TRY(side_->Finish());
  Values outputs;
  for (auto output = body.outputs.begin(); output != body.outputs.end(); ++output) {
    PLIMSOLL_TRY(LoadConstant(*output));
    HostValue& value = values_[output->index()];
    // What the body made is needed no more, and a sequence is long to copy.
    const bool is_last = graph_[*output].home == id && !graph_[*output].constant.valid() &&
                         std::find(output + 1, body.outputs.end(), *output) == body.outputs.end();
    outputs.push_back(is_last ? std::move(value) : value);
  }
  return outputs;
}

Status Interpreter::CheckGoesOn(NodeId next) {
  if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed)) {
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "run.cancelled",
                 .what = "the run was cancelled",
                 .where = StrCat("before ", graph::Describe(graph_, next)),
                 .why = "",
                 .remedy = ""};
  }
  if (options_.monitor == nullptr) return {};
  return options_.monitor->CheckRunTime(graph_, next);
}

bool Interpreter::UsesStretches() const {
  return options_.stretches != nullptr && options_.monitor == nullptr && !side_ &&
         !options_.observe && !has_batches_;
}

Status Interpreter::RunStretch(Stretches::Part& part) {
  PLIMSOLL_ASSIGN(std::vector<HostTensor> made,
                  options_.stretches->Run(part, values_, options_.allocate, options_.cancelled));
  for (size_t i = 0; i < made.size(); ++i) {
    Put(part.ports.outputs[i], HostValue::Of(std::move(made[i])));
  }
  const compile::Stretch& nodes = part.nodes;
  ++counts_.stretches;
  counts_.planned_nodes += static_cast<int64_t>(nodes.end - nodes.first);
  for (size_t i = nodes.first; i < nodes.end; ++i) {
    Release(facts_[graph_[nodes.body].nodes[i].index()].last_reads);
  }
  return {};
}

void Interpreter::CountSingle(NodeId id) {
  ++counts_.single_nodes;
  if (counted_[id.index()]) return;
  counted_[id.index()] = true;
  single_.push_back(id);
}

StretchCounts Interpreter::counts() const {
  StretchCounts counts = counts_;
  for (const NodeId id : single_) counts.single.push_back(graph::Describe(graph_, id));
  counts.prepared_nodes = kernels_.prepared() - prepared_before_;
  return counts;
}

// A node of the model, in the walk or in parallel with it.
Status Interpreter::Visit(NodeId id) {
  if (independent_[id.index()]) return LaunchNode(id);
  const std::vector<ValueId> reads = compile::ReadsOf(graph_, id);
  const bool waits =
      std::any_of(reads.begin(), reads.end(), [&](ValueId read) { return side_->Makes(read); });
  if (waits) {
    PLIMSOLL_TRY(side_->Finish());
    Release(std::exchange(unreleased_, {}));
  }
  return RunNode(id, options_.allocate);
}

Status Interpreter::LaunchNode(NodeId id) {
  for (const ValueId read : facts_[id.index()].constants) PLIMSOLL_TRY(LoadConstant(read));
  return side_->Launch(compile::ReadsOf(graph_, id), graph_[id].outputs,
                       [this, id] { return RunNode(id, kernels::AllocateOnHeap); });
}

void Interpreter::Release(const std::vector<ValueId>& values) {
  for (const ValueId value : values) {
    if (side_ && side_->Touches(value)) {
      unreleased_.push_back(value);
    } else {
      values_[value.index()] = {};
    }
  }
}

void Interpreter::Put(ValueId id, HostValue value) {
  if (!id.valid()) return;
  graph::Value& known = graph_[id];
  if (!IsTensor(value) || !IsTypeOf(known.type, value.tensor)) known.type = TypeOf(value);
  known.content.reset();
  if (known.constant.valid() && value.tensor.elements() <= graph::kMaxContentElements) {
    known.content = graph::ContentOf(kernels::ToConstant(value.tensor));
  }
  if (options_.observe) options_.observe(id, value);
  values_[id.index()] = std::move(value);
}

Status Interpreter::LoadConstant(ValueId id) {
  if (!id.valid() || !graph_[id].constant.valid()) return {};
  read_constants_[id.index()] = true;
  if (IsTensor(values_[id.index()])) return {};
  PLIMSOLL_ASSIGN(HostTensor tensor,
                  options_.hold(graph_[graph_[id].constant], kernels::ReadAs::kElements));
  Put(id, HostValue::Of(std::move(tensor)));
  return {};
}

bool Interpreter::IsLent(NodeId id, size_t input) const {
  const NodeFacts& facts = facts_[id.index()];
  const std::vector<ValueId>& inputs = graph_[id].inputs;
  const ValueId value = inputs[input];
  // Bodies may read the value too, and so may work that runs beside the walk.
  if (!value.valid() || facts.control_flow || side_ || std::ranges::count(inputs, value) > 1) {
    return false;
  }
  return facts.host_operator->only_reads || std::ranges::count(facts.last_reads, value) > 0;
}

Interpreter::Values Interpreter::InputsOf(NodeId id) {
  const std::vector<ValueId>& values = graph_[id].inputs;
  Values inputs(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].valid()) continue;
    HostValue& value = values_[values[i].index()];
    inputs[i] = IsLent(id, i) ? std::move(value) : value;
  }
  return inputs;
}

void Interpreter::TakeBack(NodeId id, Values inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsLent(id, i)) values_[graph_[id].inputs[i].index()] = std::move(inputs[i]);
  }
}

Status Interpreter::RunNode(NodeId id, const kernels::AllocateTensor& allocate) {
  for (const ValueId read : facts_[id.index()].constants) PLIMSOLL_TRY(LoadConstant(read));
  RunProfile* const profile = options_.monitor == nullptr ? nullptr : options_.monitor->profile();
  if (profile == nullptr) return RunNodeWith(id, allocate);
  const RunProfile::Operator recorded(profile, id);
  if (!options_.records_tensors) return RunNodeWith(id, allocate);
  const bool of_heap = options_.tensors_reserve || &allocate != &options_.allocate;
  return RunNodeWith(id, profile->Observed(id, allocate, of_heap));
}

Status Interpreter::RunNodeWith(NodeId id, const kernels::AllocateTensor& allocate) {
  const NodeFacts& facts = facts_[id.index()];
  const auto is_tensor = [&](ValueId value) {
    return !value.valid() || IsTensor(values_[value.index()]);
  };
  const bool on_values = facts.host_operator != nullptr &&
                         !(facts.has_kernel && std::ranges::all_of(graph_[id].inputs, is_tensor));
  return facts.control_flow || on_values ? RunOnHostValues(id, allocate) : RunKernel(id, allocate);
}

Status Interpreter::RunOnHostValues(NodeId id, const kernels::AllocateTensor& allocate) {
  const graph::Node& node = graph_[id];
  HostSite site{.graph = graph_,
                .id = id,
                .inputs = InputsOf(id),
                .outputs = Values(node.outputs.size()),
                .allocate = allocate};
  const NodeFacts& facts = facts_[id.index()];
  if (facts.control_flow) {
    PLIMSOLL_TRY(RunControlFlow(
        site, [this](SubgraphId body, Values inputs) { return RunBody(body, std::move(inputs)); }));
  } else {
    Status done = facts.host_operator->run(site);
    if (options_.monitor != nullptr) {
      done = options_.monitor->HostOperatorRan(TensorsOf(graph_, id, site.inputs, site.outputs),
                                               std::move(done));
    }
    // Constants are there for the next run, also where this one fails.
    TakeBack(id, std::move(site.inputs));
    PLIMSOLL_TRY(done);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) Put(node.outputs[i], std::move(site.outputs[i]));
  return {};
}

Status Interpreter::RunKernel(NodeId id, const kernels::AllocateTensor& allocate) {
  const std::vector<ValueId>& values = graph_[id].inputs;
  std::vector<const HostTensor*> inputs(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].valid()) continue;
    const HostTensor& tensor = values_[values[i].index()].tensor;
    if (tensor.type != graph::DataType::kUndefined) inputs[i] = &tensor;
  }
  kernels::RunPrepared run;
  if (options_.monitor != nullptr) {
    run = [&](const kernels::KernelSite& site, const kernels::Kernel& kernel,
              const kernels::KernelCall& call) {
      kernels::HostQueue queue;
      return options_.monitor->Run({.graph = graph_,
                                    .node = id,
                                    .kernel = kernel,
                                    .call = call,
                                    .queue = queue,
                                    .site = &site});
    };
  }
  PLIMSOLL_ASSIGN(std::vector<HostTensor> made,
                  kernels_.Run(id, inputs, allocate, options_.deterministic,
                               facts_[id.index()].as_view && !run, run));
  const std::vector<ValueId>& outputs = graph_[id].outputs;
  for (size_t i = 0; i < made.size(); ++i) Put(outputs[i], HostValue::Of(std::move(made[i])));
  return {};
}

}  // namespace plimsoll::engine
