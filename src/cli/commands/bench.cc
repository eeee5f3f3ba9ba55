#include <algorithm>
#include <memory>
#include <optional>

#include "base/usable_cores.h"
#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/model_inputs.h"
#include "cli/inputs/text_file.h"
#include "cli/interrupt.h"
#include "cli/peer/bench_measure.h"
#include "cli/program.h"
#include "cli/reports/bench_report.h"
#include "cli/reports/progress_line.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

struct BenchArguments {
  std::vector<std::string> models;
  std::vector<std::string> shapes;
  std::string against;
  std::string batch;
  int64_t repeat = 10;
  int64_t warm_up = 1;
  double duration = 0;
  std::string threads = "0";
  bool pin_threads = false;
  std::string callers = "1";
  std::string device;
  std::string csv;
  std::string save_baseline;
  std::string compare;
  bool json = false;
};

constexpr const char* kBenchExamples = R"(
Examples:
  plimsoll bench resnet50.onnx
  plimsoll bench resnet50.onnx vgg16.onnx --threads 1,2,4 --duration 5
  plimsoll bench bert.onnx --shape batch=1 --shape seq=128 --against ort --json
  plimsoll bench resnet50.onnx --threads 1 --callers 1,2,4      several callers at once
  plimsoll bench resnet50.onnx --save-baseline before.json      with one build, and then
  plimsoll bench resnet50.onnx --compare before.json            with another

Runs come in rounds, ours and the peer's by turns, and while one side runs the
other is stopped. The ratio is our median over theirs, its spread the middle
half of the ratios of rounds. p90 is told from 10 runs, p99 from 100. With
--compare a difference counts where it is larger than the noise: what the
middle half of the rounds of the two measurements are apart, and 3 % at least.
Exit code 5 when a case became slower. ONNX Runtime is the Python package of
that name, in PLIMSOLL_PYTHON or python3.)";

Result<std::vector<int>> ParseCounts(const std::string& option, const std::string& text,
                                     int64_t least) {
  constexpr int64_t kMost = 1024;
  std::vector<int> counts;
  for (const std::string_view part : Split(text, ',')) {
    const auto count = ParseInteger(Trim(part));
    if (!count || *count < least || *count > kMost) {
      return Error{.kind = ErrorKind::kUsage,
                   .code = "cli.counts",
                   .what = "numbers not understood",
                   .where = StrCat(option, " ", text),
                   .why = StrCat("'", part, "' is no number from ", least, " to ", kMost),
                   .remedy = StrCat("write one or several, such as ", option, " 1,2,4")};
    }
    counts.push_back(static_cast<int>(*count));
  }
  return counts;
}

// That each shape is of some model that can be read.
Status CheckShapeNames(const BenchArguments& options) {
  if (options.shapes.empty()) return {};
  std::vector<graph::Graph> graphs;
  for (const std::string& model : options.models) {
    Result<ModelFile> file = ReadModelFile(model);
    if (file.ok()) graphs.push_back(std::move(file->graph));
  }
  std::vector<const graph::Graph*> readable;
  for (const graph::Graph& graph : graphs) readable.push_back(&graph);
  return readable.empty() ? Status() : CheckEachIsKnown(readable, {}, options.shapes);
}

Result<std::vector<BenchCase>> CasesOf(const BenchArguments& options) {
  for (const std::string& text : options.shapes) {
    PLIMSOLL_TRY(compile::ParseShapeArgument(text).status());
  }
  PLIMSOLL_ASSIGN(const std::vector<int> threads, ParseCounts("--threads", options.threads, 0));
  PLIMSOLL_ASSIGN(const std::vector<int> callers, ParseCounts("--callers", options.callers, 1));
  std::vector<BenchCase> cases;
  for (const std::string& model : options.models) {
    for (const int thread_count : threads) {
      for (const int caller_count : callers) {
        cases.push_back({.model = model,
                         .shapes = options.shapes,
                         .batch = options.batch,
                         .device = options.device,
                         .threads = thread_count == 0 ? UsableCores() : thread_count,
                         .pin_threads = options.pin_threads,
                         .callers = caller_count});
      }
    }
  }
  const bool crowd =
      std::any_of(callers.begin(), callers.end(), [](int count) { return count > 1; });
  if (crowd && !options.against.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "bench.callers",
                 .what = "cannot measure so",
                 .where = StrCat("--callers ", options.callers),
                 .why = "a peer is raced by one caller",
                 .remedy = "leave --callers or --against out"};
  }
  return cases;
}

Status BecameSlower(const BenchComparison& comparison) {
  std::vector<std::string> slower;
  for (const BenchChange& change : comparison.changes) {
    if (change.slower()) slower.push_back(change.name);
  }
  if (slower.empty()) return {};
  return Error{.kind = ErrorKind::kMismatch,
               .code = "bench.slower",
               .what = "slower than before",
               .where = Join(slower, "; "),
               .why = "",
               .remedy = "measure both builds again in turn, to rule the machine out"};
}

// What was measured goes everywhere it was asked to go.
Status Tell(const BenchArguments& options, BenchReport& report, Answer& answer) {
  if (!options.compare.empty()) {
    PLIMSOLL_ASSIGN(const std::string stored, ReadTextFile(options.compare));
    PLIMSOLL_ASSIGN(report.comparison, CompareWithBaseline(report.rows, stored, options.compare));
  }
  answer.Give([&] { return BenchJson(report); }, [&] { return BenchText(report); });
  if (!options.csv.empty()) PLIMSOLL_TRY(WriteTextFile(options.csv, BenchCsv(report)));
  if (!options.save_baseline.empty()) {
    PLIMSOLL_TRY(WriteTextFile(options.save_baseline, BenchJson(report).dump(2) + "\n"));
  }
  return report.comparison ? BecameSlower(*report.comparison) : Status();
}

// Every case is measured, also behind one that fails; the first failure is the command's.
Status Bench(const BenchArguments& options, Answer& answer) {
  PLIMSOLL_TRY(answer.WillWrite({options.csv, options.save_baseline}));
  PLIMSOLL_ASSIGN(const std::vector<BenchCase> cases, CasesOf(options));
  PLIMSOLL_TRY(CheckShapeNames(options));
  if (!options.compare.empty()) {
    PLIMSOLL_ASSIGN(const std::string stored, ReadTextFile(options.compare));
    PLIMSOLL_TRY(CompareWithBaseline({}, stored, options.compare).status());
  }
  BenchReport report;
  std::optional<KnownSoFar> known;  // once a round is done
  std::optional<ProgressLine> progress(std::in_place, std::ssize(cases), "case");
  BenchPlan plan{.warm_up = options.warm_up,
                 .repeat = options.repeat,
                 .seconds = options.duration,
                 .against_ort = options.against == "ort"};
  plan.stop = &InterruptFlag();
  plan.goes_on = [&] {
    if (!known) known.emplace();
    return !Interrupted();
  };
  Status first;
  for (const BenchCase& measured : cases) {
    if (Interrupted()) break;
    progress->Begin();
    Result<BenchRow> row = MeasureBenchCase(measured, plan);
    if (row.ok()) {
      report.rows.push_back(std::move(*row));
    } else if (first.ok()) {
      first = row.error();
    } else {
      Log(LogLevel::kError, row.error().Text());
    }
  }
  progress.reset();
  if (report.rows.empty()) return first;
  const Status told = Tell(options, report, answer);
  return first.ok() ? told : first;
}

}  // namespace

void AddBench(CLI::App& program, Action& action) {
  auto options = std::make_shared<BenchArguments>();
  CommandOptions command(program, "bench", "Time models, alone or against ONNX Runtime",
                         kBenchExamples);
  command.RequiredList("models", options->models, "ONNX files, or files of plimsoll compile");
  command.Choice("--against", options->against, {"", "ort"},
                 "ort: time ONNX Runtime as well, and compare");
  command.Repeated(
      "--shape", options->shapes,
      "Shape of an input or size of a symbol, for the models that have it; repeatable");
  command.Text("--batch", options->batch, "The batch to run, where nodes carry batch labels");
  command.Whole("--repeat", options->repeat, 1, 10'000'000, "How many runs of each model");
  command.Whole("--warm-up", options->warm_up, 0, 100'000, "Runs before those that count");
  command.Real("--duration", options->duration,
               "Run for so many seconds, each side, in place of --repeat");
  command.Text(
      "--threads", options->threads,
      "Threads of a run, one number or several: 1,2,4; 0: the cores that this process may use");
  command.Flag("--pin-threads", options->pin_threads, kPinThreadsHelp);
  command.Text("--callers", options->callers,
               "Callers at once, each with a copy of the model, one number or several: 1,2,4");
  command.Text("--device", options->device, kDeviceHelp);
  command.Text("--csv", options->csv, "Write the figures to this file as a table (CSV)");
  command.Text("--save-baseline", options->save_baseline,
               "Write the figures to this file, for --compare");
  command.Text("--compare", options->compare,
               "A file of --save-baseline: tell what became slower or faster");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Bench(*options, answer); });
}

}  // namespace plimsoll::cli
