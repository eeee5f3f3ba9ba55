#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "cli/clearing_report.h"
#include "cli/config_arguments.h"
#include "cli/model_inputs.h"
#include "cli/options.h"
#include "cli/plan_report.h"
#include "cli/program.h"
#include "cli/session_plan.h"
#include "cli/text_file.h"
#include "compile/batch_labels.h"
#include "compile/input_shapes.h"
#include "compile/plan_model.h"
#include "compile/shapes.h"
#include "compile/streams.h"
#include "engine/compile_request.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using compile::PlannedModel;
using compile::ShapeArgument;

struct Options {
  std::vector<std::string> models;
  ConfigArguments config;
  std::vector<std::string> shapes;
  std::string limit;
  std::string order = "search";
  int64_t effort = plan::Effort().steps;
  double deadline_ms = 0;
  int64_t threads = 0;
  std::string csv;
  bool json = false;
};

constexpr int64_t kMostSteps = int64_t{1} << 50;

constexpr const char* kExamples = R"(
Examples:
  plimsoll plan model.onnx
  plimsoll plan bert.onnx --shape batch=1 --shape seq=128
  plimsoll plan model.onnx --limit 512MiB           exit code 3 when it does not fit, and why
  plimsoll plan model.onnx --csv plan.csv && plimsoll pack --check plan.csv
  plimsoll plan a.onnx b.onnx --policy 2            what a session of both takes before anything runs)";

compile::PlanOptions ReadOptions(const Options& options) {
  compile::PlanOptions request;
  request.effort.steps = options.effort;
  request.effort.deadline_ms = options.deadline_ms;
  request.threads = static_cast<int>(options.threads);
  request.search_order = options.order == "search";
  return request;
}

Result<PlannedModel> PlanWith(graph::Graph graph, const std::vector<ShapeArgument>& shapes,
                              const compile::PlanOptions& request) {
  PLIMSOLL_ASSIGN(const compile::Bindings bindings, compile::GiveInputShapes(graph, shapes));
  PLIMSOLL_TRY(compile::InferShapes(graph));
  PLIMSOLL_TRY(compile::SpreadBatchLabels(graph));
  PLIMSOLL_TRY(compile::SettleStreams(graph));
  return compile::PlanModel(graph, request);
}

// What would bring the model below the limit, tried out.
std::vector<PlanReport::Remedy> FindRemedies(const graph::Graph& graph,
                                             const std::vector<ShapeArgument>& shapes,
                                             const compile::PlanOptions& request) {
  std::vector<PlanReport::Remedy> remedies;
  const auto attempt = [&](std::string text, const std::vector<ShapeArgument>& with,
                           const compile::PlanOptions& how) {
    const auto planned = PlanWith(graph, with, how);
    if (planned.ok()) {
      remedies.push_back({std::move(text), MakePlanReport(graph, *planned, "").total});
    }
  };
  compile::PlanOptions harder = request;
  harder.search_order = true;
  if (!request.search_order) attempt("--order search", shapes, harder);
  if (!request.memory_priority) {
    harder.memory_priority = true;
    attempt("--memory-optimization-policy MemoryPriority", shapes, harder);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].dims.empty() || shapes[i].dims[0] < 2) continue;
    std::vector<ShapeArgument> smaller = shapes;
    smaller[i].dims[0] /= 2;
    attempt(StrCat("--shape ", smaller[i].name, "=", Join(smaller[i].dims, "x")), smaller, request);
  }
  return remedies;
}

Status DoesNotFit(const PlanReport& report) {
  constexpr size_t kShown = 3;
  std::vector<std::string> live;
  for (size_t i = 0; i < std::min(kShown, report.peak_owners.size()); ++i) {
    live.push_back(StrCat(report.peak_owners[i].name, " ", report.peak_owners[i].bytes));
  }
  std::vector<std::string> help;
  for (const PlanReport::Remedy& remedy : report.remedies) {
    if (remedy.total < report.total) help.push_back(StrCat(remedy.text, " takes ", remedy.total));
  }
  return Error{ErrorKind::kDoesNotFit,
               "plan.limit",
               "the model does not fit",
               report.file,
               StrCat("it takes ", report.total, " from the device, ", report.total - *report.limit,
                      " above the limit of ", *report.limit, ": weights ", report.weights,
                      ", feature map ", report.peak, ", highest at ", report.peak_node, " with ",
                      Join(live, ", "), " of ", report.peak_owners.size(), " live buffers"),
               help.empty()
                   ? StrCat("nothing tried here helps; no placement of this order is below ",
                            report.lower_bound, " of feature map")
                   : Join(help, "; ")};
}

Result<std::optional<Bytes>> LimitOf(const Options& options) {
  if (options.limit.empty()) return std::optional<Bytes>();
  const std::optional<Bytes> limit = ParseBytes(options.limit);
  if (limit) return limit;
  return Error{ErrorKind::kUsage,
               "cli.size",
               "size not understood",
               "--limit",
               StrCat("'", options.limit, "'"),
               "write bytes, or a size such as 512MiB"};
}

// One model on its own, and what it adds to the session.
Result<PlanReport> PlanOne(const Options& options, const std::string& model,
                           std::vector<ShapeArgument> shapes, const compile::PlanOptions& request,
                           const std::string& order, SessionPlan& session) {
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(model));
  if (options.models.size() > 1) shapes = KnownArguments(graph, shapes);
  const graph::Graph as_read = graph;
  PLIMSOLL_ASSIGN(const compile::Bindings bindings, compile::GiveInputShapes(graph, shapes));
  PLIMSOLL_TRY(compile::InferShapes(graph));
  PLIMSOLL_TRY(compile::SpreadBatchLabels(graph));
  PLIMSOLL_TRY(compile::SettleStreams(graph));
  const auto start = std::chrono::steady_clock::now();
  PLIMSOLL_ASSIGN(const PlannedModel planned, compile::PlanModel(graph, request));
  const auto taken = std::chrono::steady_clock::now() - start;
  PlanReport report = MakePlanReport(graph, planned, model);
  report.planning_ms = std::chrono::duration<double, std::milli>(taken).count();
  report.order = order;
  if (const auto compiled = session.Add(as_read, shapes)) AddCompiled(*compiled, report);
  PLIMSOLL_ASSIGN(report.clearing, CompareClearing(graph, planned, request));
  PLIMSOLL_ASSIGN(report.limit, LimitOf(options));
  if (report.limit && report.total > *report.limit) {
    report.remedies = FindRemedies(as_read, shapes, request);
  }
  if (!options.csv.empty()) PLIMSOLL_TRY(WriteTextFile(options.csv, PlanCsv(planned)));
  return report;
}

Status Plan(const Options& options) {
  if (options.models.size() > 1 && (!options.csv.empty() || !options.limit.empty())) {
    return Error{ErrorKind::kUsage,
                 "cli.one_model",
                 "cannot plan several models so",
                 options.csv.empty() ? "--limit" : "--csv",
                 "it speaks of one model",
                 "give one model, or leave it out"};
  }
  std::vector<ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(auto shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_TRY(LimitOf(options).status());
  engine::LoadOptions load;
  load.plan = ReadOptions(options);
  PLIMSOLL_ASSIGN(const config::EffectiveConfig configured, ResolveArguments(options.config));
  const compile::PlanOptions request = engine::PlanOptionsFor(configured.config, load.plan);
  PLIMSOLL_ASSIGN(SessionPlan session, SessionPlan::Make(configured.config, load));
  const std::optional<int> mode = configured.config.topo_sorting_mode;
  const std::string order = mode ? StrCat("mode ", *mode) : options.order;
  PlanReports reports;
  for (const std::string& model : options.models) {
    PLIMSOLL_ASSIGN(PlanReport report, PlanOne(options, model, shapes, request, order, session));
    reports.weights += report.weights;
    reports.models.push_back(std::move(report));
  }
  reports.policy = session.policy();
  reports.variables = session.variables();
  if (session.complete()) reports.feature_map_reserved = session.feature_map_reserved();
  std::cout << (options.json ? PlanJson(reports) : PlanText(reports, ColorAllowed(STDOUT_FILENO)));
  const PlanReport& first = reports.models.front();
  return first.limit && first.total > *first.limit ? DoesNotFit(first) : Status();
}

}  // namespace

void AddPlan(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CommandOptions command(program, "plan", "Plan every byte of models before the first run",
                         kExamples);
  command.RequiredList("model", options->models, "ONNX files; several share one session");
  command.List("--shape", options->shapes,
               "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text("--limit", options->limit,
               "Exit with 3 when the model takes more than this from the device");
  command.Choice("--order", options->order, {"file", "search"},
                 "The file's order, or search for a better one");
  command.Whole("--effort", options->effort, 0, kMostSteps, "Search steps of the placement");
  command.Real("--deadline", options->deadline_ms, "Cut the search after so many ms; 0: never");
  command.Whole("--threads", options->threads, 0, 1024, "0: as many as the machine has");
  command.Text("--csv", options->csv, "Write the feature map's buffers with offsets here");
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
