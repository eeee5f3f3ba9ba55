#include <unistd.h>

#include <memory>

#include "cli/commands/options.h"
#include "cli/inputs/model_file.h"
#include "cli/program.h"
#include "cli/reports/model/compiled_report.h"
#include "cli/reports/model/graph_json.h"
#include "cli/reports/model/model_report.h"
#include "cli/reports/model/weight_statistics.h"
#include "cli/session_plan.h"
#include "compile/shapes/input_shapes.h"
#include "compile/shapes/shapes.h"
#include "engine/api/port_tensors.h"
#include "graph/dims/open_dimensions.h"
#include "graph/text_form.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

struct InspectArguments {
  std::string model;
  std::vector<std::string> shapes;
  std::string test_data;
  int64_t threads = 0;
  bool json = false;
  bool text_form = false;
  bool compiled = false;
  bool weights = false;
};

constexpr const char* kInspectExamples = R"(
Examples:
  plimsoll inspect model.onnx
  plimsoll inspect bert.onnx --shape ids=1x128 --shape mask=1x128
  plimsoll inspect bert.onnx --shape batch=1 --shape seq=128 --json
  plimsoll inspect model.onnx --graph               every node, one line each
  plimsoll inspect model.onnx --shape batch=8 --compiled    what runs: kernels and layouts
  plimsoll inspect model.onnx --weights             least, largest, mean and zeros of each tensor)";

// The three ways to look that stand in place of the summary, and what has no use for some of them.
Status CheckWays(const InspectArguments& options) {
  if (options.threads != 0 && !options.compiled) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "cli.one_way",
                 .what = "command line not understood",
                 .where = "--threads",
                 .why = "only what is compiled has threads",
                 .remedy = "leave it out, or add --compiled"};
  }
  std::vector<std::string> ways;
  if (!options.test_data.empty() && !options.text_form) ways.emplace_back("--test-data");
  if (options.text_form) ways.emplace_back("--graph");
  if (options.compiled) ways.emplace_back("--compiled");
  if (options.weights) ways.emplace_back("--weights");
  if (ways.size() <= 1) return {};
  return Error{.kind = ErrorKind::kUsage,
               .code = "cli.one_way",
               .what = "command line not understood",
               .where = Join(ways, " "),
               .why = "each shows something else",
               .remedy = "give one of them"};
}

// What runs depends on every size of the inputs.
Status CheckSizes(const InspectArguments& options, graph::Graph graph,
                  const std::vector<compile::ShapeArgument>& shapes) {
  PLIMSOLL_TRY(compile::GiveInputShapes(graph, shapes).status());
  const graph::OpenDimensions found = graph::FindOpenDimensions(graph);
  std::vector<std::string> open = found.names;
  open.insert(open.end(), found.of_inputs.begin(), found.of_inputs.end());
  if (open.empty()) return {};
  return Error{
      .kind = ErrorKind::kUsage,
      .code = "inspect.open_sizes",
      .what = "cannot compile without sizes",
      .where = options.model,
      .why = StrCat(open.size() == 1 ? "this is open: " : "these are open: ", Join(open, ", ")),
      .remedy = StrCat("give ", open.size() == 1 ? "it" : "them", ", such as --shape ",
                       open.front(), "=1")};
}

Status InspectCompiled(const InspectArguments& options, graph::Graph graph,
                       const std::vector<compile::ShapeArgument>& shapes, Answer& answer) {
  PLIMSOLL_TRY(CheckSizes(options, graph, shapes));
  PLIMSOLL_ASSIGN(const std::vector<TensorView> inputs, engine::InputShapes(graph, shapes));
  const size_t nodes_before = graph.nodes.size();
  engine::SessionOptions how;
  how.threads = ThreadsOf(options.threads);
  PLIMSOLL_ASSIGN(SessionPlan session, SessionPlan::Make(how));
  PLIMSOLL_ASSIGN(const SessionPlan::Model model, session.Add(std::move(graph), {}, inputs));
  if (model.executable == nullptr) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .code = "inspect.compiled",
        .what = "the model is not compiled as a whole",
        .where = options.model,
        .why = model.reason,
        .remedy = "see plimsoll plan for the stretches that are, and --graph for the file"};
  }
  answer.Give([&] { return CompiledJson(model, options.model, nodes_before); },
              [&] { return CompiledText(model, options.model, nodes_before); });
  return {};
}

Status InspectWeights(const InspectArguments& options, const graph::Graph& graph, Answer& answer) {
  const std::vector<WeightStatistics> weights = StatisticsOfWeights(graph);
  answer.Give(
      [&] {
        Json model{{"file", options.model}, {"initializers", WeightsJson(weights)}};
        return Json{{"models", Json::array({std::move(model)})}};
      },
      [&] { return WeightsText(weights); });
  return {};
}

Status Inspect(const InspectArguments& options, Answer& answer) {
  PLIMSOLL_TRY(CheckWays(options));
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(auto shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(graph::Graph graph, ReadModelGraph(options.model));
  if (options.compiled) return InspectCompiled(options, std::move(graph), shapes, answer);
  PLIMSOLL_ASSIGN(const compile::Bindings bindings, compile::GiveInputShapes(graph, shapes));
  if (!options.test_data.empty()) PLIMSOLL_TRY(GiveStoredInputs(graph, options.test_data));
  if (options.weights) return InspectWeights(options, graph, answer);
  PLIMSOLL_TRY(compile::InferShapes(graph));
  if (options.text_form) {
    answer.Give([&] { return GraphJson(graph, options.model); }, [&] { return TextForm(graph); });
    return {};
  }
  ModelReport report = MakeReport(graph, options.model, bindings);
  if (!options.test_data.empty()) {
    PLIMSOLL_ASSIGN(report.test_data, CompareStoredOutputs(graph, options.test_data));
  }
  answer.Give([&] { return ReportJson(report); },
              [&] { return ReportText(report, ColorAllowed(STDOUT_FILENO)); });
  return {};
}

}  // namespace

void AddInspect(CLI::App& program, Action& action) {
  auto options = std::make_shared<InspectArguments>();
  CommandOptions command(program, "inspect", "Show what is in a model", kInspectExamples);
  command.Required("model", options->model, "An ONNX file; -: standard input");
  command.Repeated(
      "--shape", options->shapes,
      "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text(
      "--test-data", options->test_data,
      "A folder with input_N.pb and output_N.pb: take inputs from it, compare the outputs' "
      "shapes");
  command.Flag("--graph", options->text_form, "Print the graph, one line per node");
  command.Flag("--compiled", options->compiled,
               "Print the graph that runs, after passes: kernel, layout and bytes of each node");
  command.Threads(options->threads, "With --compiled: threads of the run");
  command.Flag("--weights", options->weights,
               "Print least, largest, mean and zeros of each weight, and of all of a type");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Inspect(*options, answer); });
}

}  // namespace plimsoll::cli
