#include "cli/peer/side_values.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/inputs/archive.h"
#include "cli/inputs/npy.h"
#include "cli/inputs/text_file.h"
#include "cli/interrupt.h"
#include "cli/peer/ort_peer.h"
#include "cli/peer/run_measure.h"
#include "engine/node_by_node/interpreter.h"
#include "engine/session.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using kernels::HostTensor;
using kernels::HostValue;

constexpr const char* kList = "values.json";

bool IsComparable(const HostValue& value) {
  return value.kind == HostValue::Kind::kTensor && value.tensor.type != graph::DataType::kString;
}

Result<HostTensor> CopyOf(const HostTensor& tensor) {
  PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(tensor.type, tensor.dims));
  std::memcpy(copy.data.get(), tensor.data.get(), static_cast<size_t>(tensor.size().value()));
  return copy;
}

bool IsOutput(const graph::Graph& graph, graph::ValueId id) {
  const auto& outputs = graph.root().outputs;
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

SideValues::Value Describe(const graph::Graph& graph, graph::ValueId id, HostTensor tensor) {
  const graph::Value& value = graph[id];
  return {.name = value.name,
          .node = value.producer.valid() ? graph::Describe(graph, value.producer) : "an input",
          .tensor = std::move(tensor),
          .output = IsOutput(graph, id)};
}

Result<SideValues> ComputePlain(const ComparedModel& model) {
  SideValues side{.name = "plain", .values = {}};
  Status failed;
  engine::Interpreter interpreter(model.graph);
  engine::Interpreter::Options run;
  run.batch = model.batch;
  run.cancelled = &InterruptFlag();
  run.observe = [&](graph::ValueId id, const HostValue& value) {
    const graph::Value& known = model.graph[id];
    const bool root = known.home == graph::Graph::kRoot && known.producer.valid();
    if (!root || !IsComparable(value) || !failed.ok()) return;
    Result<HostTensor> copy = CopyOf(value.tensor);
    if (copy.ok()) {
      side.values.push_back(Describe(model.graph, id, std::move(*copy)));
    } else {
      failed = copy.error();
    }
  };
  const Status ran = interpreter.Run(model.inputs, run).status();
  // What was made until Ctrl-C is compared all the same.
  if (!ran.ok() && !Interrupted()) return ran;
  PLIMSOLL_TRY(failed);
  return side;
}

Result<SideValues> ComputePlanned(const ComparedModel& model,
                                  const std::vector<graph::ValueId>& also) {
  SideValues side{.name = "plimsoll", .values = {}};
  graph::Graph graph = model.graph;
  std::vector<graph::ValueId> made = graph.root().outputs;
  for (const graph::ValueId id : also) {
    if (!IsOutput(graph, id)) {
      graph[graph::Graph::kRoot].outputs.push_back(id);
      made.push_back(id);
    }
  }
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create({}));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
  engine::RunOptions options;
  options.batch = model.batch;
  PLIMSOLL_ASSIGN(const std::vector<HostValue> outputs,
                  session->RunValues(id, model.inputs, options));
  for (size_t i = 0; i < outputs.size() && i < made.size(); ++i) {
    if (!IsComparable(outputs[i])) continue;
    side.values.push_back(Describe(model.graph, made[i], outputs[i].tensor));
  }
  return side;
}

Result<SideValues> ComputeWithOrt(const ComparedModel& model) {
  OrtPeer::Settings settings{.model = model.file, .names = {}, .inputs = model.inputs};
  settings.every_value = true;
  for (const graph::ValueId input : model.graph.root().inputs) {
    settings.names.push_back(model.graph[input].name);
  }
  PLIMSOLL_ASSIGN(OrtPeer peer, OrtPeer::Start(settings));
  PLIMSOLL_TRY(peer.RunOnce().status());
  PLIMSOLL_ASSIGN(const std::string version, peer.Version());
  PLIMSOLL_ASSIGN(std::vector<OrtPeer::Named> outputs, peer.Outputs());
  std::map<std::string_view, HostTensor> theirs;
  for (const OrtPeer::Named& output : outputs) theirs.emplace(output.name, output.tensor);
  SideValues side{.name = StrCat("ort ", version), .values = {}};
  // In our order of execution; what only the peer makes comes last.
  for (size_t i = 0; i < model.graph.values.size(); ++i) {
    const graph::ValueId id(i);
    const graph::Value& value = model.graph[id];
    if (value.home != graph::Graph::kRoot || !value.producer.valid()) continue;
    auto found = theirs.extract(value.name);
    if (!found.empty()) {
      side.values.push_back(Describe(model.graph, id, std::move(found.mapped())));
    }
  }
  for (auto& [name, tensor] : theirs) {
    side.values.push_back(
        {.name = std::string(name), .node = "", .tensor = std::move(tensor), .output = false});
  }
  return side;
}

Error BadSaved(const std::filesystem::path& folder, std::string why) {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "compare.saved",
               .what = "cannot read the saved values",
               .where = folder.string(),
               .why = std::move(why),
               .remedy = "give a folder that plimsoll compare --save wrote"};
}

}  // namespace

std::string_view Name(ComparedEngine engine) {
  switch (engine) {
    case ComparedEngine::kPlimsoll:
      return "plimsoll";
    case ComparedEngine::kPlain:
      return "plain";
    case ComparedEngine::kOrt:
      break;
  }
  return "ort";
}

const SideValues::Value* SideValues::Find(std::string_view value) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const Value& one) { return one.name == value; });
  return found == values.end() ? nullptr : &*found;
}

Result<SideValues> ComputeSide(ComparedEngine engine, const ComparedModel& model,
                               const std::vector<graph::ValueId>& also) {
  switch (engine) {
    case ComparedEngine::kPlimsoll:
      return ComputePlanned(model, also);
    case ComparedEngine::kPlain:
      return ComputePlain(model);
    case ComparedEngine::kOrt:
      break;
  }
  return ComputeWithOrt(model);
}

// The list goes last: without it the folder holds nothing that is read.
Status SaveSide(const std::filesystem::path& folder, const SideValues& side) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::filesystem::remove(folder / kList, failed);
  nlohmann::ordered_json json{{"schema_version", 1},
                              {"command", "compare"},
                              {"models", nlohmann::ordered_json::array()},
                              {"side", side.name},
                              {"values", nlohmann::ordered_json::array()}};
  for (size_t i = 0; i < side.values.size(); ++i) {
    const SideValues::Value& value = side.values[i];
    const std::string file = StrCat(i, ".npy");
    const Status written = WriteNpy(folder / file, value.tensor);
    if (!written.ok() && written.error().kind == ErrorKind::kUnsupported) continue;
    PLIMSOLL_TRY(written);
    json["values"].push_back(
        {{"name", value.name}, {"node", value.node}, {"output", value.output}, {"file", file}});
  }
  return WriteTextFile((folder / kList).string(),
                       json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Result<SideValues> LoadSide(const std::filesystem::path& folder) {
  PLIMSOLL_ASSIGN(const std::string text, ReadTextFile((folder / kList).string()));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  SideValues side;
  try {
    side.name = StrCat("saved ", json.at("side").get<std::string>());
    for (const nlohmann::json& row : json.at("values")) {
      SideValues::Value value;
      value.name = row.at("name");
      value.node = row.at("node");
      value.output = row.at("output");
      const std::filesystem::path file(row.at("file").get<std::string>());
      if (file != file.filename()) return BadSaved(folder, "a file lies outside of the folder");
      PLIMSOLL_ASSIGN(value.tensor, ReadNpy(folder / file));
      side.values.push_back(std::move(value));
    }
  } catch (const nlohmann::json::exception& wrong) {
    return BadSaved(folder, json.is_discarded() ? "its list is no JSON" : wrong.what());
  }
  return side;
}

Result<SideValues> LoadArchive(const std::string& file, const graph::Graph& graph) {
  SideValues side{.name = file, .values = {}};
  PLIMSOLL_ASSIGN(const std::vector<std::string> names, ArchiveNames(file));
  for (const std::string& name : names) {
    PLIMSOLL_ASSIGN(HostTensor tensor, ReadFromArchive(file, name));
    SideValues::Value value{.name = name, .node = file, .tensor = std::move(tensor)};
    for (const graph::ValueId output : graph.root().outputs) {
      value.output = value.output || graph[output].name == name;
    }
    side.values.push_back(std::move(value));
  }
  return side;
}

}  // namespace plimsoll::cli
