#include <unistd.h>

#include <memory>

#include "cli/commands/options.h"
#include "cli/program.h"
#include "cli/reports/graph_json.h"
#include "cli/reports/model_report.h"
#include "compile/shapes/input_shapes.h"
#include "compile/shapes/shapes.h"
#include "graph/text_form.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/log.h"

namespace plimsoll::cli {
namespace {

struct InspectArguments {
  std::string model;
  std::vector<std::string> shapes;
  std::string test_data;
  bool json = false;
  bool text_form = false;
};

constexpr const char* kInspectExamples = R"(
Examples:
  plimsoll inspect model.onnx
  plimsoll inspect bert.onnx --shape ids=1x128 --shape mask=1x128
  plimsoll inspect bert.onnx --shape batch=1 --shape seq=128 --json
  plimsoll inspect model.onnx --graph               every node, one line each)";

Status Inspect(const InspectArguments& options, Answer& answer) {
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(auto shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(options.model));
  PLIMSOLL_ASSIGN(const compile::Bindings bindings, compile::GiveInputShapes(graph, shapes));
  if (!options.test_data.empty()) PLIMSOLL_TRY(GiveStoredInputs(graph, options.test_data));
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
  command.Required("model", options->model, "An ONNX file");
  command.List("--shape", options->shapes,
               "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text(
      "--test-data", options->test_data,
      "A folder with input_N.pb and output_N.pb: take inputs from it, compare the outputs' "
      "shapes");
  command.Flag("--graph", options->text_form, "Print the graph, one line per node");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Inspect(*options, answer); });
}

}  // namespace plimsoll::cli
