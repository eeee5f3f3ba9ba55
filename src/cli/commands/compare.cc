#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "cli/commands/options.h"
#include "cli/inputs/model_inputs.h"
#include "cli/peer/distance.h"
#include "cli/peer/ort_peer.h"
#include "cli/program.h"
#include "compile/shapes/batch_labels.h"
#include "engine/node_by_node/interpreter.h"
#include "engine/run/run_batches.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using kernels::HostTensor;
using kernels::HostValue;

struct CompareArguments {
  std::string model;
  std::string against = "ort";
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::string batch;
  double tolerance = 1e-4;
  double absolute = 1e-6;
  bool json = false;
};

constexpr const char* kCompareExamples = R"(
Examples:
  plimsoll compare model.onnx --against ort
  plimsoll compare bert.onnx --shape batch=1 --shape seq=16 --tolerance 1e-5

Every value that a node makes is computed by both, without fusion, and compared by the relative
length of the difference. A value differs where that is above --tolerance and some element is apart
by more than --absolute; what lies within the rounding of a float32 sum next to zero does not count.
Exit code 5 when one differs.)";

struct Difference {
  std::string value;
  std::string node;
  double distance = 0;
};

struct Comparison {
  int compared = 0;
  std::vector<Difference> differences;  // beyond the tolerance, in order of execution
  double largest = 0;
};

// Spreads the labels of the graph; the batch of theirs that the inputs or the name ask for.
Result<std::string> BatchFor(graph::Graph& graph, const std::vector<HostValue>& inputs,
                             const std::string& named) {
  PLIMSOLL_TRY(compile::SpreadBatchLabels(graph));
  std::vector<TensorView> tensors;
  for (const HostValue& input : inputs) {
    tensors.push_back({input.tensor.type, input.tensor.dims, input.tensor.data.get()});
  }
  return engine::RunBatches(graph).Choose(named, tensors);
}

Result<Comparison> Compare(const CompareArguments& options) {
  std::vector<InputArgument> arguments;
  for (const std::string& text : options.inputs) {
    PLIMSOLL_ASSIGN(InputArgument argument, ParseInputArgument(text));
    arguments.push_back(std::move(argument));
  }
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(options.model));
  PLIMSOLL_ASSIGN(const std::vector<HostValue> inputs, MakeInputs(graph, arguments, shapes));
  PLIMSOLL_ASSIGN(const std::string batch, BatchFor(graph, inputs, options.batch));
  OrtPeer::Settings settings{.model = options.model, .names = {}, .inputs = inputs};
  settings.every_value = true;
  for (const graph::ValueId input : graph.root().inputs) {
    settings.names.push_back(graph[input].name);
  }
  PLIMSOLL_ASSIGN(OrtPeer peer, OrtPeer::Start(settings));
  PLIMSOLL_TRY(peer.RunOnce().status());
  PLIMSOLL_ASSIGN(const std::vector<OrtPeer::Named> outputs, peer.Outputs());
  std::map<std::string, HostTensor> theirs;
  for (const OrtPeer::Named& output : outputs) theirs.emplace(output.name, output.tensor);

  Comparison comparison;
  engine::Interpreter interpreter(graph);
  engine::Interpreter::Options run;
  run.batch = batch;
  run.observe = [&](graph::ValueId id, const HostValue& value) {
    const graph::Value& known = graph[id];
    const auto their = theirs.find(known.name);
    const bool root = known.home == graph::Graph::kRoot && known.producer.valid();
    if (!root || their == theirs.end() || value.kind != HostValue::Kind::kTensor) return;
    const double distance = RelativeDistance(value.tensor, their->second);
    ++comparison.compared;
    comparison.largest = std::max(comparison.largest, distance);
    const double apart = LargestDifference(value.tensor, their->second);
    if (distance > options.tolerance && !(apart <= options.absolute)) {
      comparison.differences.push_back(
          {known.name, graph::Describe(graph, known.producer), distance});
    }
  };
  PLIMSOLL_TRY(interpreter.Run(inputs, run).status());
  return comparison;
}

Json ToJson(const Comparison& comparison, const std::string& file) {
  Json model{
      {"file", file}, {"values_compared", comparison.compared}, {"differences", Json::array()}};
  if (std::isfinite(comparison.largest)) model["largest_distance"] = comparison.largest;
  for (const Difference& difference : comparison.differences) {
    Json row{{"value", difference.value}, {"node", difference.node}};
    if (std::isfinite(difference.distance)) row["distance"] = difference.distance;
    model["differences"].push_back(std::move(row));
  }
  return {{"models", Json::array({std::move(model)})}};
}

std::string ToText(const Comparison& comparison) {
  std::string text;
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(comparison.differences.size(), kShown); ++i) {
    const Difference& difference = comparison.differences[i];
    text += StrCat(difference.node, ": '", difference.value, "' differs by ", difference.distance,
                   "\n");
  }
  if (comparison.differences.size() > kShown) {
    text += StrCat("and ", comparison.differences.size() - kShown, " more\n");
  }
  return text + StrCat(comparison.compared, " values compared, ", comparison.differences.size(),
                       " differ, largest difference ", comparison.largest, "\n");
}

Status Run(const CompareArguments& options, Answer& answer) {
  PLIMSOLL_ASSIGN(const Comparison comparison, Compare(options));
  answer.Give([&] { return ToJson(comparison, options.model); },
              [&] { return ToText(comparison); });
  if (comparison.differences.empty()) return {};
  const Difference& first = comparison.differences.front();
  return Error{.kind = ErrorKind::kMismatch,
               .code = "compare.different",
               .what = "the two engines part",
               .where = first.node,
               .why = StrCat("'", first.value, "' differs by ", first.distance),
               .remedy = "later values differ because of the first one that does"};
}

}  // namespace

void AddCompare(CLI::App& program, Action& action) {
  auto options = std::make_shared<CompareArguments>();
  CommandOptions command(program, "compare", "Show node by node where two engines part",
                         kCompareExamples);
  command.Required("model", options->model, "An ONNX file");
  command.Choice("--against", options->against, {"ort"}, "The other engine: ort (ONNX Runtime)");
  command.List("--input", options->inputs,
               "name=file.npy, name=file.pb or name=random; repeatable");
  command.List("--shape", options->shapes,
               "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text("--batch", options->batch, "The batch to run, where nodes carry batch labels");
  command.Real("--tolerance", options->tolerance, "Relative difference that still counts as equal");
  command.Real("--absolute", options->absolute,
               "Difference of an element that still counts as equal (default 1e-6)");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Run(*options, answer); });
}

}  // namespace plimsoll::cli
