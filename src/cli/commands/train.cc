#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/mapped_pages.h"
#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/inputs/initial_variables.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/output_file.h"
#include "cli/inputs/training_inputs.h"
#include "cli/interrupt.h"
#include "cli/program.h"
#include "cli/reports/progress_line.h"
#include "cli/reports/training_report.h"
#include "engine/variables/variable_file.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using engine::Session;
using engine::Variable;
using kernels::HostTensor;

struct TrainArguments {
  std::string model;
  int64_t steps = 1;
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::vector<std::string> initial;
  std::string variables;
  ConfigArguments config;
  std::string batch;
  std::string save;
  std::string restore;
  int64_t save_every = 0;
  bool overwrite = false;
  int64_t seed = 1;
  int64_t threads = 0;
  std::string device;
  bool json = false;
};

constexpr const char* kTrainExamples = R"(
Examples:
  plimsoll train model.onnx --steps 50 --input x=batches.npy --initial parameters=random
  plimsoll train model.onnx --steps 50 --save state.plv --save-every 10
  plimsoll train model.onnx --steps 50 --restore state.plv --save state.plv    goes on from there
  plimsoll train model.onnx --variables w=w_next,m=m_next --steps 1

The model is one whole step: loss, gradients, update. Inputs that an output
replaces are its variables, by the model's metadata 'state' or --variables;
they begin as zeros, or as the model's own constants, unless --initial or
--restore says otherwise. An array with one dimension more than its input, in
front, is a row of batches, one per step.)";

Error BadSteps(std::string where, std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = "train.steps",
               .what = "cannot train so",
               .where = std::move(where),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Status CheckSteps(const TrainArguments& options, int64_t loop) {
  if (options.steps % loop != 0) {
    return BadSteps(StrCat("--steps ", options.steps),
                    StrCat("it is not a multiple of iterations_per_loop=", loop),
                    StrCat("use a multiple of ", loop));
  }
  if (options.save_every % loop != 0) {
    return BadSteps(StrCat("--save-every ", options.save_every),
                    StrCat("the host sees the variables once every ", loop, " steps"),
                    StrCat("use a multiple of ", loop));
  }
  if (options.save_every > 0 && options.save.empty()) {
    return BadSteps("--save-every", "there is no file to save to", "give --save FILE");
  }
  if (!options.restore.empty() && !options.initial.empty()) {
    return BadSteps("--restore and --initial", "both give the variables their first values",
                    "leave one of them out");
  }
  return {};
}

// That the file of --save can be written when the steps are done, and holds nothing that they would
// destroy: another kind of file, or the state of a later step.
Status CheckSave(const TrainArguments& options, int64_t last_step) {
  if (options.save.empty()) return {};
  const auto bad = [&](std::string why, std::string remedy) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "train.save",
                 .what = "cannot save there",
                 .where = StrCat("--save ", options.save),
                 .why = std::move(why),
                 .remedy = std::move(remedy)};
  };
  if (options.save == "-") return bad("a state is kept in a file, which is read again", "name one");
  std::error_code failed;
  const std::filesystem::path file = options.save;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, failed)) {
    return bad(StrCat("there is no folder ", folder.string()), "make it, or name another file");
  }
  if (access(folder.c_str(), W_OK) != 0) {
    return bad(StrCat("the folder ", folder.string(), " cannot be written to"),
               "name a file in another folder");
  }
  if (!std::filesystem::exists(file, failed) || options.overwrite) return {};
  const auto there = engine::VariableFile::Open(options.save);
  if (!there.ok()) {
    return bad("there is a file that holds no variables",
               "name another file, or add --overwrite to replace it");
  }
  if (there->steps() <= last_step) return {};
  return bad(StrCat("the file holds the state of step ", there->steps(),
                    ", and these steps end at step ", last_step),
             "go on from it with --restore, name another file, or add --overwrite");
}

bool SameAddresses(const std::vector<Variable>& before, const std::vector<Variable>& now) {
  return std::equal(before.begin(), before.end(), now.begin(), now.end(),
                    [](const Variable& a, const Variable& b) {
                      return a.name == b.name && a.address == b.address;
                    });
}

// Runs the steps of one graph and gathers what there is to tell.
class Trainer {
 public:
  Trainer(Session& session, engine::GraphId id, TrainingInputs inputs, int64_t loop,
          std::string batch)
      : session_(session),
        id_(id),
        inputs_(std::move(inputs)),
        loop_(loop),
        batch_(std::move(batch)) {}

  Status Prepare() {
    PLIMSOLL_ASSIGN(const auto executable, session_.Compile(id_, inputs_.At(0)));
    if (executable == nullptr) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .code = "train.dynamic",
                   .what = "cannot train the model",
                   .where = "",
                   .why = "sizes in it are known only after a step",
                   .remedy = "give its inputs fixed shapes with --shape"};
    }
    PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session_.Outputs(id_));
    PLIMSOLL_ASSIGN(batch_, session_.BatchFor(id_, inputs_.At(0), batch_));
    for (const engine::Port& port : ports) {
      const graph::ValueType& type = port.type;
      if (!port.batch.empty() && port.batch != batch_) {
        written_.emplace_back();
        outputs_.emplace_back();
        continue;
      }
      if (!type.shape || !graph::IsStatic(*type.shape)) {
        return BadSteps(StrCat("output '", port.name, "'"), StrCat("it is ", Text(type)),
                        "let its shape be fixed");
      }
      PLIMSOLL_ASSIGN(HostTensor tensor,
                      kernels::AllocateOnHeap(type.data_type, graph::StaticDims(*type.shape)));
      const bool scalar = tensor.elements() == 1 && graph::IsFloating(tensor.type);
      if (scalar && told_.loss_name.empty()) {
        told_.loss_name = port.name;
        loss_ = outputs_.size();
      }
      written_.push_back({tensor.type, tensor.dims, tensor.data.get()});
      outputs_.push_back(std::move(tensor));
    }
    told_.variables = session_.variables().List();
    told_.loop = loop_;
    return {};
  }

  Status RunLoop() {
    const int64_t before = session_.variables().steps();
    engine::RunOptions options;
    options.batch = batch_;
    options.feed = [&](int64_t step) -> Result<std::span<const TensorView>> {
      return inputs_.At(before + step);
    };
    const auto begin = std::chrono::steady_clock::now();
    PLIMSOLL_TRY(session_.Run(id_, {}, written_, options));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    told_.step_ms.push_back(took.count() / static_cast<double>(loop_));
    told_.at_step.push_back(before + loop_);
    told_.resident.push_back(ResidentBytes().value());
    if (!told_.loss_name.empty()) {
      const HostTensor& loss = outputs_[loss_];
      told_.losses.push_back(kernels::LoadDouble(loss.type, loss.data.get(), 0));
    }
    return {};
  }

  // `base`: resident before the model was read.
  Result<TrainingReport> Finish(Bytes base) {
    const engine::Variables& variables = session_.variables();
    told_.addresses_kept = SameAddresses(told_.variables, variables.List());
    told_.variables_bytes = variables.bytes();
    told_.variables_reserved = variables.reserved();
    PLIMSOLL_ASSIGN(told_.updates, session_.Updates(id_));
    PLIMSOLL_ASSIGN(told_.memory, session_.Memory(id_));
    Bytes caller;
    for (const TensorView& tensor : inputs_.At(0)) caller += tensor.size();
    for (const TensorView& tensor : written_) caller += tensor.size();
    told_.table = MeasuredMemory(session_.Memory(), caller, base, ResidentBytes());
    return std::move(told_);
  }

 private:
  Session& session_;
  engine::GraphId id_;
  TrainingInputs inputs_;
  int64_t loop_;
  std::string batch_;  // empty: the graph has none
  std::vector<HostTensor> outputs_;
  std::vector<TensorView> written_;
  size_t loss_ = 0;
  TrainingReport told_;
};

// The command trains, whatever is the default elsewhere; who asks for inference gets an error.
Result<engine::SessionOptions> OptionsOf(const TrainArguments& options) {
  PLIMSOLL_ASSIGN(const config::EffectiveConfig configured, ResolveArguments(options.config));
  const config::EffectiveValue& mode = configured.of("graph_run_mode");
  if (!configured.config.training) {
    return BadSteps(StrCat("graph_run_mode=", mode.value, " (", config::OriginText(mode), ")"),
                    "that is inference", "leave it out, or use 'plimsoll run'");
  }
  engine::SessionOptions session_options;
  session_options.device_name = options.device;
  session_options.threads = ThreadsOf(options.threads);
  session_options.config = configured.config;
  return session_options;
}

// What was learnt until Ctrl-C goes where the last step's would have gone, unless a later state is
// there.
Status SaveInterrupted(const TrainArguments& options, Session& session) {
  if (options.save.empty()) return {};
  PLIMSOLL_TRY(CheckSave(options, session.variables().steps()));
  return session.variables().Save(LinkTarget(options.save));
}

Status Train(const TrainArguments& options, Answer& answer) {
  const Bytes base = ResidentBytes();
  PLIMSOLL_ASSIGN(const auto arguments, ParseInputArguments(options.inputs));
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(const engine::SessionOptions session_options, OptionsOf(options));
  const int64_t loop = session_options.config.iterations_per_loop;
  PLIMSOLL_TRY(CheckSteps(options, loop));
  PLIMSOLL_ASSIGN(graph::Graph graph, ReadModelGraph(options.model));
  std::vector<engine::VariableName> names;
  if (options.variables.empty()) {
    PLIMSOLL_ASSIGN(names, engine::VariablesInMetadata(graph));
  } else {
    PLIMSOLL_ASSIGN(names, engine::ParseVariables(options.variables));
  }
  if (names.empty()) {
    return BadSteps(options.model, "it names no variables in its metadata 'state'",
                    "name them with --variables input=output,...");
  }
  if (std::none_of(names.begin(), names.end(),
                   [](const engine::VariableName& name) { return !name.output.empty(); })) {
    return BadSteps(options.variables.empty() ? options.model : "--variables " + options.variables,
                    "no output replaces a variable, so that no step would change anything",
                    "name the outputs too: input=output,...");
  }
  PLIMSOLL_ASSIGN(TrainingInputs inputs,
                  TrainingInputs::Make(WithoutVariables(graph, names), arguments, shapes,
                                       {.seed = options.seed}));
  const bool overwritten = !session_options.config.input_reuse_mem_indexes.empty();
  if (overwritten) PLIMSOLL_TRY(inputs.CopyForEachStep());
  PLIMSOLL_ASSIGN(const std::unique_ptr<Session> session, Session::Create(session_options));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph), names));
  PLIMSOLL_TRY(SetInitialVariables(*session, names, options.initial));
  if (!options.restore.empty()) PLIMSOLL_TRY(session->variables().Restore(options.restore));
  const int64_t begin = session->variables().steps();
  Trainer trainer(*session, id, std::move(inputs), loop, options.batch);
  PLIMSOLL_TRY(trainer.Prepare());
  PLIMSOLL_TRY(CheckSave(options, begin + options.steps));
  Status failed;
  std::optional<KnownSoFar> known;  // once a step is done
  std::optional<ProgressLine> progress(std::in_place, options.steps / loop,
                                       loop == 1 ? "step" : "loop");
  for (int64_t done = loop; done <= options.steps; done += loop) {
    progress->Begin();
    failed = trainer.RunLoop();
    if (!known) known.emplace();
    if (Interrupted() && done < options.steps) {
      if (failed.ok()) failed = SaveInterrupted(options, *session);
      break;
    }
    const bool last = done == options.steps;
    const bool save = last || (options.save_every > 0 && done % options.save_every == 0);
    if (failed.ok() && save && !options.save.empty()) {
      failed = session->variables().Save(LinkTarget(options.save));
    }
    if (!failed.ok()) break;
  }
  progress.reset();
  PLIMSOLL_ASSIGN(TrainingReport report, trainer.Finish(base));
  report.model = options.model;
  report.steps = options.steps;
  report.steps_done = session->variables().steps() - begin;
  report.threads = session_options.threads;
  // What was learnt before a failure is told all the same.
  if (report.steps_done > 0) {
    answer.Give([&] { return TrainingJson(report); }, [&] { return TrainingText(report); });
  }
  return failed;
}

}  // namespace

void AddTrain(CLI::App& program, Action& action) {
  auto options = std::make_shared<TrainArguments>();
  options->config.trains = true;
  CommandOptions command(program, "train", "Run training steps with variables kept in place",
                         kTrainExamples);
  command.Required("model", options->model, "An ONNX file; -: standard input");
  command.Whole("--steps", options->steps, 1, 1'000'000'000,
                "How many steps, counted from the restored state");
  command.Repeated("--input", options->inputs, kInputHelp);
  command.Whole("--seed", options->seed, 0, 4294967295, "Seed of random inputs");
  command.Repeated(
      "--shape", options->shapes,
      "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Repeated("--initial", options->initial,
                   "First values: name=file.npy, name=random, or a folder of NAME.npy; repeatable");
  command.Text("--variables", options->variables,
               "input=output,...: inputs that are kept from step to step, and the outputs that "
               "become their next values; in place of the model's metadata");
  command.Text("--batch", options->batch, "The batch to run, where nodes carry batch labels");
  command.Text("--save", options->save, "A file for the variables, written at the end");
  command.Whole("--save-every", options->save_every, 0, 1'000'000'000,
                "Save after every so many steps as well; 0: at the end alone");
  command.Flag("--overwrite", options->overwrite,
               "Let --save replace the state of a later step, or another file");
  command.Text("--restore", options->restore,
               "A file of --save: begin with its variables and its step");
  command.Threads(options->threads, "Threads of a step");
  command.Text("--device", options->device, kDeviceHelp);
  AddConfigArguments(command, options->config);
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Train(*options, answer); });
}

}  // namespace plimsoll::cli
