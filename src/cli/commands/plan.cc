#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "cli/commands/config_arguments.h"
#include "cli/commands/limit.h"
#include "cli/commands/options.h"
#include "cli/inputs/model_inputs.h"
#include "cli/inputs/text_file.h"
#include "cli/program.h"
#include "cli/reports/clearing_report.h"
#include "cli/reports/plan_page.h"
#include "cli/reports/plan_report.h"
#include "cli/reports/weight_forms.h"
#include "cli/session_plan.h"
#include "compile/bodies/cut_stretch.h"
#include "compile/memory/streams.h"
#include "compile/plan_model.h"
#include "compile/shapes/batch_labels.h"
#include "compile/shapes/input_shapes.h"
#include "compile/shapes/shapes.h"
#include "engine/api/port_tensors.h"
#include "engine/graph/compile_request.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using compile::ShapeArgument;

struct PlanArguments {
  std::vector<std::string> models;
  ConfigArguments config;
  std::vector<std::string> shapes;
  std::string variables;
  std::string limit;
  std::string weights;
  std::string order = "search";
  int64_t effort = plan::Effort().steps;
  double deadline_ms = 0;
  int64_t threads = 0;
  int64_t run_threads = 1;
  std::string csv;
  std::string html;
  bool plain = false;
  bool json = false;
};

constexpr int64_t kMostSteps = int64_t{1} << 50;

constexpr const char* kPlanExamples = R"(
Examples:
  plimsoll plan model.onnx
  plimsoll plan bert.onnx --shape batch=1 --shape seq=128
  plimsoll plan model.onnx --limit 512MiB           exit code 3 when it does not fit, and why
  plimsoll plan model.onnx --plain                  the file's graph, before passes
  plimsoll plan model.onnx --csv plan.csv && plimsoll pack --check plan.csv
  plimsoll plan model.onnx --html report.html       a page that shows where every byte goes
  plimsoll plan a.onnx b.onnx --policy 2            what a session of both takes before anything runs

What is planned is what `plimsoll run` executes with the same options: --effort, --order and
--deadline are the planner's, and a run takes their defaults.)";

compile::PlanOptions ReadOptions(const PlanArguments& options) {
  compile::PlanOptions request;
  request.effort.steps = options.effort;
  request.effort.deadline_ms = options.deadline_ms;
  request.threads = static_cast<int>(options.threads);
  request.search_order = options.order == "search";
  return request;
}

// What a command plans, and how: remedies change it.
struct Request {
  std::vector<ShapeArgument> shapes;
  engine::SessionOptions session;
};

Result<Request> ReadRequest(const PlanArguments& options) {
  Request request;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(auto shape, compile::ParseShapeArgument(text));
    request.shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(const config::EffectiveConfig configured, ResolveArguments(options.config));
  request.session.config = configured.config;
  request.session.threads = static_cast<int>(options.run_threads);
  request.session.load.plan = ReadOptions(options);
  request.session.load.weight_forms = ParseWeightForms(options.weights);
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

Result<SessionModel> ReadSessionModel(const PlanArguments& options, const Request& request,
                                      const std::string& file) {
  const config::RunConfig& config = request.session.config;
  SessionModel model;
  PLIMSOLL_ASSIGN(model.graph, onnx::ReadModel(file));
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

Result<PlanReport> PlanFile(const PlanArguments& options, const graph::Graph& graph,
                            const Request& request, compile::PlannedModel& planned) {
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
      StrCat("the data of ", report.missing_weights, " constants, ", report.missing_bytes,
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

// One model, as it adds to the session. `pages` takes what a report of it shows, where one is asked
// for.
Result<PlanReport> PlanOne(const PlanArguments& options, const std::string& file,
                           const Request& request, SessionPlan& session,
                           std::vector<profile::ReportPlan>& pages) {
  PLIMSOLL_ASSIGN(SessionModel model, ReadSessionModel(options, request, file));
  PLIMSOLL_ASSIGN(const graph::Graph graph, ShapedGraph(model));
  const auto start = std::chrono::steady_clock::now();
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
  report.plain_peak = compile::PlainPeak(graph);
  report.counted_as_one = SymbolsLeft(graph);
  const std::optional<int> mode = request.session.config.topo_sorting_mode;
  report.order = mode ? StrCat("mode ", *mode) : options.order;
  NoteMissingWeights(graph, report);
  if (options.html.empty()) return report;
  pages.push_back(program ? MakeReportPlan(planned.executable->model().graph,
                                           planned.executable->model().planned, report)
                          : MakeReportPlan(graph, of_file, report));
  return report;
}

Result<Bytes> TotalOf(const PlanArguments& options, const Request& request) {
  PLIMSOLL_ASSIGN(SessionPlan session, SessionPlan::Make(request.session));
  for (const std::string& file : options.models) {
    PLIMSOLL_ASSIGN(SessionModel model, ReadSessionModel(options, request, file));
    PLIMSOLL_TRY(session.Add(std::move(model.graph), model.variables, model.inputs).status());
  }
  if (!session.reason().empty()) return LimitUnknown(options.models.front(), session.reason());
  return session.memory().device.total();
}

// What would bring the session below the limit, tried out.
std::vector<PlanReports::Remedy> FindRemedies(const PlanArguments& options,
                                              const Request& request) {
  std::vector<PlanReports::Remedy> remedies;
  const auto attempt = [&](std::string text, const Request& with) {
    const auto total = TotalOf(options, with);
    if (total.ok()) remedies.push_back({std::move(text), *total});
  };
  using config::StaticMemoryPolicy;
  if (!request.session.load.plan.search_order) {
    Request searched = request;
    searched.session.load.plan.search_order = true;
    attempt("--order search", searched);
  }
  const config::MemoryConfig& now = request.session.config.memory_config;
  if (now.memory_optimization_policy != config::MemoryOptimizationPolicy::kMemoryPriority) {
    Request harder = request;
    harder.session.load.plan.search_order = true;
    harder.session.config.memory_config.memory_optimization_policy =
        config::MemoryOptimizationPolicy::kMemoryPriority;
    attempt("--memory-optimization-policy MemoryPriority", harder);
  }
  const bool own = now.static_memory_policy == StaticMemoryPolicy::kByGraph ||
                   now.static_memory_policy == StaticMemoryPolicy::kExpandableDynamic;
  if (own && options.models.size() > 1) {
    Request shared = request;
    const bool expands = now.static_memory_policy == StaticMemoryPolicy::kExpandableDynamic;
    shared.session.config.memory_config.static_memory_policy =
        expands ? StaticMemoryPolicy::kSharedAndExpandable : StaticMemoryPolicy::kSharedStatic;
    attempt(expands ? "--policy 4" : "--policy 2", shared);
  }
  for (size_t i = 0; i < request.shapes.size(); ++i) {
    if (request.shapes[i].dims.empty() || request.shapes[i].dims[0] < 2) continue;
    Request smaller = request;
    smaller.shapes[i].dims[0] /= 2;
    attempt(StrCat("--shape ", smaller.shapes[i].name, "=", Join(smaller.shapes[i].dims, "x")),
            smaller);
  }
  return remedies;
}

Error DoesNotFit(const PlanReports& reports) {
  std::vector<std::string> files;
  for (const PlanReport& report : reports.models) files.push_back(report.file);
  std::string details;
  const PlanReport& first = reports.models.front();
  if (reports.models.size() == 1) {
    constexpr size_t kShown = 3;
    std::vector<std::string> live;
    for (size_t i = 0; i < std::min(kShown, first.peak_owners.size()); ++i) {
      live.push_back(StrCat(first.peak_owners[i].name, " ", first.peak_owners[i].bytes));
    }
    details = StrCat("; highest at ", first.peak_node, " with ", Join(live, ", "), " of ",
                     first.peak_owners.size(), " live buffers");
  }
  std::vector<std::string> help;
  for (const PlanReports::Remedy& remedy : reports.remedies) {
    if (remedy.total < reports.total()) {
      help.push_back(StrCat(remedy.text, " takes ", remedy.total));
    }
  }
  return AboveLimit(Join(files, ", "), reports.memory->device, *reports.limit, details,
                    help.empty()
                        ? StrCat("nothing tried here helps; no placement of this order is below ",
                                 first.lower_bound, " of feature map")
                        : Join(help, "; "));
}

Status CheckArguments(const PlanArguments& options) {
  const auto refuse = [](std::string code, std::string where, std::string why, std::string remedy) {
    return Error{ErrorKind::kUsage, std::move(code), "cannot plan so",
                 std::move(where),  std::move(why),  std::move(remedy)};
  };
  if (options.models.size() > 1 && !options.csv.empty()) {
    return refuse("cli.one_model", "--csv", "it speaks of one model",
                  "give one model, or leave it out");
  }
  if (options.plain && !options.limit.empty()) {
    return refuse("cli.plain_limit", "--limit",
                  "a limit judges what runs, and --plain shows the file's graph",
                  "leave one of them out");
  }
  return {};
}

Status Plan(const PlanArguments& options) {
  PLIMSOLL_TRY(CheckArguments(options));
  PlanReports reports;
  std::vector<profile::ReportPlan> pages;
  PLIMSOLL_ASSIGN(reports.limit, ParseLimit(options.limit));
  PLIMSOLL_ASSIGN(const Request request, ReadRequest(options));
  PLIMSOLL_ASSIGN(SessionPlan session, SessionPlan::Make(request.session));
  for (const std::string& file : options.models) {
    PLIMSOLL_ASSIGN(PlanReport report, PlanOne(options, file, request, session, pages));
    reports.models.push_back(std::move(report));
  }
  reports.policy = static_cast<int>(request.session.config.memory_config.static_memory_policy);
  const bool known = !options.plain && session.reason().empty();
  if (known) reports.memory = session.memory();
  const std::optional<Bytes> limit = reports.limit;
  if (!known) reports.limit.reset();
  const bool above = known && limit && reports.total() > *limit;
  if (above) reports.remedies = FindRemedies(options, request);
  if (!options.html.empty()) {
    PLIMSOLL_TRY(WriteReportPage(options.html, reports, std::move(pages)));
  }
  std::cout << (options.json ? PlanJson(reports) : PlanText(reports, ColorAllowed(STDOUT_FILENO)));
  if (limit && !known) return LimitUnknown(Join(options.models, ", "), session.reason());
  return above ? Status(DoesNotFit(reports)) : Status();
}

}  // namespace

void AddPlan(CLI::App& program, Action& action) {
  auto options = std::make_shared<PlanArguments>();
  CommandOptions command(program, "plan", "Plan every byte of models before the first run",
                         kPlanExamples);
  command.RequiredList("model", options->models, "ONNX files; several share one session");
  command.List("--shape", options->shapes,
               "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text("--variables", options->variables,
               "input=output,...: inputs that are kept from run to run, and what replaces them");
  command.Text("--limit", options->limit,
               "Exit with 3 when what runs takes more than this from the device");
  command.Flag("--plain", options->plain, "Plan the graph as the file has it, before passes");
  command.Choice("--weights", options->weights, {"packed", "smaller", "plain"}, kWeightsHelp);
  command.Choice("--order", options->order, {"file", "search"},
                 "The file's order, or search for a better one");
  command.Whole("--effort", options->effort, 0, kMostSteps, "Search steps of the placement");
  command.Real("--deadline", options->deadline_ms, "Cut the search after so many ms; 0: never");
  command.Whole("--threads", options->threads, 0, 1024,
                "Of the planner; 0: as many as the machine has");
  command.Whole("--run-threads", options->run_threads, 1, 1024, "Threads of the run planned for");
  command.Text("--csv", options->csv, "Write the feature map's buffers with offsets here");
  command.Text("--html", options->html,
               "Write a page here that shows where every byte goes; it needs no network");
  AddConfigArguments(command, options->config);
  AddShort(command, options->config, "--topo-sorting-mode", "ge.topoSortingMode",
           "Order without search: 0 breadth first, 1 depth first, 2 reverse depth first, 3 stable");
  AddShort(command, options->config, "--memory-optimization-policy", "memory_optimization_policy",
           "MemoryPriority searches harder for a low peak; None does not");
  AddShort(command, options->config, "--feature-base-refreshable", "ge.featureBaseRefreshable",
           "1: the feature map's base may change between runs; 0: it does not");
  AddShort(command, options->config, "--memory-assigner", "ge.plimsoll.memoryAssigner",
           StrCat("Who places buffers: ", Join(plan::AssignerNames(), ", ")));
  AddShort(command, options->config, "--use-range", "ge.plimsoll.useRange",
           "Block reuse, 1: a free block serves only buffers of its own size range");
  AddShort(command, options->config, "--ascending-sort", "ge.plimsoll.ascendingSort",
           "Block reuse, 1: the smallest buffer of a node is placed first; 0: the largest");
  AddShort(command, options->config, "--reuse-first-release", "ge.plimsoll.reuseFirstRelease",
           "Block reuse, 1: takes the block that was released first; 0: the smallest");
  AddShort(command, options->config, "--memory-priority-mode", "ge.plimsoll.memoryPriorityMode",
           "Block reuse, 1: blocks may grow and overlay each other; 0: they lie one by one");
  AddShort(command, options->config, "--batch-strategies", "ge.plimsoll.batchStrategies",
           "How single batches or gears are placed: b0:useRange=1;batch=4:search");
  AddShort(command, options->config, "--merge-continuous-batches",
           "ge.plimsoll.mergeContinuousBatches",
           "1: continuous inputs of different batches form large blocks; 0: they do not");
  AddShort(command, options->config, "--batches-share-memory", "ge.plimsoll.batchesShareMemory",
           "1: batches use the same memory; 0: each has its own");
  command.Json(options->json);
  WhenChosen(command, action, [options] { return Plan(*options); });
}

}  // namespace plimsoll::cli
