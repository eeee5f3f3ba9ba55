#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/mapped_pages.h"
#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/inputs/model_inputs.h"
#include "cli/peer/distance.h"
#include "cli/peer/ort_peer.h"
#include "cli/peer/run_measure.h"
#include "cli/program.h"
#include "cli/reports/latency_json.h"
#include "cli/reports/memory_table.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using kernels::HostValue;

struct BenchArguments {
  std::vector<std::string> models;
  std::vector<std::string> shapes;
  std::string against;
  std::string batch;
  int64_t repeat = 10;
  int64_t threads = 1;
  std::string device;
  bool json = false;
};

constexpr const char* kBenchExamples = R"(
Examples:
  plimsoll bench resnet50.onnx
  plimsoll bench resnet50.onnx bert.onnx --against ort --repeat 20
  plimsoll bench bert.onnx --shape batch=1 --shape seq=128 --against ort --json

Runs take turns, ours and the peer's, so that both meet the same machine; the ratio is the median
of ours over the median of theirs, and its spread is the range of the ratio over the middle half of
the turns. ONNX Runtime is the Python package of that name, in PLIMSOLL_PYTHON or python3.)";

struct Row {
  std::string model;
  std::vector<double> latency_ms;
  Bytes resident;  // ours, after the runs
  engine::GraphMemory memory;
  MemoryTable table;
  struct Peer {
    std::string version;
    std::vector<double> latency_ms;
    double ratio = 0;
    double spread_low = 0;
    double spread_high = 0;
    Bytes resident;
    double distance = 0;  // relative L2 between the outputs
  };
  std::optional<Peer> peer;
};

double Geometric(const std::vector<Row>& rows, const std::function<double(const Row&)>& of) {
  double sum = 0;
  for (const Row& row : rows) sum += std::log(of(row));
  return std::exp(sum / static_cast<double>(rows.size()));
}

double Median(const std::vector<double>& values) { return Percentile(values, 0.5); }

// The first run warms up and does not count.
std::vector<double> AfterWarmUp(const ModelRunner& runner) {
  return {runner.latency_ms().begin() + 1, runner.latency_ms().end()};
}

Status Race(OrtPeer& peer, ModelRunner& ours, int64_t repeat,
            const std::vector<engine::Port>& ports, Row& row) {
  std::vector<double> theirs;
  std::vector<double> ratios;
  PLIMSOLL_TRY(peer.RunOnce().status());
  for (int64_t i = 0; i < repeat; ++i) {
    PLIMSOLL_TRY(ours.RunOnce());
    PLIMSOLL_ASSIGN(const double their, peer.RunOnce());
    theirs.push_back(their);
    ratios.push_back(ours.latency_ms().back() / their);
  }
  Row::Peer& result = row.peer.emplace();
  result.latency_ms = theirs;
  result.ratio = Median(AfterWarmUp(ours)) / Median(theirs);
  result.spread_low = Percentile(ratios, 0.25);
  result.spread_high = Percentile(ratios, 0.75);
  PLIMSOLL_ASSIGN(result.version, peer.Version());
  PLIMSOLL_ASSIGN(result.resident, peer.ResidentAboveBase());
  PLIMSOLL_ASSIGN(const auto outputs, peer.Outputs());
  for (const OrtPeer::Named& output : outputs) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].name != output.name || !ours.Makes(ports[i])) continue;
      result.distance =
          std::max(result.distance, RelativeDistance(ours.outputs()[i].tensor, output.tensor));
    }
  }
  return {};
}

Result<Row> BenchOne(const std::string& model, const BenchArguments& options,
                     const std::vector<compile::ShapeArgument>& shapes) {
  Row row;
  row.model = model;
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(model));
  std::vector<compile::ShapeArgument> known = KnownArguments(graph, shapes);
  PLIMSOLL_ASSIGN(const std::vector<HostValue> inputs, MakeInputs(graph, {}, known));
  OrtPeer::Settings settings{.model = model, .names = {}, .inputs = inputs};
  settings.threads = static_cast<int>(options.threads);
  for (const graph::ValueId input : graph.root().inputs) {
    settings.names.push_back(graph[input].name);
  }
  std::optional<OrtPeer> peer;
  if (options.against == "ort") {
    PLIMSOLL_ASSIGN(OrtPeer started, OrtPeer::Start(settings));
    peer.emplace(std::move(started));
  }
  const Bytes base = ResidentBytes();
  engine::SessionOptions session_options;
  session_options.device_name = options.device;
  session_options.threads = settings.threads;
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create(session_options));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session->Outputs(id));
  PLIMSOLL_ASSIGN(ModelRunner runner, ModelRunner::Make(*session, id, inputs, options.batch));
  PLIMSOLL_TRY(runner.RunOnce());
  if (peer) {
    PLIMSOLL_TRY(Race(*peer, runner, options.repeat, ports, row));
  } else {
    for (int64_t i = 0; i < options.repeat; ++i) PLIMSOLL_TRY(runner.RunOnce());
  }
  row.latency_ms = AfterWarmUp(runner);
  row.resident = ResidentBytes() - base;
  PLIMSOLL_ASSIGN(row.memory, runner.memory());
  row.table = MeasuredMemory(session->Memory(), runner.CallersBytes(), base, ResidentBytes());
  return row;
}

Json ToJson(const std::vector<Row>& rows) {
  Json json = {{"models", Json::array()}};
  for (const Row& row : rows) {
    Json one{{"file", row.model},
             {"runs", row.latency_ms.size()},
             {"latency_ms", LatencyJson(row.latency_ms)},
             {"resident_above_base_bytes", row.resident.value()},
             {"planned_peak_bytes", row.memory.planned_peak.value()},
             {"memory", MemoryJson({.measured = row.table})}};
    if (row.peer) {
      one["peer"] = {{"name", "onnxruntime"},
                     {"version", row.peer->version},
                     {"latency_ms", LatencyJson(row.peer->latency_ms)},
                     {"ratio", row.peer->ratio},
                     {"ratio_spread", {row.peer->spread_low, row.peer->spread_high}},
                     {"resident_above_base_bytes", row.peer->resident.value()},
                     {"output_distance", row.peer->distance}};
    }
    json["models"].push_back(std::move(one));
  }
  if (!rows.empty() && rows[0].peer) {
    json["ratio_geomean"] = Geometric(rows, [](const Row& row) { return row.peer->ratio; });
    json["memory_geomean"] = Geometric(rows, [](const Row& row) {
      return static_cast<double>(row.resident.value()) /
             static_cast<double>(row.peer->resident.value());
    });
  }
  return json;
}

std::string Rounded(double value) { return StrCat(std::round(value * 1000) / 1000); }

std::string ToText(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += StrCat(row.model, ": ", Rounded(Median(row.latency_ms)), " ms, ",
                   FormatBytes(row.resident));
    if (row.peer) {
      text += StrCat("; ort ", row.peer->version, ": ", Rounded(Median(row.peer->latency_ms)),
                     " ms, ", FormatBytes(row.peer->resident), "; ratio ", Rounded(row.peer->ratio),
                     " (", Rounded(row.peer->spread_low), " to ", Rounded(row.peer->spread_high),
                     "), outputs differ by ", row.peer->distance);
    }
    text += StrCat("\n", MemoryText({.measured = row.table}, {}));
  }
  if (!rows.empty() && rows[0].peer) {
    text += StrCat("geometric mean of the ratio: ",
                   Rounded(Geometric(rows, [](const Row& row) { return row.peer->ratio; })), "\n");
  }
  return text;
}

// That each shape is of some model that can be read.
Status CheckShapeNames(const BenchArguments& options) {
  if (options.shapes.empty()) return {};
  std::vector<graph::Graph> graphs;
  for (const std::string& model : options.models) {
    Result<graph::Graph> graph = onnx::ReadModel(model);
    if (graph.ok()) graphs.push_back(std::move(*graph));
  }
  std::vector<const graph::Graph*> readable;
  for (const graph::Graph& graph : graphs) readable.push_back(&graph);
  return readable.empty() ? Status() : CheckEachIsKnown(readable, {}, options.shapes);
}

// Every model is measured, also behind one that fails; the first failure is the command's.
Status Bench(const BenchArguments& options, Answer& answer) {
  std::vector<compile::ShapeArgument> shapes;
  for (const std::string& text : options.shapes) {
    PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(text));
    shapes.push_back(std::move(shape));
  }
  PLIMSOLL_TRY(CheckShapeNames(options));
  std::vector<Row> rows;
  Status first;
  for (const std::string& model : options.models) {
    Result<Row> row = BenchOne(model, options, shapes);
    if (row.ok()) {
      rows.push_back(std::move(*row));
    } else if (first.ok()) {
      first = row.error();
    } else {
      Log(LogLevel::kError, row.error().Text());
    }
  }
  if (!rows.empty()) answer.Give([&] { return ToJson(rows); }, [&] { return ToText(rows); });
  return first;
}

}  // namespace

void AddBench(CLI::App& program, Action& action) {
  auto options = std::make_shared<BenchArguments>();
  CommandOptions command(program, "bench", "Time models, alone or against ONNX Runtime",
                         kBenchExamples);
  command.RequiredList("models", options->models, "ONNX files");
  command.Choice("--against", options->against, {"", "ort"}, "A peer to race: ort");
  command.List("--shape", options->shapes,
               "Shape of an input or size of a symbol, for the models that have it; repeatable");
  command.Text("--batch", options->batch, "The batch to run, where nodes carry batch labels");
  command.Whole("--repeat", options->repeat, 1, 100'000, "How many runs of each");
  command.Whole("--threads", options->threads, 1, 1024, "Threads of a run");
  command.Text("--device", options->device, kDeviceHelp);
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Bench(*options, answer); });
}

}  // namespace plimsoll::cli
