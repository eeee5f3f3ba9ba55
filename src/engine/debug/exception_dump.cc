#include "engine/debug/exception_dump.h"

#include <array>
#include <nlohmann/json.hpp>

#include "engine/debug/dump_file.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using Json = nlohmann::ordered_json;

Json DescriptionOf(const OperandTensor& operand) {
  Json description = {{"operand", operand.role()}, {"index", operand.index},
                      {"value", operand.value},    {"type", Name(operand.type)},
                      {"shape", operand.dims},     {"format", "ND"}};
  if (operand.has_bytes()) {
    description["bytes"] = operand.size().value();
    description["file"] = StrCat(operand.role(), ".", operand.index, ".npy");
  }
  return description;
}

Json AttributesOf(const graph::Node& node) {
  Json attributes = Json::object();
  for (const auto& [name, value] : node.attributes) {
    std::visit(
        [&, &key = name]<typename Value>(const Value& held) {
          constexpr bool kPlain = std::is_same_v<Value, int64_t> || std::is_same_v<Value, double> ||
                                  std::is_same_v<Value, std::string> ||
                                  std::is_same_v<Value, std::vector<int64_t>> ||
                                  std::is_same_v<Value, std::vector<double>> ||
                                  std::is_same_v<Value, std::vector<std::string>>;
          if constexpr (kPlain) attributes[key] = held;
        },
        value);
  }
  return attributes;
}

Json WhoFailed(const FailedOperator& failed, const Error& error) {
  const graph::Node& node = failed.tensors.graph[failed.tensors.node];
  return {{"node", node.name},
          {"operator", OperatorName(node)},
          {"code", error.code},
          {"error", error.Text()}};
}

Json Description(const FailedOperator& failed, const Error& error) {
  Json json = WhoFailed(failed, error);
  for (const auto* operands : {&failed.tensors.inputs, &failed.tensors.outputs}) {
    for (const OperandTensor& operand : *operands) {
      json["tensors"].push_back(DescriptionOf(operand));
    }
  }
  if (failed.kernel != nullptr) json["workspace_bytes"] = failed.kernel->workspace().value();
  return json;
}

// A kernel here is chosen and cut to its shapes when it is prepared.
Json Tiling(const FailedOperator& failed, const Error& error) {
  Json json = WhoFailed(failed, error);
  json["attributes"] = AttributesOf(failed.tensors.graph[failed.tensors.node]);
  json["threads"] = kernels::Threads();
  if (failed.kernel != nullptr) {
    json["implementation"] = failed.kernel->implementation();
    json["workspace_bytes"] = failed.kernel->workspace().value();
    json["workspace_purpose"] = failed.kernel->workspace_purpose();
  }
  return json;
}

Status WriteFiles(const std::filesystem::path& folder, const FailedOperator& failed) {
  for (const auto* operands : {&failed.tensors.inputs, &failed.tensors.outputs}) {
    for (const OperandTensor& operand : *operands) {
      if (!operand.has_bytes()) continue;
      PLIMSOLL_ASSIGN(const FetchedBytes fetched,
                      Fetch(failed.tensors.queue, operand.address, operand.size()));
      PLIMSOLL_TRY(WriteTensorFile(folder / StrCat(operand.role(), ".", operand.index, ".npy"),
                                   operand.type, operand.dims, fetched.bytes));
    }
  }
  const Bytes workspace = failed.kernel == nullptr ? Bytes(0) : failed.kernel->workspace();
  if (failed.workspace == nullptr || workspace == Bytes(0)) return {};
  PLIMSOLL_ASSIGN(const FetchedBytes fetched,
                  Fetch(failed.tensors.queue, failed.workspace, workspace));
  const std::array parts = {fetched.bytes};
  return WriteNewFile(folder / "workspace.bin", parts);
}

Result<std::filesystem::path> WriteFolder(const config::ExceptionDump& settings, int device,
                                          const FailedOperator& failed, const Error& error) {
  const graph::Node& node = failed.tensors.graph[failed.tensors.node];
  const std::string named =
      node.name.empty() ? StrCat("node", failed.tensors.node.index()) : node.name;
  PLIMSOLL_ASSIGN(const std::filesystem::path folder,
                  MakeNewFolder(ExceptionFolder(settings, device) /
                                StrCat("exception_info.", SafeFileName(node.op), ".",
                                       SafeFileName(named), ".", TimeStamp())));
  const bool lite = settings.mode == config::ExceptionDump::Mode::kLite;
  const Json json = lite ? Tiling(failed, error) : Description(failed, error);
  // Names of models are any bytes.
  PLIMSOLL_TRY(WriteNewFile(folder / (lite ? "tiling.json" : "description.json"),
                            json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  PLIMSOLL_TRY(WriteFiles(folder, failed));
  return folder;
}

}  // namespace

std::filesystem::path ExceptionFolder(const config::ExceptionDump& settings, int device) {
  const std::filesystem::path folder = settings.folder.empty() ? "." : settings.folder;
  if (settings.mode == config::ExceptionDump::Mode::kCommon) return folder;
  return folder / "extra-info" / "data-dump" / StrCat(device);
}

Error WriteExceptionDump(const config::ExceptionDump& settings, int device,
                         const FailedOperator& failed, Error error) {
  const auto folder = WriteFolder(settings, device, failed, error);
  if (!error.remedy.empty()) error.remedy += "; ";
  error.remedy += folder.ok() ? StrCat("see its tensors in ", folder->string())
                              : StrCat("its tensors could not be written: ", folder.error().where,
                                       ": ", folder.error().why);
  return error;
}

}  // namespace plimsoll::engine
