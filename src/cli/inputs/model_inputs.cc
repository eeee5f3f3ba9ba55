#include "cli/inputs/model_inputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string_view>

#include "cli/inputs/archive.h"
#include "cli/inputs/image.h"
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

// What an input holds, element by element.
using Element = std::function<double(int64_t)>;

// A number in every place, or 0, 1, 2 and so on; nothing where the source is no such word.
std::optional<Element> LiteralOf(const std::string& source) {
  if (source == "range") return [](int64_t place) { return static_cast<double>(place); };
  const std::optional<double> number = source == "ones"    ? std::optional(1.0)
                                       : source == "zeros" ? std::optional(0.0)
                                                           : ParseDouble(source);
  if (!number) return std::nullopt;
  return [value = *number](int64_t) { return value; };
}

// A tensor of the input's type and shape, which must be known.
Result<HostTensor> EmptyTensor(const graph::Value& input, std::string_view made) {
  const graph::ValueType& type = input.type;
  const std::string where = StrCat("input '", input.name, "'");
  if (!type.is_tensor() || type.data_type == DataType::kString) {
    return BadInput("input.kind", where, StrCat("it is ", Text(type), ", which cannot be ", made),
                    StrCat("give it with --input ", input.name, "=FILE.pb"));
  }
  if (!type.shape || !graph::IsStatic(*type.shape)) {
    return BadInput("input.shape", where, StrCat("its size is open: ", Text(type)),
                    StrCat("say it with --shape, such as --shape ", input.name, "=",
                           compile::ExampleShape(type)));
  }
  return kernels::AllocateOnHeap(type.data_type, graph::StaticDims(*type.shape));
}

Result<HostValue> DrawRandom(const graph::Value& input, std::mt19937& engine) {
  PLIMSOLL_ASSIGN(HostTensor tensor, EmptyTensor(input, "drawn"));
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

Result<HostValue> FillWith(const graph::Value& input, const std::string& source,
                           const Element& element) {
  PLIMSOLL_ASSIGN(HostTensor tensor, EmptyTensor(input, "filled with a number"));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = element(i);
    if (graph::IsFloating(tensor.type)) {
      kernels::StoreDouble(tensor.type, tensor.data.get(), i, value);
      continue;
    }
    const bool whole = value == std::floor(value) && std::abs(value) <= 0x1p53;
    if (whole) {
      kernels::StoreInteger(tensor.type, tensor.data.get(), i, static_cast<int64_t>(value));
    }
    if (!whole || kernels::LoadDouble(tensor.type, tensor.data.get(), i) != value) {
      return BadInput(
          "input.number", StrCat("input '", input.name, "'"),
          StrCat("'", source, "' has ", value, ", which is no ", graph::Name(tensor.type)),
          "give a number that its type can hold, or a file");
    }
  }
  return HostValue::Of(std::move(tensor));
}

Result<HostValue> ReadInput(const graph::Value& input, const std::string& source,
                            const InputSettings& settings) {
  if (const auto literal = LiteralOf(source)) return FillWith(input, source, *literal);
  if (source.ends_with(".pb")) return ReadHostValue(source, input.declared);
  if (source.ends_with(".npy") || source.ends_with(".npz") || IsImage(source)) {
    PLIMSOLL_ASSIGN(HostTensor tensor,
                    source.ends_with(".npy") ? ReadNpy(source)
                    : source.ends_with(".npz")
                        ? ReadFromArchive(source, input.name)
                        : ReadImage(source, input.name, input.type, settings.normalization));
    return HostValue::Of(std::move(tensor));
  }
  return BadInput("input.source", StrCat("input '", input.name, "'"),
                  StrCat("'", source,
                         "' is no number, no ones, zeros, range or random, and no "
                         "file .npy, .npz, .pb, .png or .jpg"),
                  "write --input name=random, name=1.5 or name=file.npy");
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
                    "write --input name=random, name=1.5 or name=file.npy");
  }
  return InputArgument{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<std::vector<InputArgument>> ParseInputArguments(const std::vector<std::string>& texts) {
  std::vector<InputArgument> arguments;
  for (const std::string& text : texts) {
    if (text.ends_with(".npz") && text.find('=') == std::string::npos) {
      PLIMSOLL_ASSIGN(const std::vector<std::string> names, ArchiveNames(text));
      for (const std::string& name : names) arguments.push_back({name, text});
      continue;
    }
    PLIMSOLL_ASSIGN(InputArgument argument, ParseInputArgument(text));
    arguments.push_back(std::move(argument));
  }
  return arguments;
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
                                          const std::vector<compile::ShapeArgument>& shapes,
                                          const InputSettings& settings) {
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
  std::mt19937 engine(static_cast<uint32_t>(settings.seed));
  std::vector<HostValue> values;
  for (const graph::ValueId id : graph.root().inputs) {
    const graph::Value& input = shaped[id];
    const auto argument =
        std::find_if(arguments.begin(), arguments.end(),
                     [&](const InputArgument& one) { return one.name == input.name; });
    const bool random = argument == arguments.end() || argument->source == "random";
    PLIMSOLL_ASSIGN(HostValue value, random ? DrawRandom(input, engine)
                                            : ReadInput(input, argument->source, settings));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace plimsoll::cli
