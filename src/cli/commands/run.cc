#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/mapped_pages.h"
#include "cli/commands/config_arguments.h"
#include "cli/commands/limit.h"
#include "cli/commands/options.h"
#include "cli/inputs/initial_variables.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/model_inputs.h"
#include "cli/inputs/npy.h"
#include "cli/interrupt.h"
#include "cli/peer/run_measure.h"
#include "cli/program.h"
#include "cli/reports/clearing_report.h"
#include "cli/reports/model/weight_forms.h"
#include "cli/reports/progress_line.h"
#include "cli/reports/run_report.h"
#include "cli/reports/text_table.h"
#include "cli/session_plan.h"
#include "compile/passes/bodies.h"
#include "engine/api/port_tensors.h"
#include "engine/debug/dump_file.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using engine::Session;
using kernels::HostValue;

struct RunArguments {
  std::vector<std::string> models;
  ConfigArguments config;
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::string variables;
  std::string output;
  std::string batch;
  std::string limit;
  std::string weights;
  int64_t repeat = 1;
  int64_t seed = 1;
  std::string normalize = "unit";
  int64_t threads = 0;
  bool pin_threads = false;
  std::string device;
  std::string profile;
  bool by_operator = false;
  bool plain = false;
  bool json = false;
};

constexpr const char* kRunExamples = R"(
Examples:
  plimsoll run model.onnx                                    random inputs, one run
  plimsoll run model.onnx --input x=image.npy --output out   the outputs as out/NAME.npy
  plimsoll run model.onnx --input x=photo.png --normalize imagenet
  plimsoll run model.onnx --input inputs.npz --input rate=16000
  plimsoll run bert.onnx --shape batch=1 --shape seq=128 --repeat 20
  plimsoll run model.onnx --repeat 10 --json                 latency and memory for a program
  plimsoll run a.onnx b.onnx c.onnx --policy 2               three models in the memory of the largest
  plimsoll run model.onnx --limit 512MiB                     refused where it would take more
  plimsoll run labelled.onnx --batch b1                      nodes labelled b1 and nodes without label
  plimsoll run model.onnx --repeat 5 --profile prof          tables of memory, a trace, a page
  plimsoll run model.onnx --repeat 20 --by-operator          where the time goes, operator by operator

Weights that the model keeps in files next to it must be there. With one run
its latency includes nothing but the run: loading and planning come before.)";

std::string FileName(const std::string& port) {
  std::string name = port;
  for (char& letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                       letter == '-' || letter == '_';
    if (!plain) letter = '_';
  }
  return name + ".npy";
}

Status WriteOutputs(const std::string& folder, const std::vector<engine::Port>& ports,
                    const std::vector<HostValue>& outputs) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (size_t i = 0; i < ports.size(); ++i) {
    if (outputs[i].kind != HostValue::Kind::kTensor) continue;
    PLIMSOLL_TRY(
        WriteNpy(std::filesystem::path(folder) / FileName(ports[i].name), outputs[i].tensor));
  }
  return {};
}

// Those inputs that the model has.
std::vector<InputArgument> KnownInputs(const graph::Graph& graph,
                                       const std::vector<InputArgument>& arguments) {
  std::vector<InputArgument> known;
  for (const InputArgument& argument : arguments) {
    for (const graph::ValueId input : graph.root().inputs) {
      if (graph[input].name == argument.name) known.push_back(argument);
    }
  }
  return known;
}

// One model and what it is run over, before a session holds it.
struct PreparedModel {
  std::string name;
  graph::Graph graph;
  std::shared_ptr<const engine::CompiledFile> compiled;  // null: from an ONNX file
  std::vector<engine::VariableName> variables;
  std::vector<std::string> initial;  // of these
  std::vector<HostValue> inputs;
};

// What the caller gets.
Bytes OutputBytes(const engine::Executable& executable) {
  const graph::Graph& compiled = executable.model().graph;
  const std::vector<bool> replaces = engine::ReplacesVariable(executable);
  Bytes bytes;
  for (size_t i = 0; i < replaces.size(); ++i) {
    const graph::ValueType& type = compiled[compiled.root().outputs[i]].type;
    if (!replaces[i]) bytes += compile::PlannedSize(type);
  }
  return bytes;
}

// Every model in one session, ready to run.
class Runs {
 public:
  explicit Runs(const config::RunConfig& config)
      : training_(config.training),
        open_shapes_(config.compile_dynamic_mode || config.dynamic_inputs_shape_range) {}

  // With one model every argument must be one of its inputs; with several, of some of them.
  Status Prepare(const RunArguments& options, const std::string& model) {
    PLIMSOLL_ASSIGN(std::vector<InputArgument> arguments, ParseInputArguments(options.inputs));
    InputSettings settings{.seed = options.seed};
    PLIMSOLL_ASSIGN(settings.normalization, ParseNormalization(options.normalize));
    PLIMSOLL_ASSIGN(ModelFile file, ReadModelFile(model));
    std::vector<compile::ShapeArgument> shapes;
    for (const std::string& text : file.ShapesOr(options.shapes)) {
      PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(text));
      shapes.push_back(std::move(shape));
    }
    PreparedModel made;
    made.name = model;
    made.graph = std::move(file.graph);
    made.compiled = std::move(file.compiled);
    if (options.models.size() > 1) {
      arguments = KnownInputs(made.graph, arguments);
      shapes = KnownArguments(made.graph, shapes);
    }
    PLIMSOLL_ASSIGN(made.variables, VariablesOf(options.variables, training_, made.graph));
    made.initial = TakeInitial(made.variables, arguments);
    graph::Graph sized = WithoutVariables(made.graph, made.variables);
    if (open_shapes_) OpenShapes(sized, shapes);
    PLIMSOLL_ASSIGN(made.inputs, MakeInputs(sized, arguments, shapes, settings));
    prepared_.push_back(std::move(made));
    return {};
  }

  // That each argument is of some model. One model has refused what it does not have by now.
  Status CheckNames(const RunArguments& options) const {
    if (prepared_.size() == 1) return {};
    std::vector<const graph::Graph*> graphs;
    for (const PreparedModel& model : prepared_) graphs.push_back(&model.graph);
    PLIMSOLL_ASSIGN(const auto arguments, ParseInputArguments(options.inputs));
    std::vector<std::string> inputs;
    for (const InputArgument& one : arguments) inputs.push_back(StrCat(one.name, "=", one.source));
    return CheckEachIsKnown(graphs, inputs, options.shapes);
  }

  // Refuses a session that would take more than the limit, before it takes anything.
  Result<MemoryTable> CheckLimit(const engine::SessionOptions& session, Bytes limit) const {
    PLIMSOLL_ASSIGN(SessionPlan plan, SessionPlan::Make(session));
    std::vector<std::string> names;
    Bytes made;  // outputs
    for (const PreparedModel& model : prepared_) {
      names.push_back(model.name);
      const std::vector<TensorView> inputs = TensorsOf(model.inputs);
      PLIMSOLL_ASSIGN(const SessionPlan::Model planned,
                      plan.Add(model.graph, model.variables, inputs));
      if (planned.executable != nullptr) made += OutputBytes(*planned.executable);
    }
    if (!plan.reason().empty()) return LimitUnknown(Join(names, ", "), plan.reason());
    const engine::DeviceBytes device = plan.memory().device;
    if (device.total() <= limit) {
      GiveBackFreedHeap();
      Bytes given;
      for (const PreparedModel& model : prepared_) given += BytesOf(model.inputs);
      return PredictedMemory(plan.memory(), given + made, ResidentBytes() - given);
    }
    return AboveLimit(Join(names, ", "), device, limit, "",
                      "plimsoll plan with this limit tells what would help");
  }

  // A batch is named for those that have batches.
  Status Load(const RunArguments& options, Session& session) {
    for (PreparedModel& model : std::exchange(prepared_, {})) {
      std::optional<LastWords> so_far;
      if (!options.json) {
        so_far.emplace(StrCat(model.name, ": ", Counted(model.graph.nodes.size(), "node"),
                              " read, not run yet\n"));
      }
      if (model.compiled != nullptr) session.Serve(model.compiled);
      PLIMSOLL_ASSIGN(const engine::GraphId id,
                      session.Add(std::move(model.graph), model.variables));
      PLIMSOLL_TRY(SetInitialVariables(session, model.variables, model.initial));
      PLIMSOLL_ASSIGN(const std::vector<std::string> batches, session.Batches(id));
      const bool named = options.models.size() == 1 || !batches.empty();
      PLIMSOLL_ASSIGN(ModelRunner runner, ModelRunner::Make(session, id, std::move(model.inputs),
                                                            named ? options.batch : ""));
      PLIMSOLL_ASSIGN(std::vector<engine::Port> ports, session.Outputs(id));
      PLIMSOLL_ASSIGN(std::vector<engine::Port> input_ports, session.Inputs(id));
      models_.push_back(
          {std::move(model.name), std::move(runner), std::move(ports), std::move(input_ports)});
    }
    return {};
  }

  // Takes the arguments that are first values of variables out of the list.
  static std::vector<std::string> TakeInitial(const std::vector<engine::VariableName>& names,
                                              std::vector<InputArgument>& arguments) {
    std::vector<std::string> initial;
    std::erase_if(arguments, [&](const InputArgument& argument) {
      const bool variable = std::any_of(
          names.begin(), names.end(),
          [&](const engine::VariableName& name) { return name.input == argument.name; });
      if (variable) initial.push_back(StrCat(argument.name, "=", argument.source));
      return variable;
    });
    return initial;
  }

  // Each model in turn, again and again.
  Status RunAll(int64_t repeat) {
    std::vector<std::optional<ProgramWaterline>> waterlines(models_.size());
    ProgressLine progress(repeat * std::ssize(models_));
    for (size_t i = 0; i < models_.size(); ++i) {
      if (models_[i].runner.planned()) waterlines[i] = WaterlineOf(models_[i].runner.executable());
      models_[i].runner.TellTask(progress.task());
    }
    for (int64_t i = 0; i < repeat && !Interrupted(); ++i) {
      for (size_t k = 0; k < models_.size(); ++k) {
        progress.Begin(waterlines[k] ? &*waterlines[k] : nullptr);
        if (i + 1 == repeat) PLIMSOLL_TRY(models_[k].runner.KeepVariables());
        PLIMSOLL_TRY(models_[k].runner.RunOnce());
      }
      if (!known_) known_.emplace();
    }
    for (Model& model : models_) model.runner.TellTask(nullptr);
    return {};
  }

  // Looks at each plan once more, in a poisoned run.
  Result<std::vector<ModelRun>> Tell() {
    std::vector<ModelRun> told;
    for (Model& model : models_) {
      ModelRun run{.model = model.name,
                   .latency_ms = model.runner.latency_ms(),
                   .planned = model.runner.planned(),
                   .reason = model.runner.reason(),
                   .memory = {},
                   .poisoned = {},
                   .last_run = {},
                   .clearing = {},
                   .inputs = model.input_ports,
                   .heap_calls = model.runner.heap_calls(),
                   .caller = model.runner.CallersBytes(),
                   .outputs = model.ports,
                   .batch = model.runner.batch(),
                   .not_made = {},
                   .made = {}};
      for (const engine::Port& port : model.ports) {
        if (!model.runner.Makes(port)) run.not_made.push_back(port.name);
      }
      for (size_t i = 0; i < model.ports.size(); ++i) {
        if (!model.runner.Makes(model.ports[i])) continue;
        run.made.push_back(SummaryOf(model.ports[i].name, model.runner.outputs()[i]));
      }
      PLIMSOLL_ASSIGN(run.memory, model.runner.memory());
      if (run.planned) {
        PLIMSOLL_ASSIGN(run.last_run, model.runner.last_run());
        PLIMSOLL_ASSIGN(run.poisoned, model.runner.Observe());
        PLIMSOLL_ASSIGN(run.clearing, CompareClearing(model.runner.executable().model()));
      }
      told.push_back(std::move(run));
    }
    return told;
  }

  // As FOLDER/NAME.npy; with several models as FOLDER/MODEL/NAME.npy, where the second of a name is
  // MODEL.1.
  Status Write(const std::filesystem::path& folder) const {
    engine::UnusedNames names;
    for (const Model& model : models_) {
      const std::string stem = std::filesystem::path(model.name).stem().string();
      const auto place = models_.size() == 1 ? folder : folder / names.Take(stem);
      PLIMSOLL_TRY(WriteOutputs(place, model.ports, model.runner.outputs()));
    }
    return {};
  }

 private:
  struct Model {
    std::string name;
    ModelRunner runner;
    std::vector<engine::Port> ports;
    std::vector<engine::Port> input_ports;
  };

  const bool training_;
  const bool open_shapes_;
  std::vector<PreparedModel> prepared_;
  std::vector<Model> models_;
  std::optional<KnownSoFar> known_;  // once each has run
};

// The recorder of --profile and --by-operator, where one of them is given: with what
// profiling_config says of it.
Result<std::shared_ptr<engine::SessionProfile>> ProfileFor(const RunArguments& options,
                                                           config::ProfilingSettings& configured) {
  std::shared_ptr<engine::SessionProfile> profile;
  if (options.profile.empty() && !options.by_operator) return profile;
  PLIMSOLL_ASSIGN(engine::ProfileOptions settings, engine::ParseProfileOptions(configured.options));
  if (!options.profile.empty()) settings.folder = options.profile;
  configured.enabled = false;  // it is written here
  profile = std::make_shared<engine::SessionProfile>(settings);
  return profile;
}

Status TellProfile(const RunArguments& options, engine::SessionProfile& profile,
                   RunReport& report) {
  report.recorded_counters = profile.recorder()->counters();
  if (!profile.recorder()->recording()) return {};
  const profile::Recording recording = profile.Take();
  PLIMSOLL_ASSIGN(const MachineSpeed machine, MeasureMachineSpeed(ThreadsOf(options.threads)));
  if (!options.profile.empty()) {
    PLIMSOLL_ASSIGN(report.profile, profile.Write(recording, {.machine = machine}));
  }
  if (options.by_operator) report.by_operator = {machine, TimesByOperator(recording, machine)};
  return {};
}

Status Run(const RunArguments& options, Answer& answer) {
  const Bytes base = ResidentBytes();
  PLIMSOLL_ASSIGN(const config::EffectiveConfig configured, ResolveArguments(options.config));
  engine::SessionOptions session_options;
  session_options.device_name = options.device;
  session_options.threads = ThreadsOf(options.threads);
  session_options.pin_threads = options.pin_threads;
  session_options.load.optimise = !options.plain;
  session_options.load.weight_forms = ParseWeightForms(options.weights);
  session_options.load.trades_memory = options.limit.empty();
  session_options.config = configured.config;
  PLIMSOLL_ASSIGN(session_options.profile, ProfileFor(options, session_options.config.profiling));
  RunReport report;
  PLIMSOLL_ASSIGN(report.limit, ParseLimit(options.limit));
  Runs runs(configured.config);
  for (const std::string& model : options.models) PLIMSOLL_TRY(runs.Prepare(options, model));
  PLIMSOLL_TRY(runs.CheckNames(options));
  if (report.limit) {
    PLIMSOLL_ASSIGN(report.predicted, runs.CheckLimit(session_options, *report.limit));
  }
  PLIMSOLL_ASSIGN(const std::unique_ptr<Session> session, Session::Create(session_options));
  if (session_options.profile != nullptr) session_options.profile->Start();
  PLIMSOLL_TRY(runs.Load(options, *session));
  report.threads = session_options.threads;
  report.policy = static_cast<int>(configured.config.memory_config.static_memory_policy);
  report.load_peak_above_base = PeakResidentBytes() - base;
  PLIMSOLL_TRY(runs.RunAll(options.repeat));
  report.base = base;
  report.resident_above_base = ResidentBytes() - base;
  report.session = session->Memory();
  if (session_options.profile != nullptr) {
    PLIMSOLL_TRY(TellProfile(options, *session_options.profile, report));
  }
  PLIMSOLL_ASSIGN(report.models, runs.Tell());
  if (!options.output.empty()) PLIMSOLL_TRY(runs.Write(options.output));
  answer.Give([&] { return RunJson(report); }, [&] { return RunText(report); });
  return {};
}

}  // namespace

void AddRun(CLI::App& program, Action& action) {
  auto options = std::make_shared<RunArguments>();
  CommandOptions command(program, "run", "Run models inside their plans", kRunExamples);
  command.RequiredList("model", options->models,
                       "ONNX files, or files of plimsoll compile; several share one session");
  command.Repeated("--input", options->inputs, kInputHelp);
  command.Whole("--seed", options->seed, 0, 4294967295, "Seed of random inputs");
  command.Text("--normalize", options->normalize,
               "Scale of pictures: unit (0 to 1), signed (-1 to 1), bytes (0 to 255), imagenet, or "
               "MEAN,...:DEVIATION,...");
  command.Repeated(
      "--shape", options->shapes,
      "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text(
      "--variables", options->variables,
      "input=output,...: inputs that are kept from run to run, and the outputs that become "
      "their next values");
  command.Text("--batch", options->batch,
               "The batch to run, where nodes carry batch labels (plimsoll.batch_label)");
  command.Text("--output", options->output, "A folder for the outputs, as NAME.npy");
  command.Whole("--repeat", options->repeat, 1, 1'000'000, "How many runs");
  command.Threads(options->threads, "Threads of a run");
  command.Flag("--pin-threads", options->pin_threads, kPinThreadsHelp);
  command.Text("--device", options->device, kDeviceHelp);
  command.Text("--limit", options->limit,
               "A size such as 512MiB: exit with 3, before anything is taken, when more is needed");
  command.Choice("--weights", options->weights, {"packed", "smaller", "plain"}, kWeightsHelp);
  command.Text("--profile", options->profile,
               "A folder for what runs did to memory: tables, a trace, a snapshot, a page");
  command.Flag("--by-operator", options->by_operator,
               "Time, bytes and share of the machine's roofline, operator by operator");
  command.Flag("--plain", options->plain, "Run the graph as the file has it, without passes");
  AddConfigArguments(command, options->config);
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Run(*options, answer); });
}

}  // namespace plimsoll::cli
