#include "cli/commands/plan_models.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include "cli/commands/limit.h"
#include "cli/commands/options.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/model_inputs.h"
#include "cli/inputs/text_file.h"
#include "cli/interrupt.h"
#include "cli/reports/clearing_report.h"
#include "cli/reports/model/weight_forms.h"
#include "cli/reports/plan/plan_page.h"
#include "cli/reports/text_table.h"
#include "compile/bodies/cut_stretch.h"
#include "compile/memory/streams.h"
#include "compile/passes/bodies.h"
#include "compile/plan_model.h"
#include "compile/shapes/batch_labels.h"
#include "compile/shapes/shapes.h"
#include "engine/api/port_tensors.h"
#include "engine/graph/compile_request.h"
#include "engine/graph/gears.h"
#include "graph/dims/open_dimensions.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using compile::ShapeArgument;

compile::PlanOptions ReadOptions(const PlanArguments& options) {
  compile::PlanOptions request;
  request.effort.steps = options.effort;
  request.effort.deadline_ms = options.deadline_ms;
  request.effort.stop = &InterruptFlag();
  request.order_effort.stop = &InterruptFlag();
  request.threads = ThreadsOf(options.threads);
  request.search_order = options.order == "search";
  return request;
}

// One model as a session is given it.
struct SessionModel {
  graph::Graph graph;
  std::vector<engine::VariableName> variables;
  std::vector<ShapeArgument> shapes;  // those that it has
  bool opens = false;                 // these need not be the file's
  std::vector<TensorView> inputs;
};

Result<SessionModel> ReadSessionModel(const PlanArguments& options, const PlanRequest& request,
                                      const std::string& file) {
  const config::RunConfig& config = request.session.config;
  SessionModel model;
  PLIMSOLL_ASSIGN(model.graph, ReadModelGraph(file));
  model.shapes = request.shapes;
  if (options.models.size() > 1) model.shapes = KnownArguments(model.graph, request.shapes);
  PLIMSOLL_ASSIGN(model.variables, VariablesOf(options.variables, config.training, model.graph));
  model.opens = config.compile_dynamic_mode || config.dynamic_inputs_shape_range;
  graph::Graph sized = WithoutVariables(model.graph, model.variables);
  if (model.opens) OpenShapes(sized, model.shapes);
  PLIMSOLL_ASSIGN(model.inputs, engine::InputShapes(sized, model.shapes));
  return model;
}

// The file's graph with its shapes.
Result<graph::Graph> ShapedGraph(const SessionModel& model) {
  graph::Graph graph = model.graph;
  if (model.opens) OpenShapes(graph, model.shapes);
  PLIMSOLL_TRY(compile::GiveInputShapes(graph, model.shapes).status());
  PLIMSOLL_TRY(compile::InferShapes(graph));
  PLIMSOLL_TRY(compile::SpreadBatchLabels(graph));
  PLIMSOLL_TRY(compile::SettleStreams(graph));
  return graph;
}

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  const auto taken = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::milli>(taken).count();
}

// What the caller gives and gets: inputs and outputs that are no variables.
Bytes CallersBytes(const graph::Graph& graph, const SessionModel& model) {
  Bytes bytes;
  for (const TensorView& input : model.inputs) {
    if (input.type != graph::DataType::kUndefined) bytes += input.size();
  }
  std::set<std::string_view> replaced;
  for (const engine::VariableName& variable : model.variables) replaced.insert(variable.output);
  for (const graph::ValueId output : graph.root().outputs) {
    if (!replaced.contains(graph[output].name)) bytes += compile::PlannedSize(graph[output].type);
  }
  return bytes;
}

bool LeavesSizesOpen(const graph::Graph& graph) {
  const auto& inputs = graph.root().inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](graph::ValueId input) {
    const graph::ValueType& type = graph[input].declared;
    return type.is_tensor() && (!type.shape || !graph::IsStatic(*type.shape));
  });
}

Result<PlanReport> PlanFile(const PlanArguments& options, const graph::Graph& graph,
                            const PlanRequest& request, compile::PlannedModel& planned) {
  const compile::PlanOptions how =
      engine::PlanOptionsFor(request.session.config, request.session.load.plan);
  const auto start = std::chrono::steady_clock::now();
  PLIMSOLL_ASSIGN(planned, compile::PlanModel(graph, how));
  const double planning_ms = MillisecondsSince(start);
  PlanReport report = MakePlanReport(graph, planned);
  report.planning_ms = planning_ms;
  PLIMSOLL_ASSIGN(report.clearing, CompareClearing(graph, planned, how));
  if (!options.csv.empty()) PLIMSOLL_TRY(WriteTextFile(options.csv, PlanCsv(planned)));
  return report;
}

Result<PlanReport> DescribeProgram(const PlanArguments& options,
                                   const SessionPlan::Model& planned) {
  const engine::Executable& executable = *planned.executable;
  PlanReport report = MakePlanReport(executable, planned.memory);
  PLIMSOLL_ASSIGN(report.clearing, CompareClearing(executable.model()));
  if (!options.csv.empty()) {
    PLIMSOLL_TRY(WriteTextFile(options.csv, PlanCsv(executable.model().planned)));
  }
  return report;
}

void NoteMissingWeights(const graph::Graph& graph, PlanReport& report) {
  for (const graph::ConstantTensor& constant : graph.constants) {
    if (!constant.missing) continue;
    ++report.missing_weights;
    report.missing_bytes += constant.Size();
  }
  if (report.missing_weights == 0) return;
  report.notes.emplace_back(
      "weights",
      StrCat("the data of ", Counted(static_cast<size_t>(report.missing_weights), "constant"), ", ",
             report.missing_bytes,
             ", is missing: assumed are its size and that no two of them are equal, and that none "
             "is all zeros or ones, by which passes could leave nodes out"));
}

PlanReport::Cuts CutsOf(const graph::Graph& graph) {
  const compile::GraphCuts found = compile::FindCuts(graph);
  PlanReport::Cuts cuts{
      .stretches = found.stretches, .planned_nodes = found.planned_nodes, .single = {}};
  for (const graph::NodeId node : found.single) cuts.single.push_back(Describe(graph, node));
  return cuts;
}

}  // namespace

Result<PlanRequest> ReadPlanRequest(const PlanArguments& options) {
  PlanRequest request;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(auto shape, compile::ParseShapeArgument(text));
    request.shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(const config::EffectiveConfig configured, ResolveArguments(options.config));
  request.session.config = configured.config;
  request.session.threads = ThreadsOf(options.run_threads);
  request.session.load.plan = ReadOptions(options);
  request.session.load.weight_forms = ParseWeightForms(options.weights);
  request.session.load.trades_memory = options.limit.empty();
  return request;
}

Result<PlanReport> PlanOne(const PlanArguments& options, const std::string& file,
                           const PlanRequest& request, SessionPlan& session,
                           std::vector<profile::ReportPlan>& pages) {
  PLIMSOLL_ASSIGN(SessionModel model, ReadSessionModel(options, request, file));
  PLIMSOLL_ASSIGN(const graph::Graph graph, ShapedGraph(model));
  const Bytes caller = CallersBytes(graph, model);
  const bool dynamic =
      model.opens || LeavesSizesOpen(WithoutVariables(model.graph, model.variables));
  const auto start = std::chrono::steady_clock::now();
  const Bytes plain_peak = compile::PlainPeak(graph);
  std::optional<LastWords> so_far;
  if (!options.json) {
    so_far.emplace(StrCat(file, "  ", Counted(graph.nodes.size(), "node"),
                          " in the file, not planned yet\n  plain lives       ", plain_peak,
                          " in the file's order\n  caller's buffers  ", caller, "\n"));
  }
  const auto gears = engine::ReadGears(model.graph, request.session.config.dynamic_dims);
  SessionPlan::Model planned;
  if (!options.plain) {
    PLIMSOLL_ASSIGN(planned, session.Add(std::move(model.graph), model.variables, model.inputs));
  }
  const double compiling_ms = MillisecondsSince(start);
  const bool program = planned.executable != nullptr;
  compile::PlannedModel of_file;
  PLIMSOLL_ASSIGN(PlanReport report, program ? DescribeProgram(options, planned)
                                             : PlanFile(options, graph, request, of_file));
  if (program) {
    report.planning_ms = compiling_ms;
  } else {
    report.subject = options.plain ? PlanReport::Subject::kFile : PlanReport::Subject::kEstimate;
    report.reason = planned.reason;
  }
  if (report.subject == PlanReport::Subject::kEstimate) report.cuts = CutsOf(graph);
  report.file = file;
  report.plain_peak = plain_peak;
  report.caller = caller;
  report.dynamic = dynamic;
  if (program && gears.ok()) report.gears = gears->size();
  report.sizes_from_data = graph::FindOpenDimensions(graph).from_data;
  const std::optional<int> mode = request.session.config.topo_sorting_mode;
  report.order = mode ? StrCat("mode ", *mode) : options.order;
  NoteMissingWeights(graph, report);
  if (options.html.empty()) return report;
  pages.push_back(program ? MakeReportPlan(planned.executable->model().graph,
                                           planned.executable->model().planned, report)
                          : MakeReportPlan(graph, of_file, report));
  return report;
}

Result<Bytes> TotalOf(const PlanArguments& options, const PlanRequest& request) {
  PLIMSOLL_ASSIGN(SessionPlan session, SessionPlan::Make(request.session));
  for (const std::string& file : options.models) {
    PLIMSOLL_ASSIGN(SessionModel model, ReadSessionModel(options, request, file));
    PLIMSOLL_TRY(session.Add(std::move(model.graph), model.variables, model.inputs).status());
  }
  if (!session.reason().empty()) return LimitUnknown(options.models.front(), session.reason());
  return session.memory().device.total();
}

}  // namespace plimsoll::cli
