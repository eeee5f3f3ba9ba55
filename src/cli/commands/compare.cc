#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands/options.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/model_inputs.h"
#include "cli/interrupt.h"
#include "cli/peer/distance.h"
#include "cli/peer/run_measure.h"
#include "cli/peer/side_values.h"
#include "cli/program.h"
#include "cli/reports/progress_line.h"
#include "cli/reports/text_table.h"
#include "compile/shapes/batch_labels.h"
#include "engine/run/run_batches.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using kernels::HostValue;

struct CompareArguments {
  std::string model;
  std::string engine = "plain";
  std::string against;  // empty: ort
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::string batch;
  std::string save;
  double tolerance = 1e-4;
  double absolute = 1e-6;
  bool json = false;
};

constexpr const char* kCompareExamples = R"(
Examples:
  plimsoll compare model.onnx --against ort
  plimsoll compare bert.onnx --shape batch=1 --shape seq=16 --tolerance 1e-5
  plimsoll compare model.onnx --engine plimsoll --against plain   what passes and kernels change
  plimsoll compare model.onnx --against other.onnx                values of the same name
  plimsoll compare model.onnx --save before                       keep what this engine makes, and
  plimsoll compare model.onnx --against before                    compare another build with it
  plimsoll compare model.onnx --against expected.npz              arrays by the names of values

The engines: plain (ours, node by node, without passes), plimsoll (ours, as it
runs models) and ort (ONNX Runtime without optimisations). Every value that a
node makes is computed by both and compared by the relative length of the
difference. Of plimsoll only the outputs are; where those differ, values in
between are made outputs in turn, until the first node that differs is found. A
value differs where the distance is above --tolerance and some element is apart
by more than --absolute, whose default is what rounding leaves of float32 sums
next to zero. Exit code 5 when one differs.)";

struct Difference {
  std::string value;
  std::string node;
  double distance = 0;
  std::string how;  // "differs by 1e-3"
};

struct Extra {
  std::string value;
  std::string side;  // the only one that makes it
};

struct Comparison {
  std::string left;
  std::string right;
  int compared = 0;
  std::vector<Difference> differences;  // beyond the tolerance, in order of execution
  double largest = 0;
  std::vector<Extra> extra;          // outputs of one side that are none of the other
  std::optional<Difference> parted;  // where a search found the first
};

// Spreads the labels of the graph; the batch of theirs that the inputs or the name ask for.
Result<std::string> BatchFor(graph::Graph& graph, const std::vector<HostValue>& inputs,
                             const std::string& named) {
  PLIMSOLL_TRY(compile::SpreadBatchLabels(graph));
  return engine::RunBatches(graph).Choose(named, TensorsOf(inputs));
}

Result<ComparedModel> ReadCompared(const CompareArguments& options, const std::string& file) {
  PLIMSOLL_ASSIGN(const std::vector<InputArgument> arguments, ParseInputArguments(options.inputs));
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  ComparedModel model;
  model.file = file;
  PLIMSOLL_ASSIGN(model.graph, ReadModelGraph(file));
  PLIMSOLL_ASSIGN(model.inputs, MakeInputs(model.graph, arguments, shapes));
  PLIMSOLL_ASSIGN(model.batch, BatchFor(model.graph, model.inputs, options.batch));
  return model;
}

ComparedEngine EngineNamed(std::string_view name) {
  if (name == "plimsoll") return ComparedEngine::kPlimsoll;
  return name == "ort" ? ComparedEngine::kOrt : ComparedEngine::kPlain;
}

// The same inputs go into the other model, by name or, where names differ, by place.
Result<ComparedModel> OtherModel(const CompareArguments& options, const ComparedModel& model) {
  PLIMSOLL_ASSIGN(ComparedModel other, ReadCompared(options, options.against));
  if (other.inputs.size() != model.inputs.size()) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "compare.inputs",
                 .what = "cannot compare the models",
                 .where = options.against,
                 .why = StrCat("it has ", Counted(other.inputs.size(), "input"), ", ",
                               options.model, " has ", model.inputs.size()),
                 .remedy = "give models with the same inputs"};
  }
  for (size_t i = 0; i < other.inputs.size(); ++i) {
    size_t from = i;
    const auto& inputs = model.graph.root().inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const std::string& name = other.graph[other.graph.root().inputs[i]].name;
      if (model.graph[inputs[k]].name == name) from = k;
    }
    other.inputs[i] = model.inputs[from];
  }
  return other;
}

bool NamesEngine(std::string_view text) {
  return text == "ort" || text == "plain" || text == "plimsoll";
}

// Before anything is read or computed. What looks like a file is told of when it is opened.
Status CheckAgainst(const std::string& against) {
  std::error_code failed;
  const bool file = against.find_first_of("./") != std::string::npos;
  if (against.empty() || NamesEngine(against) || file || std::filesystem::exists(against, failed)) {
    return {};
  }
  return Error{.kind = ErrorKind::kUsage,
               .code = "compare.against",
               .what = "cannot compare",
               .where = StrCat("--against ", against),
               .why = "there is no such engine, model, folder of saved values or .npz",
               .remedy = "the engines are plimsoll, plain and ort (ONNX Runtime)"};
}

Result<SideValues> OtherSide(const CompareArguments& options, const ComparedModel& model) {
  if (NamesEngine(options.against)) return ComputeSide(EngineNamed(options.against), model);
  std::error_code failed;
  if (std::filesystem::is_directory(options.against, failed)) return LoadSide(options.against);
  if (options.against.ends_with(".npz")) return LoadArchive(options.against, model.graph);
  PLIMSOLL_ASSIGN(const ComparedModel other, OtherModel(options, model));
  const bool ort = options.engine == "ort";
  PLIMSOLL_ASSIGN(SideValues side,
                  ComputeSide(ort ? ComparedEngine::kOrt : ComparedEngine::kPlain, other));
  side.name = StrCat(options.against, ", ", side.name);
  return side;
}

// How far apart two values are, and whether that counts.
std::string TypeText(const kernels::HostTensor& tensor) {
  return StrCat(graph::Name(tensor.type), "[", Join(tensor.dims, ","), "]");
}

// "differs by 1e-3", or why there is no such number.
std::string HowFar(const kernels::HostTensor& got, const kernels::HostTensor& expected,
                   double distance) {
  if (got.type != expected.type || got.dims != expected.dims) {
    return StrCat("is ", TypeText(got), " and ", TypeText(expected));
  }
  return std::isfinite(distance) ? StrCat("differs by ", Rounded(distance))
                                 : "differs from zero, infinity or NaN on the other side";
}

struct Judgement {
  double distance = 0;
  bool differs = false;
  std::string how;
};
Judgement Judge(const CompareArguments& options, const kernels::HostTensor& got,
                const kernels::HostTensor& expected) {
  const double distance = RelativeDistance(got, expected);
  const bool differs =
      distance > options.tolerance && !(LargestDifference(got, expected) <= options.absolute);
  return {distance, differs, differs ? HowFar(got, expected, distance) : std::string()};
}

Comparison CompareSides(const CompareArguments& options, const SideValues& left,
                        const SideValues& right) {
  Comparison comparison;
  comparison.left = left.name;
  comparison.right = right.name;
  for (const SideValues::Value& value : left.values) {
    const SideValues::Value* const other = right.Find(value.name);
    if (value.output && (other == nullptr || !other->output)) {
      comparison.extra.push_back({value.name, left.name});
    }
    if (other == nullptr) continue;
    const Judgement judged = Judge(options, value.tensor, other->tensor);
    ++comparison.compared;
    comparison.largest = std::max(comparison.largest, judged.distance);
    if (judged.differs) {
      comparison.differences.push_back({value.name, value.node, judged.distance, judged.how});
    }
  }
  for (const SideValues::Value& value : right.values) {
    const SideValues::Value* const other = left.Find(value.name);
    if (value.output && (other == nullptr || !other->output)) {
      comparison.extra.push_back({value.name, right.name});
    }
  }
  return comparison;
}

// Of the engine that tells outputs alone: halves the values in order of execution, each time one
// more is an output, until the first that parts is found. `whole` has all values.
Status FindParting(const CompareArguments& options, const ComparedModel& model,
                   const SideValues& whole, Comparison& comparison) {
  std::vector<std::pair<graph::ValueId, const SideValues::Value*>> candidates;
  for (const SideValues::Value& value : whole.values) {
    for (size_t i = 0; i < model.graph.values.size(); ++i) {
      const graph::Value& known = model.graph.values[i];
      const bool root = known.home == graph::Graph::kRoot && known.producer.valid();
      if (root && known.name == value.name) candidates.emplace_back(graph::ValueId(i), &value);
    }
  }
  size_t low = 0;  // values before it do not part
  size_t high = candidates.size();
  ProgressLine progress(0, "looking for the node");
  while (low < high && !Interrupted()) {
    const size_t middle = low + (high - low) / 2;
    const auto& [id, expected] = candidates[middle];
    PLIMSOLL_ASSIGN(const SideValues side, ComputeSide(ComparedEngine::kPlimsoll, model, {id}));
    const SideValues::Value* const got = side.Find(expected->name);
    const Judgement judged =
        got == nullptr ? Judgement() : Judge(options, got->tensor, expected->tensor);
    if (judged.differs) {
      comparison.parted =
          Difference{expected->name, graph::Describe(model.graph, model.graph[id].producer),
                     judged.distance, judged.how};
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {};
}

Json DifferenceJson(const Difference& difference) {
  Json row{{"value", difference.value}, {"node", difference.node}};
  if (std::isfinite(difference.distance)) row["distance"] = difference.distance;
  return row;
}

Json ToJson(const CompareArguments& options, const Comparison& comparison) {
  Json json{{"file", options.model},
            {"sides", {comparison.left, comparison.right}},
            {"values_compared", comparison.compared},
            {"differences", Json::array()},
            {"extra_outputs", Json::array()}};
  if (std::isfinite(comparison.largest)) json["largest_distance"] = comparison.largest;
  for (const Difference& difference : comparison.differences) {
    json["differences"].push_back(DifferenceJson(difference));
  }
  for (const Extra& extra : comparison.extra) {
    json["extra_outputs"].push_back({{"value", extra.value}, {"side", extra.side}});
  }
  if (comparison.parted) json["first_to_part"] = DifferenceJson(*comparison.parted);
  return {{"models", Json::array({std::move(json)})}};
}

std::string ToText(const Comparison& comparison) {
  std::string text;
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(comparison.differences.size(), kShown); ++i) {
    const Difference& difference = comparison.differences[i];
    text += StrCat(difference.node, ": '", difference.value, "' ", difference.how, "\n");
  }
  if (comparison.differences.size() > kShown) {
    text += StrCat("and ", comparison.differences.size() - kShown, " more\n");
  }
  for (const Extra& extra : comparison.extra) {
    text += StrCat("extra output '", extra.value, "': only of ", extra.side, "\n");
  }
  if (comparison.parted) {
    text += StrCat("the first node that differs: ", comparison.parted->node, ", '",
                   comparison.parted->value, "' ", comparison.parted->how, "\n");
  }
  return text + StrCat(comparison.left, " against ", comparison.right, ": ",
                       Counted(static_cast<size_t>(comparison.compared), "value"), " compared, ",
                       comparison.differences.size(),
                       comparison.differences.size() == 1 ? " differs" : " differ",
                       std::isfinite(comparison.largest)
                           ? StrCat(", largest difference ", Rounded(comparison.largest))
                           : std::string(),
                       "\n");
}

Status Verdict(const CompareArguments& options, const Comparison& comparison) {
  if (!comparison.differences.empty()) {
    const Difference& first =
        comparison.parted ? *comparison.parted : comparison.differences.front();
    return Error{.kind = ErrorKind::kMismatch,
                 .code = "compare.different",
                 .what = "the two engines differ",
                 .where = first.node,
                 .why = StrCat("'", first.value, "' ", first.how),
                 .remedy = "later values differ because of the first one that does"};
  }
  if (comparison.compared > 0 || Interrupted()) return {};
  return Error{.kind = ErrorKind::kUsage,
               .code = "compare.nothing",
               .what = "nothing was compared",
               .where = StrCat(options.model, " and ", options.against),
               .why = "they have no value of the same name that can be compared",
               .remedy = "give models whose values have the same names"};
}

Status Compare(const CompareArguments& options, Answer& answer) {
  PLIMSOLL_TRY(CheckAgainst(options.against));
  PLIMSOLL_ASSIGN(const ComparedModel model, ReadCompared(options, options.model));
  const ComparedEngine engine = EngineNamed(options.engine);
  std::optional<SideValues> right;
  // Who saves and names no other side wants this one alone.
  const bool alone = !options.save.empty() && options.against.empty();
  if (!alone) {
    CompareArguments defaulted = options;
    if (defaulted.against.empty()) defaulted.against = "ort";
    PLIMSOLL_ASSIGN(SideValues other, OtherSide(defaulted, model));
    right.emplace(std::move(other));
  }
  const KnownSoFar known;
  PLIMSOLL_ASSIGN(const SideValues left, ComputeSide(engine, model));
  if (!options.save.empty() && !Interrupted()) {
    PLIMSOLL_TRY(SaveSide(options.save, left));
    if (!answer.json()) {
      answer.Print(StrCat(options.save, ": ", Counted(left.values.size(), "value"), " of ",
                          left.name, "\n"));
    }
  }
  if (alone && !answer.json()) return {};
  Comparison comparison = alone ? Comparison() : CompareSides(options, left, *right);
  comparison.left = left.name;
  const bool searches = engine == ComparedEngine::kPlimsoll && !comparison.differences.empty();
  if (searches) PLIMSOLL_TRY(FindParting(options, model, *right, comparison));
  answer.Give([&] { return ToJson(options, comparison); }, [&] { return ToText(comparison); });
  return alone ? Status() : Verdict(options, comparison);
}

}  // namespace

void AddCompare(CLI::App& program, Action& action) {
  auto options = std::make_shared<CompareArguments>();
  CommandOptions command(program, "compare",
                         "Show node by node where the results of two engines differ",
                         kCompareExamples);
  command.Required("model", options->model, "An ONNX file; -: standard input");
  command.Choice("--engine", options->engine, {"plimsoll", "plain", "ort"},
                 "The engine that computes the model: see below");
  command.Text("--against", options->against,
               "The other side: plimsoll, plain or ort (ONNX Runtime, the default), another ONNX "
               "file, a folder that --save wrote, or arrays of NumPy (.npz)");
  command.Repeated("--input", options->inputs, kInputHelp);
  command.Repeated(
      "--shape", options->shapes,
      "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text("--batch", options->batch, "The batch to run, where nodes carry batch labels");
  command.Text("--save", options->save, "A folder for the values of --engine");
  command.Real("--tolerance", options->tolerance,
               "Relative difference that still counts as equal (default 1e-4)");
  command.Real("--absolute", options->absolute,
               "Difference of an element that still counts as equal (default 1e-6)");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Compare(*options, answer); });
}

}  // namespace plimsoll::cli
