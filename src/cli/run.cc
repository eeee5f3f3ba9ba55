#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/model_inputs.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/run_measure.h"
#include "engine/mapped_pages.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using engine::Session;
using kernels::HostValue;

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::string output;
  int64_t repeat = 1;
  int64_t threads = 1;
  bool plain = false;
  bool json = false;
};

constexpr const char* kExamples = R"(
Examples:
  plimsoll run model.onnx                                  random inputs, one run
  plimsoll run model.onnx --input x=image.npy --output out the outputs as out/NAME.npy
  plimsoll run bert.onnx --shape batch=1 --shape seq=128 --repeat 20
  plimsoll run model.onnx --repeat 10 --json               latency and memory for a program

Weights that the model keeps in files beside it must be there. With one run its latency includes
nothing but the run: loading and planning come before.)";

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

// What the command tells, gathered once.
struct Measured {
  std::vector<double> latency_ms;
  bool planned = false;
  std::string reason;
  engine::GraphMemory memory;
  engine::SessionMemory session;
  engine::PoisonedRun poisoned;  // where planned
  Bytes rss_above_base;
  int64_t heap_calls = 0;
};

std::string ToJson(const Options& options, const Measured& measure) {
  nlohmann::ordered_json json{{"model", options.model},
                              {"runs", measure.latency_ms.size()},
                              {"threads", options.threads},
                              {"planned", measure.planned}};
  if (!measure.planned) json["reason"] = measure.reason;
  json["latency_ms"] = {{"p50", Percentile(measure.latency_ms, 0.5)},
                        {"p90", Percentile(measure.latency_ms, 0.9)},
                        {"p99", Percentile(measure.latency_ms, 0.99)}};
  if (measure.planned) {
    json["planned_peak_bytes"] = measure.memory.planned_peak.value();
    json["actual_peak_bytes"] = measure.poisoned.actual_peak.value();
    json["live_peak_bytes"] = measure.poisoned.live_peak.value();
    json["wrote_outside_plan"] = measure.poisoned.wrote_outside;
  }
  json["weights_bytes"] = measure.memory.weights.value();
  json["reserved_bytes"] = measure.session.feature_maps_reserved.value();
  json["rss_above_base_bytes"] = measure.rss_above_base.value();
  json["heap_calls_per_run"] = measure.heap_calls;
  return json.dump(2) + "\n";
}

std::string ToText(const Options& options, const Measured& measure,
                   const std::vector<engine::Port>& ports) {
  std::string text = StrCat(options.model, ": ", measure.latency_ms.size(), " runs, ",
                            options.threads, " threads\n");
  const auto line = [&](std::string_view name, const std::string& value) {
    text +=
        StrCat("  ", name, std::string(16 - std::min<size_t>(name.size(), 15), ' '), value, "\n");
  };
  const auto ms = [](double value) { return StrCat(std::round(value * 1000) / 1000, " ms"); };
  line("latency", StrCat(ms(Percentile(measure.latency_ms, 0.5)), " median, ",
                         ms(Percentile(measure.latency_ms, 0.99)), " p99"));
  if (measure.planned) {
    line("planned peak", FormatBytes(measure.memory.planned_peak));
    line("actual peak", FormatBytes(measure.poisoned.actual_peak));
    line("live peak", FormatBytes(measure.poisoned.live_peak));
  } else {
    line("no plan", measure.reason);
  }
  line("weights", FormatBytes(measure.memory.weights));
  line("reserved", FormatBytes(measure.session.feature_maps_reserved));
  line("resident", StrCat(FormatBytes(measure.rss_above_base), " above the empty process"));
  line("heap calls", StrCat(measure.heap_calls, " in the last run"));
  for (const engine::Port& port : ports) line("output", StrCat(port.name, " ", Text(port.type)));
  return text;
}

Status Run(const Options& options) {
  const Bytes base = engine::ResidentBytes();
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
  engine::SessionOptions session_options;
  session_options.threads = static_cast<int>(options.threads);
  session_options.load.optimise = !options.plain;
  PLIMSOLL_ASSIGN(const std::unique_ptr<Session> session, Session::Create(session_options));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
  PLIMSOLL_ASSIGN(ModelRunner runner, ModelRunner::Make(*session, id, inputs));
  const bool progress = isatty(STDERR_FILENO) != 0 && options.repeat > 1;
  for (int64_t i = 0; i < options.repeat; ++i) {
    PLIMSOLL_TRY(runner.RunOnce());
    if (progress) std::cerr << StrCat("\r\033[K", i + 1, "/", options.repeat) << std::flush;
  }
  if (progress) std::cerr << "\r\033[K" << std::flush;
  Measured measure{.latency_ms = runner.latency_ms(),
                   .planned = runner.planned(),
                   .reason = runner.reason(),
                   .memory = {},
                   .session = session->Memory(),
                   .poisoned = {},
                   .rss_above_base = engine::ResidentBytes() - base,
                   .heap_calls = runner.heap_calls()};
  PLIMSOLL_ASSIGN(measure.memory, runner.memory());
  if (runner.planned()) {
    PLIMSOLL_ASSIGN(measure.poisoned, runner.Observe());
  }
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session->Outputs(id));
  if (!options.output.empty()) PLIMSOLL_TRY(WriteOutputs(options.output, ports, runner.outputs()));
  std::cout << (options.json ? ToJson(options, measure) : ToText(options, measure, ports));
  return {};
}

}  // namespace

void AddRun(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CommandOptions command(program, "run", "Run a model inside its plan", kExamples);
  command.Required("model", options->model, "An ONNX file");
  command.List("--input", options->inputs,
               "name=file.npy, name=file.pb or name=random; repeatable");
  command.List("--shape", options->shapes,
               "Shape of an input (name=1x3x224x224) or size of a symbol (batch=4); repeatable");
  command.Text("--output", options->output, "A folder for the outputs, as NAME.npy");
  command.Whole("--repeat", options->repeat, 1, 1'000'000, "How many runs");
  command.Whole("--threads", options->threads, 1, 1024, "Threads of a run");
  command.Flag("--plain", options->plain, "Run the graph as the file has it, without passes");
  command.Json(options->json);
  WhenChosen(command, action, [options] { return Run(*options); });
}

}  // namespace plimsoll::cli
