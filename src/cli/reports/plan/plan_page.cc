#include "cli/reports/plan/plan_page.h"

#include <algorithm>
#include <filesystem>

#include "cli/inputs/text_file.h"
#include "engine/api/feature_map_lives.h"
#include "engine/profile/module_paths.h"
#include "plimsoll/base/text.h"
#include "profile/report_page.h"

namespace plimsoll::cli {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using profile::ReportTensor;
using profile::TensorKind;

// When a value is touched, in steps.
struct ValueUse {
  int64_t begin = -1;  // the first; -1: never
  int64_t end = 0;     // one past the last
  int64_t producer = -1;
  std::vector<int64_t> readers;
};

std::vector<ValueUse> UsesOf(const Graph& graph, const compile::Timeline& timeline) {
  std::vector<ValueUse> uses(graph.values.size());
  const auto touch = [&](ValueId value, int64_t step, bool writes) {
    ValueUse& use = uses[value.index()];
    if (use.begin < 0 || step < use.begin) use.begin = step;
    use.end = std::max(use.end, step + 1);
    if (writes) {
      if (use.producer < 0) use.producer = step;
    } else if (use.readers.empty() || use.readers.back() != step) {
      use.readers.push_back(step);
    }
  };
  for (const compile::Access& access : timeline.accesses) {
    touch(access.value, access.step, access.writes);
  }
  // Constants have no storage, so the timeline leaves them out.
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    for (const ValueId input : graph[timeline.steps[i].node].inputs) {
      if (input.valid() && !graph[input].producer.valid() && graph[input].constant.valid()) {
        touch(input, static_cast<int64_t>(i), false);
      }
    }
  }
  return uses;
}

// From a planned model to the tensors of a report.
class TensorMaker {
 public:
  TensorMaker(const Graph& graph, const compile::PlannedModel& model)
      : graph_(graph), model_(model), uses_(UsesOf(graph, model.timeline)) {
    const plan::Problem& problem = model.buffers.problem;
    kinds_.assign(problem.buffers.size(), TensorKind::kActivation);
    group_of_.resize(problem.buffers.size());
    for (const plan::Contiguous& group : problem.contiguous) {
      for (const plan::BufferId member : group.members) group_of_[member.index()] = &group;
    }
    values_.resize(problem.buffers.size());
    for (size_t i = 0; i < model.buffers.buffer_of.size(); ++i) {
      if (model.buffers.buffer_of[i].valid()) AddToBuffers(ValueId(i));
    }
    FindKinds();
    FindWorkspaceSteps();
  }

  ReportTensor Make(size_t buffer, engine::TimelineLives::Life life) const {
    const plan::Buffer& row = model_.buffers.problem.buffers[buffer];
    ReportTensor tensor;
    tensor.name = row.name;
    tensor.kind = kinds_[buffer];
    tensor.bytes = row.size;
    tensor.offset = model_.plan.offsets[buffer];
    tensor.region = static_cast<int32_t>(row.region.index());
    tensor.begin = life.begin;
    tensor.end = life.end;
    tensor.producer = workspace_step_[buffer];
    tensor.rule = RuleOf(buffer);
    AddValues(buffer, tensor);
    return tensor;
  }

 private:
  // A value whose storage is in pieces lies in every piece that it covers.
  void AddToBuffers(ValueId value) {
    const plan::BufferId buffer = model_.buffers.buffer_of[value.index()];
    const plan::Contiguous* group = group_of_[buffer.index()];
    if (group == nullptr) {
      values_[buffer.index()].push_back(value);
      return;
    }
    const auto end_of = [&](plan::BufferId member) {
      return OffsetOf(member) + model_.buffers.problem.buffer(member).size;
    };
    const Offset begin = OffsetOf(buffer) + model_.buffers.offset_in_buffer[value.index()];
    const Bytes size = std::max(graph::SizeOf(graph_[value].type).value_or(Bytes(0)), Bytes(1));
    const auto& members = group->members;
    auto member = std::partition_point(members.begin(), members.end(),
                                       [&](plan::BufferId id) { return end_of(id) <= begin; });
    for (; member != members.end() && OffsetOf(*member) < begin + size; ++member) {
      values_[member->index()].push_back(value);
    }
  }

  Offset OffsetOf(plan::BufferId buffer) const { return model_.plan.offsets[buffer.index()]; }

  void FindKinds() {
    const compile::PlannedBuffers& buffers = model_.buffers;
    const auto mark = [&](plan::BufferId buffer, TensorKind kind) {
      if (buffer.valid()) kinds_[buffer.index()] = kind;
    };
    for (const auto& copy : buffers.group_copies) mark(copy.buffer, TensorKind::kCopy);
    for (const plan::BufferId workspace : buffers.workspace_of) {
      mark(workspace, TensorKind::kWorkspace);
    }
    std::vector<TensorKind> ports(graph_.values.size(), TensorKind::kUnknown);
    for (const ValueId output : graph_.root().outputs) ports[output.index()] = TensorKind::kOutput;
    for (const ValueId input : graph_.root().inputs) ports[input.index()] = TensorKind::kInput;
    for (const compile::PlannedUpdate& update : model_.updates) {
      ports[graph_.root().inputs[update.ports.input].index()] = TensorKind::kVariable;
    }
    for (size_t i = 0; i < buffers.problem.buffers.size(); ++i) {
      const plan::Buffer& buffer = buffers.problem.buffers[i];
      if (buffer.atomic_addr_clean_id != plan::kNoClearing) kinds_[i] = TensorKind::kCleared;
      if (buffer.region == buffers.weights) kinds_[i] = TensorKind::kWeight;
      if (buffer.region != buffers.zero_copy) continue;
      for (const ValueId value : values_[i]) {
        if (ports[value.index()] != TensorKind::kUnknown) kinds_[i] = ports[value.index()];
      }
    }
  }

  void FindWorkspaceSteps() {
    workspace_step_.assign(kinds_.size(), -1);
    for (size_t i = 0; i < model_.timeline.steps.size(); ++i) {
      const size_t node = model_.timeline.steps[i].node.index();
      if (node >= model_.buffers.workspace_of.size()) continue;
      const plan::BufferId workspace = model_.buffers.workspace_of[node];
      if (workspace.valid()) workspace_step_[workspace.index()] = static_cast<int64_t>(i);
    }
  }

  std::string RuleOf(size_t index) const {
    const plan::Buffer& buffer = model_.buffers.problem.buffers[index];
    std::vector<std::string> rules;
    if (buffer.region == model_.buffers.weights) {
      rules.emplace_back("Weights keep their bytes from run to run.");
    } else if (buffer.exclusive) {
      rules.emplace_back("Its bytes are given to nobody else, by an option or an attribute.");
    } else if (buffer.is_fixed_addr_prior) {
      rules.emplace_back("Its address never changes.");
    }
    if (buffer.zero_copy) rules.emplace_back("It is the caller's memory, used where it lies.");
    if (buffer.atomic_addr_clean_id != plan::kNoClearing) {
      rules.emplace_back("It lies in the area that one fill clears before the run.");
    }
    if (group_of_[index] != nullptr && group_of_[index]->members.size() > 1) {
      rules.push_back(StrCat("It must lie side by side with ", group_of_[index]->members.size() - 1,
                             " others."));
    }
    if (!buffer.no_zero_copy_reason.empty()) {
      rules.push_back(StrCat("Zero copy was refused: ", buffer.no_zero_copy_reason, "."));
    }
    return Join(rules, " ");
  }

  // The value that a buffer is called after describes it; others in the same bytes are its members.
  void AddValues(size_t buffer, ReportTensor& tensor) const {
    bool named = false;
    for (const ValueId id : values_[buffer]) {
      const graph::Value& value = graph_[id];
      const ValueUse& use = uses_[id.index()];
      const std::string type(graph::Name(value.type.data_type));
      const std::string shape = value.type.shape ? Text(*value.type.shape) : "";
      tensor.readers.insert(tensor.readers.end(), use.readers.begin(), use.readers.end());
      if (use.producer >= 0 && (tensor.producer < 0 || use.producer < tensor.producer)) {
        tensor.producer = use.producer;
      }
      if (!named && value.name == tensor.name) {
        named = true;
        tensor.type = type;
        tensor.shape = shape;
      } else {
        const int64_t begin = std::max<int64_t>(use.begin, 0);
        const Offset place = OffsetOf(model_.buffers.buffer_of[id.index()]) +
                             model_.buffers.offset_in_buffer[id.index()];
        tensor.members.push_back({value.name, type, shape,
                                  std::max(place - tensor.offset, Bytes(0)), begin,
                                  std::max(use.end, begin)});
      }
    }
    std::sort(tensor.readers.begin(), tensor.readers.end());
    tensor.readers.erase(std::unique(tensor.readers.begin(), tensor.readers.end()),
                         tensor.readers.end());
    std::stable_sort(tensor.members.begin(), tensor.members.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }

  const Graph& graph_;
  const compile::PlannedModel& model_;
  std::vector<ValueUse> uses_;
  std::vector<std::vector<ValueId>> values_;       // by buffer
  std::vector<TensorKind> kinds_;                  // by buffer
  std::vector<const plan::Contiguous*> group_of_;  // by buffer; null: in none
  std::vector<int64_t> workspace_step_;            // by buffer; -1: it is no workspace
};

void AddSteps(const Graph& graph, const compile::Timeline& timeline, profile::ReportPlan& plan) {
  std::vector<std::string> modules = engine::ModulesOf(graph, timeline);
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    const compile::Step& step = timeline.steps[i];
    const Node& node = graph[step.node];
    std::string type = OperatorName(node);
    if (step.kind == compile::Step::Kind::kBegin) type += " begins";
    if (step.kind == compile::Step::Kind::kEnd) type += " ends";
    profile::ReportStep& row = plan.steps.emplace_back();
    row.name = node.name.empty() ? StrCat("node ", step.node.index()) : node.name;
    row.type = std::move(type);
    row.module = std::move(modules[i]);
  }
}

std::string SubjectOf(const PlanReport& report) {
  switch (report.subject) {
    case PlanReport::Subject::kProgram:
      return "the compiled program: what a run executes";
    case PlanReport::Subject::kFile:
      return "the graph as the file has it, before passes";
    case PlanReport::Subject::kEstimate:
      return StrCat("an estimate of the file's graph, before passes: ", report.reason);
  }
  return {};
}

}  // namespace

profile::ReportPlan MakeReportPlan(const Graph& graph, const compile::PlannedModel& model,
                                   const PlanReport& report) {
  profile::ReportPlan plan;
  plan.name = std::filesystem::path(report.file).filename().string();
  plan.subject = SubjectOf(report);
  plan.peak = report.peak;
  plan.lower_bound = report.lower_bound;
  plan.optimal_for_order = report.optimal_for_order;
  if (report.order_lower_bound > Bytes(0)) plan.order_lower_bound = report.order_lower_bound;
  plan.plain_peak = report.plain_peak;
  plan.main_region = static_cast<int32_t>(model.buffers.feature_map.index());
  for (const auto& region : report.regions) {
    plan.regions.push_back(
        {region.name, region.kind, region.bytes, region.lower_bound, region.from_device});
  }
  AddSteps(graph, model.timeline, plan);
  plan.live = report.waterline;
  const plan::Problem& problem = model.buffers.problem;
  std::vector<bool> is_window(problem.buffers.size());
  for (const plan::Alias& alias : problem.aliases) is_window[alias.buffer.index()] = true;
  const engine::TimelineLives lives(model.timeline);
  const TensorMaker maker(graph, model);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const engine::TimelineLives::Life life = lives.Of(problem.buffers[i]);
    if (is_window[i] || life.empty() || problem.buffers[i].size == Bytes(0)) continue;
    plan.tensors.push_back(maker.Make(i, life));
  }
  for (const compile::Technique& row : report.techniques) {
    plan.techniques.push_back({row.name, row.taken, row.declined, row.gained, row.reason});
  }
  for (const PortUse& port : report.ports) {
    plan.ports.push_back({port.name, port.input, port.in_place, port.reason});
  }
  plan.notes = report.notes;
  return plan;
}

Status WriteReportPage(const std::string& file, std::vector<profile::ReportPlan> plans) {
  profile::Report page{.plans = std::move(plans)};
  std::vector<std::string> names;
  for (const profile::ReportPlan& plan : page.plans) names.push_back(plan.name);
  page.title = Join(names, ", ");
  return WriteTextFile(file, profile::ReportPage(page));
}

}  // namespace plimsoll::cli
