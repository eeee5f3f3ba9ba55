#include "cli/inputs/model_inputs.h"

#include <algorithm>
#include <random>
#include <set>
#include <string_view>

#include "cli/inputs/npy.h"
#include "cli/inputs/stored_values.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::DataType;
using kernels::HostTensor;
using kernels::HostValue;

Error BadInput(std::string code, std::string where, std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = std::move(code),
               .what = "cannot make the model's inputs",
               .where = std::move(where),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Result<HostValue> DrawRandom(const graph::Value& input, std::mt19937& engine) {
  const graph::ValueType& type = input.type;
  const std::string where = StrCat("input '", input.name, "'");
  if (!type.is_tensor() || type.data_type == DataType::kString) {
    return BadInput("input.kind", where, StrCat("it is ", Text(type), ", which cannot be drawn"),
                    StrCat("give it with --input ", input.name, "=FILE.pb"));
  }
  if (!type.shape || !graph::IsStatic(*type.shape)) {
    return BadInput("input.shape", where, StrCat("its size is open: ", Text(type)),
                    StrCat("say it with --shape, such as --shape ", input.name, "=",
                           compile::ExampleShape(type)));
  }
  PLIMSOLL_ASSIGN(HostTensor tensor,
                  kernels::AllocateOnHeap(type.data_type, graph::StaticDims(*type.shape)));
  std::uniform_real_distribution<float> real(-1, 1);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (graph::IsFloating(tensor.type)) {
      kernels::StoreDouble(tensor.type, tensor.data.get(), i, real(engine));
    } else {
      kernels::StoreInteger(tensor.type, tensor.data.get(), i, static_cast<int64_t>(engine() & 1));
    }
  }
  return HostValue::Of(std::move(tensor));
}

Result<HostValue> ReadInput(const graph::Value& input, const std::string& source) {
  if (source.ends_with(".npy")) {
    PLIMSOLL_ASSIGN(HostTensor tensor, ReadNpy(source));
    return HostValue::Of(std::move(tensor));
  }
  if (source.ends_with(".pb")) return ReadHostValue(source, input.declared);
  return BadInput("input.source", StrCat("input '", input.name, "'"),
                  StrCat("'", source, "' is neither random nor a file that ends in .npy or .pb"),
                  "write --input name=random, name=file.npy or name=file.pb");
}

// Inputs and symbols.
std::vector<std::string> NamesForShapes(const graph::Graph& graph) {
  std::vector<std::string> names = compile::ShapeNames(graph);
  for (const graph::ValueId id : graph.root().inputs) names.push_back(graph[id].name);
  return names;
}

}  // namespace

Result<InputArgument> ParseInputArgument(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return BadInput("input.argument", StrCat("--input ", text), "it is not NAME=SOURCE",
                    "write --input name=random, name=file.npy or name=file.pb");
  }
  return InputArgument{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Status CheckEachIsKnown(std::span<const graph::Graph* const> graphs,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& shapes) {
  std::vector<std::string> input_names;
  std::vector<std::string> shape_names;
  for (const graph::Graph* graph : graphs) {
    for (const graph::ValueId id : graph->root().inputs) input_names.push_back((*graph)[id].name);
    for (std::string& name : NamesForShapes(*graph)) shape_names.push_back(std::move(name));
  }
  const auto check = [&](const std::string& option, const std::string& argument,
                         const std::vector<std::string>& names) -> Status {
    const std::string name = argument.substr(0, argument.rfind('='));
    if (std::find(names.begin(), names.end(), name) != names.end()) return {};
    const auto nearest = NearestName(name, names);
    return BadInput("input.name", StrCat(option, " ", argument), "no model has that name",
                    nearest ? StrCat("did you mean '", *nearest, "'?")
                            : StrCat("there are ", Join(names, ", ")));
  };
  for (const std::string& input : inputs) PLIMSOLL_TRY(check("--input", input, input_names));
  for (const std::string& shape : shapes) PLIMSOLL_TRY(check("--shape", shape, shape_names));
  return {};
}

std::vector<compile::ShapeArgument> KnownArguments(
    const graph::Graph& graph, const std::vector<compile::ShapeArgument>& shapes) {
  const std::vector<std::string> names = NamesForShapes(graph);
  std::vector<compile::ShapeArgument> known;
  std::copy_if(shapes.begin(), shapes.end(), std::back_inserter(known),
               [&](const compile::ShapeArgument& shape) {
                 return std::find(names.begin(), names.end(), shape.name) != names.end();
               });
  return known;
}

graph::Graph WithoutVariables(const graph::Graph& graph,
                              const std::vector<engine::VariableName>& variables) {
  std::set<std::string_view> names;
  for (const engine::VariableName& variable : variables) names.insert(variable.input);
  graph::Graph inputs;
  inputs.subgraphs.resize(1);
  for (const graph::ValueId id : graph.root().inputs) {
    if (names.contains(graph[id].name)) continue;
    inputs[graph::Graph::kRoot].inputs.emplace_back(inputs.values.size());
    graph::Value& input = inputs.values.emplace_back(graph[id]);
    input.constant = {};
  }
  return inputs;
}

Result<std::vector<engine::VariableName>> VariablesOf(const std::string& named, bool training,
                                                      const graph::Graph& graph) {
  if (!named.empty()) return engine::ParseVariables(named);
  if (!training) return std::vector<engine::VariableName>();
  return engine::VariablesInMetadata(graph);
}

void OpenShapes(graph::Graph& graph, const std::vector<compile::ShapeArgument>& shapes) {
  for (const graph::ValueId id : graph.root().inputs) {
    graph::Value& input = graph[id];
    const bool given = std::any_of(shapes.begin(), shapes.end(),
                                   [&](const auto& shape) { return shape.name == input.name; });
    if (!given || !input.declared.shape) continue;
    for (size_t i = 0; i < input.declared.shape->size(); ++i) {
      (*input.declared.shape)[i] = graph::Dim::Symbol(StrCat(input.name, "[", i, "]"));
    }
  }
}

Result<std::vector<HostValue>> MakeInputs(const graph::Graph& graph,
                                          const std::vector<InputArgument>& arguments,
                                          const std::vector<compile::ShapeArgument>& shapes) {
  graph::Graph shaped = graph;
  PLIMSOLL_TRY(compile::GiveInputShapes(shaped, shapes).status());
  std::vector<std::string> names;
  for (const graph::ValueId input : graph.root().inputs) names.push_back(graph[input].name);
  for (const InputArgument& argument : arguments) {
    if (std::find(names.begin(), names.end(), argument.name) != names.end()) continue;
    const auto nearest = NearestName(argument.name, names);
    return BadInput(
        "input.name", StrCat("--input ", argument.name), "the model has no such input",
        nearest ? StrCat("did you mean '", *nearest, "'?") : StrCat("it has ", Join(names, ", ")));
  }
  std::mt19937 engine(1);
  std::vector<HostValue> values;
  for (const graph::ValueId id : graph.root().inputs) {
    const graph::Value& input = shaped[id];
    const auto argument =
        std::find_if(arguments.begin(), arguments.end(),
                     [&](const InputArgument& one) { return one.name == input.name; });
    const bool random = argument == arguments.end() || argument->source == "random";
    PLIMSOLL_ASSIGN(HostValue value,
                    random ? DrawRandom(input, engine) : ReadInput(input, argument->source));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace plimsoll::cli
