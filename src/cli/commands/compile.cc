#include <memory>
#include <optional>

#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/model_inputs.h"
#include "cli/inputs/output_file.h"
#include "cli/interrupt.h"
#include "cli/peer/run_measure.h"
#include "cli/program.h"
#include "cli/reports/model/weight_forms.h"
#include "cli/reports/progress_line.h"
#include "cli/reports/text_table.h"
#include "engine/cache/compiled_file.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

struct CompileArguments {
  std::string model;
  std::string output;
  std::vector<std::string> shapes;
  std::string weights;
  int64_t threads = 0;
  ConfigArguments config;
  bool json = false;
};

constexpr const char* kCompileExamples = R"(
Examples:
  plimsoll compile model.onnx -o model.plm
  plimsoll compile bert.onnx --shape batch=1 --shape seq=128 --threads 4 -o bert.plm
  plimsoll run model.plm                             starts without searches and packing
  plimsoll bench model.plm

The file holds the model with its weights, the orders and plans that were
searched for and the weights in the forms that kernels read. It is for this
build and this processor; others refuse it (exit code 4). What was compiled for
other shapes, threads or options than a run has is made again.)";

// Compiles into the file that is being written.
Status CompileInto(const CompileArguments& options, engine::CompiledFileWriter& writer,
                   const std::shared_ptr<engine::CacheSink>& sink) {
  PLIMSOLL_ASSIGN(const config::EffectiveConfig configured, ResolveArguments(options.config));
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(graph::Graph graph, ReadModelGraph(options.model));
  PLIMSOLL_ASSIGN(const std::vector<kernels::HostValue> inputs, MakeInputs(graph, {}, shapes));
  std::optional<LastWords> so_far;
  if (!options.json) {
    so_far.emplace(StrCat(options.model, ": ", Counted(graph.nodes.size(), "node"),
                          " read, not compiled yet; no file is written\n"));
  }
  engine::SessionOptions session_options;
  session_options.threads = ThreadsOf(options.threads);
  session_options.load.weight_forms = ParseWeightForms(options.weights);
  session_options.config = configured.config;
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create(session_options));
  session->TellOf(sink);
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
  std::string reason;
  PLIMSOLL_ASSIGN(const auto executable, session->Compile(id, TensorsOf(inputs), &reason));
  if (executable == nullptr) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .code = "compile.dynamic",
                 .what = "cannot compile the model",
                 .where = options.model,
                 .why = reason,
                 .remedy = "run it as it is: what can be planned of it is, while it runs"};
  }
  return writer.Finish(options.model, options.shapes);
}

Status Compile(const CompileArguments& options, Answer& answer) {
  if (options.output == "-") {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "compile.output",
                 .what = "cannot write the compiled model",
                 .where = "standard output",
                 .why = "its parts are written where they belong, not one behind the other",
                 .remedy = "name a file with -o"};
  }
  PLIMSOLL_ASSIGN(const std::shared_ptr<engine::CompiledFileWriter> writer,
                  engine::CompiledFileWriter::Begin(LinkTarget(options.output)));
  std::optional<ProgressLine> progress(std::in_place, 0, "compiling");
  PLIMSOLL_TRY(CompileInto(options, *writer, writer));
  progress.reset();
  const Bytes size(static_cast<int64_t>(writer->size()));
  answer.Give(
      [&] {
        Json model{{"file", options.output},
                   {"source", options.model},
                   {"bytes", size.value()},
                   {"parts", writer->entries()}};
        return Json{{"models", Json::array({std::move(model)})}};
      },
      [&] {
        return StrCat(options.output, ": ", FormatBytes(size), ", compiled for ",
                      options.shapes.empty() ? "" : Join(options.shapes, ", ") + ", ",
                      Counted(static_cast<size_t>(ThreadsOf(options.threads)), "thread"), "\n");
      });
  return {};
}

}  // namespace

void AddCompile(CLI::App& program, Action& action) {
  auto options = std::make_shared<CompileArguments>();
  CommandOptions command(program, "compile", "Compile a model into a file that starts at once",
                         kCompileExamples);
  command.Required("model", options->model, "An ONNX file; -: standard input");
  command.Required("-o,--output", options->output,
                   "The file of the compiled model, such as model.plm");
  command.Repeated(
      "--shape", options->shapes,
      "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Choice("--weights", options->weights, {"packed", "smaller", "plain"}, kWeightsHelp);
  command.Threads(options->threads, "Threads of the run compiled for");
  AddConfigArguments(command, options->config);
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Compile(*options, answer); });
}

}  // namespace plimsoll::cli
