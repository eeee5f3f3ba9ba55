#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/mapped_pages.h"
#include "cli/commands/config_arguments.h"
#include "cli/commands/limit.h"
#include "cli/commands/options.h"
#include "cli/commands/plan_models.h"
#include "cli/commands/plan_sizes.h"
#include "cli/interrupt.h"
#include "cli/peer/machine.h"
#include "cli/program.h"
#include "cli/reports/model/weight_forms.h"
#include "cli/reports/plan/plan_comparison.h"
#include "cli/reports/plan/plan_page.h"
#include "cli/reports/plan/plan_report.h"
#include "cli/reports/progress_line.h"
#include "cli/session_plan.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/assigner.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kMostSteps = int64_t{1} << 50;

constexpr const char* kPlanExamples = R"(
Examples:
  plimsoll plan model.onnx
  plimsoll plan bert.onnx --shape batch=1 --shape seq=128
  plimsoll plan bert.onnx --shape batch=1,2,4,8 --shape seq=128     a row for each size
  plimsoll plan bert.onnx --shape seq=128 --limit 1GiB              the largest batch that fits
  plimsoll plan model.onnx --limit 512MiB           exit code 3 when it does not fit, and why
  plimsoll plan model.onnx --plain                  the file's graph, before passes
  plimsoll plan model.onnx --csv plan.csv && plimsoll pack --check plan.csv
  plimsoll plan model.onnx --html report.html       a page that shows where every byte goes
  plimsoll plan a.onnx b.onnx --policy 2            what a session of both takes before anything runs
  plimsoll plan a.onnx b.onnx --policy all          the same with each policy, side by side

What is planned is what `plimsoll run` executes with the same options:
--effort, --order and --deadline are the planner's, and a run takes their
defaults. `all` in place of a value compares those of an option that has a list
of them: --policy, --memory-optimization-policy and others.)";

// What would bring the session below the limit, tried out.
std::vector<PlanReports::Remedy> FindRemedies(const PlanArguments& options,
                                              const PlanRequest& request) {
  std::vector<PlanReports::Remedy> remedies;
  const auto attempt = [&](std::string text, const PlanRequest& with) {
    const auto total = TotalOf(options, with);
    if (total.ok()) remedies.push_back({std::move(text), *total});
  };
  using config::StaticMemoryPolicy;
  if (!request.session.load.plan.search_order) {
    PlanRequest searched = request;
    searched.session.load.plan.search_order = true;
    attempt("--order search", searched);
  }
  const config::MemoryConfig& now = request.session.config.memory_config;
  if (now.memory_optimization_policy != config::MemoryOptimizationPolicy::kMemoryPriority) {
    PlanRequest harder = request;
    harder.session.load.plan.search_order = true;
    harder.session.config.memory_config.memory_optimization_policy =
        config::MemoryOptimizationPolicy::kMemoryPriority;
    attempt("--memory-optimization-policy MemoryPriority", harder);
  }
  const bool own = now.static_memory_policy == StaticMemoryPolicy::kByGraph ||
                   now.static_memory_policy == StaticMemoryPolicy::kExpandableDynamic;
  if (own && options.models.size() > 1) {
    PlanRequest shared = request;
    const bool expands = now.static_memory_policy == StaticMemoryPolicy::kExpandableDynamic;
    shared.session.config.memory_config.static_memory_policy =
        expands ? StaticMemoryPolicy::kSharedAndExpandable : StaticMemoryPolicy::kSharedStatic;
    attempt(expands ? "--policy 4" : "--policy 2", shared);
  }
  for (size_t i = 0; i < request.shapes.size(); ++i) {
    if (request.shapes[i].dims.empty() || request.shapes[i].dims[0] < 2) continue;
    PlanRequest smaller = request;
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

Status CheckArguments(const PlanArguments& options, bool compares) {
  const auto refuse = [](std::string code, std::string where, std::string why, std::string remedy) {
    return Error{ErrorKind::kUsage, std::move(code), "cannot plan so",
                 std::move(where),  std::move(why),  std::move(remedy)};
  };
  if (options.models.size() > 1 && !options.csv.empty()) {
    return refuse("cli.one_model", "--csv", "it speaks of one model",
                  "give one model, or leave it out");
  }
  if (compares && (options.plain || !options.csv.empty())) {
    return refuse("cli.all", options.plain ? "--plain" : "--csv",
                  "it speaks of one plan, and all values of an option are compared",
                  "give the option one value, or leave it out");
  }
  if (options.plain && !options.limit.empty()) {
    return refuse("cli.plain_limit", "--limit",
                  "a limit judges what runs, and --plain shows the file's graph",
                  "leave one of them out");
  }
  return {};
}

// A session of the models, planned.
struct PlannedSession {
  PlanReports reports;
  std::vector<profile::ReportPlan> pages;
  std::string reason;  // why its total is not known
};

Result<PlannedSession> PlanSession(const PlanArguments& options) {
  PlannedSession planned;
  PlanReports& reports = planned.reports;
  PLIMSOLL_ASSIGN(const PlanRequest request, ReadPlanRequest(options));
  PLIMSOLL_ASSIGN(SessionPlan session, SessionPlan::Make(request.session));
  const ProgressLine progress(0, "planning");
  for (const std::string& file : options.models) {
    PLIMSOLL_ASSIGN(PlanReport report, PlanOne(options, file, request, session, planned.pages));
    reports.models.push_back(std::move(report));
  }
  reports.policy = static_cast<int>(request.session.config.memory_config.static_memory_policy);
  planned.reason = session.reason();
  if (options.plain || !planned.reason.empty()) return planned;
  reports.memory = session.memory();
  PLIMSOLL_ASSIGN(reports.limit, ParseLimit(options.limit));
  GiveBackFreedHeap();
  reports.program = ResidentBytes();
  reports.usable = UsableMemory();
  if (reports.limit && reports.total() > *reports.limit) {
    reports.remedies = FindRemedies(options, request);
  }
  for (profile::ReportPlan& page : planned.pages) {
    page.limit = reports.limit;
    page.device = reports.total();
  }
  return planned;
}

// What is compared: each row's value, and the arguments with it.
using ComparedRow = std::pair<std::string, PlanArguments>;

// Plans with each value, side by side. `named` stands before a value on pages.
Status Compare(const std::vector<ComparedRow>& rows, const std::string& named,
               PlanComparison& comparison) {
  std::vector<profile::ReportPlan> pages;
  for (const auto& [value, with] : rows) {
    if (Interrupted()) break;
    PlanComparison::Row& row = comparison.rows.emplace_back();
    row.value = value;
    auto planned = PlanSession(with);
    if (!planned.ok()) {
      if (rows.size() == 1) return planned.error();
      row.refused = planned.error().Text();
      continue;
    }
    row.plans = std::move(planned->reports);
    for (profile::ReportPlan& page : planned->pages) {
      page.name = StrCat(page.name, ", ", named, " ", value);
      pages.push_back(std::move(page));
    }
  }
  const std::string& html = rows.front().second.html;
  if (!html.empty() && !pages.empty()) PLIMSOLL_TRY(WriteReportPage(html, std::move(pages)));
  return {};
}

// Fails where no row fits into the limit.
Status TellComparison(const PlanComparison& comparison, Answer& answer) {
  answer.Give([&] { return ComparisonJson(comparison); },
              [&] { return ComparisonText(comparison); });
  const PlanReports* least = comparison.least();
  const bool above = least != nullptr && least->limit && least->total() > *least->limit;
  return above ? Status(DoesNotFit(*least)) : Status();
}

Status ComparePolicies(const PlanArguments& options, const EveryValue& compared, Answer& answer) {
  std::vector<ComparedRow> rows;
  for (const std::string& value : compared.values) {
    rows.emplace_back(value, options);
    rows.back().second.config = WithValue(options.config, compared, value);
  }
  PlanComparison comparison{.of = compared.option, .rows = {}, .names_least = true};
  PLIMSOLL_TRY(Compare(rows, compared.argument.substr(2), comparison));
  return TellComparison(comparison, answer);
}

// The sizes to show for a limit: the powers of two below the answer, the answer and the next.
std::vector<int64_t> SizesAround(int64_t largest) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < largest; size *= 2) sizes.push_back(size);
  if (largest > 0) sizes.push_back(largest);
  sizes.push_back(largest + 1);
  return sizes;
}

// One size that the models leave open: a row for each value of it. Under a limit that is to be kept
// by a size that nobody gave, the largest that fits is found.
Status CompareSizes(const PlanArguments& options, SizeChoice choice, Answer& answer) {
  if (options.plain || !options.csv.empty()) {
    return Error{ErrorKind::kUsage,
                 "plan.open_sizes",
                 "cannot plan without sizes",
                 options.plain ? "--plain" : "--csv",
                 StrCat("it speaks of one plan, and ", choice.name, " is open"),
                 StrCat("give one size, such as --shape ", choice.name, "=8")};
  }
  PlanComparison comparison{.of = choice.name, .rows = {}};
  PLIMSOLL_ASSIGN(const std::optional<Bytes> limit, ParseLimit(options.limit));
  if (limit && !choice.asked) {
    constexpr int64_t kMostTried = int64_t{1} << 16;
    std::optional<Error> first;
    const auto fits = [&](int64_t size) {
      const auto request = ReadPlanRequest(WithSize(options, choice.name, size));
      const auto total = request.ok() ? TotalOf(options, *request) : Result<Bytes>(request.error());
      if (!total.ok() && !first) first = total.error();
      return total.ok() && *total <= *limit;
    };
    const int64_t largest = LargestThatFits(kMostTried, fits);
    // Where planning itself ran out of memory, nothing is known of what fits.
    if (first && (largest == 0 || first->kind == ErrorKind::kRunFailed)) return *first;
    comparison.largest_that_fits = largest;
    comparison.note =
        largest == 0 ? StrCat("no ", choice.name, " fits into ", *limit, "\n")
        : largest == kMostTried
            ? StrCat(choice.name, " ", largest, " fits into ", *limit,
                     "; larger ones were not tried\n")
            : StrCat(choice.name, " ", largest, " is the largest that fits into ", *limit, "\n");
    choice.values = SizesAround(largest);
  } else if (!choice.asked) {
    comparison.note =
        StrCat(choice.name, " is open: --shape ", choice.name, "=N plans it for one size\n");
  }
  std::vector<ComparedRow> rows;
  for (const int64_t size : choice.values) {
    rows.emplace_back(StrCat(size), WithSize(options, choice.name, size));
  }
  PLIMSOLL_TRY(Compare(rows, choice.name, comparison));
  return TellComparison(comparison, answer);
}

Status Plan(PlanArguments options, Answer& answer) {
  PLIMSOLL_TRY(answer.WillWrite({options.csv, options.html}));
  PLIMSOLL_TRY(ParseLimit(options.limit).status());
  PLIMSOLL_ASSIGN(const std::optional<EveryValue> compared, TakeEveryValue(options.config));
  PLIMSOLL_TRY(CheckArguments(options, compared.has_value()));
  const KnownSoFar known;  // from now on searches give what they have found when they are cut
  PLIMSOLL_ASSIGN(const std::optional<SizeChoice> choice, ChooseSizes(options));
  if (compared && choice) {
    return Error{ErrorKind::kUsage,
                 "plan.open_sizes",
                 "cannot plan without sizes",
                 compared->argument,
                 StrCat("its values are compared, and ", choice->name, " is open"),
                 StrCat("give one size, such as --shape ", choice->name, "=8")};
  }
  if (compared) return ComparePolicies(options, *compared, answer);
  if (choice) return CompareSizes(options, *choice, answer);
  PLIMSOLL_ASSIGN(PlannedSession planned, PlanSession(options));
  const PlanReports& reports = planned.reports;
  if (!options.html.empty()) {
    PLIMSOLL_TRY(WriteReportPage(options.html, std::move(planned.pages)));
  }
  answer.Give([&] { return PlanJson(reports); },
              [&] { return PlanText(reports, ColorAllowed(STDOUT_FILENO)); });
  if (!options.limit.empty() && !reports.memory) {
    return LimitUnknown(Join(options.models, ", "), planned.reason);
  }
  const bool above = reports.limit && reports.total() > *reports.limit;
  return above ? Status(DoesNotFit(reports)) : Status();
}

}  // namespace

void AddPlan(CLI::App& program, Action& action) {
  auto options = std::make_shared<PlanArguments>();
  CommandOptions command(program, "plan", "Plan every byte of models before the first run",
                         kPlanExamples);
  command.RequiredList("model", options->models, "ONNX files; several share one session");
  command.Repeated(
      "--shape", options->shapes,
      "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4), of which one may "
      "be a list (batch=1,2,4,8): a row for each; repeatable");
  command.Text(
      "--variables", options->variables,
      "input=output,...: inputs that are kept from run to run, and the outputs that become "
      "their next values");
  command.Text(
      "--limit", options->limit,
      "A size such as 512MiB: exit with 3 when a run takes more than this from the device");
  command.Flag("--plain", options->plain, "Plan the graph as the file has it, before passes");
  command.Choice("--weights", options->weights, {"packed", "smaller", "plain"}, kWeightsHelp);
  command.Choice("--order", options->order, {"file", "search"},
                 "The file's order, or search for a better one");
  command.Whole("--effort", options->effort, 0, kMostSteps, "Search steps of the placement");
  command.Real("--deadline", options->deadline_ms,
               "End the search after so many milliseconds; 0: never");
  command.Threads(options->threads, "Threads of the planner");
  command.Threads(options->run_threads, "Threads of the run planned for", "--run-threads");
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
           StrCat("How buffers are placed: ", Join(plan::AssignerNames(), ", ")));
  AddShort(command, options->config, "--use-range", "ge.plimsoll.useRange",
           "Block reuse, 1: a free block serves only buffers of its own size range");
  AddShort(command, options->config, "--ascending-sort", "ge.plimsoll.ascendingSort",
           "Block reuse, 1: the smallest buffer of a node is placed first; 0: the largest");
  AddShort(command, options->config, "--reuse-first-release", "ge.plimsoll.reuseFirstRelease",
           "Block reuse, 1: takes the block that was released first; 0: the smallest");
  AddShort(command, options->config, "--memory-priority-mode", "ge.plimsoll.memoryPriorityMode",
           "Block reuse, 1: blocks may grow and overlay each other; 0: they lie one by one");
  AddShort(command, options->config, "--batch-strategies", "ge.plimsoll.batchStrategies",
           "How single batches or gears are placed, such as 'b0:useRange=1;batch=4:search'");
  AddShort(command, options->config, "--merge-continuous-batches",
           "ge.plimsoll.mergeContinuousBatches",
           "1: continuous inputs of different batches form large blocks; 0: they do not");
  AddShort(command, options->config, "--batches-share-memory", "ge.plimsoll.batchesShareMemory",
           "1: batches use the same memory; 0: each has its own");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Plan(*options, answer); });
}

}  // namespace plimsoll::cli
