#include "engine/graph/gears.h"

#include <algorithm>
#include <charconv>

#include "graph/dims/open_dimensions.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::ValueId;
using graph::ValueType;

constexpr const char* kMetadataKey = "plimsoll.dynamic_dims";

Error BadGears(std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = "config.gears",
               .what = "gears not accepted",
               .where = "dynamic_dims",
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Result<std::vector<std::vector<int64_t>>> ParseGears(const std::string& text) {
  std::vector<std::vector<int64_t>> gears;
  for (const std::string_view gear : Split(text, ';')) {
    if (gear.empty()) continue;
    std::vector<int64_t>& sizes = gears.emplace_back();
    for (const std::string_view part : Split(gear, ',')) {
      int64_t& size = sizes.emplace_back();
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
      if (error == std::errc() && end == part.data() + part.size()) continue;
      return BadGears(StrCat("'", part, "' is no number"), "write gears as 1,128;4,128");
    }
  }
  return gears;
}

std::string FromMetadata(const Graph& graph) {
  for (const auto& [key, value] : graph.metadata) {
    if (key == kMetadataKey) return value;
  }
  return "";
}

std::vector<std::string> Shown(std::vector<std::string> symbols) {
  for (std::string& symbol : symbols) symbol = graph::ShownName(symbol);
  return symbols;
}

Result<Gear> MakeGear(const Graph& graph, const std::vector<std::string>& symbols,
                      const std::vector<int64_t>& sizes) {
  if (sizes.size() != symbols.size()) {
    return BadGears(StrCat("a gear has ", sizes.size(), " sizes, and the model's inputs have ",
                           symbols.size(), ": ", Join(Shown(symbols), ", ")),
                    "give one number for each of them");
  }
  Gear gear;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0)
      return BadGears(StrCat(graph::ShownName(symbols[i]), " is ", sizes[i]),
                      "give sizes from 0 on");
  }
  gear.label = SizesText(symbols, sizes);
  const auto lookup = [&](const std::string& name) -> std::optional<graph::Dim> {
    const auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found == symbols.end()) return std::nullopt;
    return graph::Dim(sizes[static_cast<size_t>(found - symbols.begin())]);
  };
  for (const ValueId input : graph.root().inputs) {
    const ValueType& type = graph[input].type;
    kernels::Dims& dims = gear.dims.emplace_back();
    if (!type.is_tensor()) continue;
    if (!type.shape) {
      return BadGears(StrCat("not even the rank of input '", graph[input].name, "' is known"),
                      "declare its shape in the model");
    }
    for (const graph::Dim& dim : *type.shape) {
      dims.push_back(dim.Substitute(lookup).AsNumber().value_or(-1));
      if (dims.back() >= 0) continue;
      return BadGears(StrCat("with ", gear.label, " the input '", graph[input].name,
                             "' has no shape: ", dim.Text()),
                      "give sizes that every input can have");
    }
  }
  return gear;
}

}  // namespace

std::vector<std::string> OpenSizes(const Graph& graph) {
  std::vector<std::string> symbols;
  for (const ValueId input : graph.root().inputs) {
    ValueType type = graph[input].type;
    ForEachDim(type, [&](graph::Dim& dim) { dim.CollectSymbols(symbols); });
  }
  return symbols;
}

std::string SizesText(const std::vector<std::string>& symbols, const std::vector<int64_t>& sizes) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < symbols.size(); ++i) {
    parts.push_back(StrCat(graph::ShownName(symbols[i]), "=", sizes[i]));
  }
  return Join(parts, ",");
}

Result<std::vector<Gear>> ReadGears(const Graph& graph, const std::string& dynamic_dims) {
  PLIMSOLL_ASSIGN(const auto given,
                  ParseGears(dynamic_dims.empty() ? FromMetadata(graph) : dynamic_dims));
  std::vector<Gear> gears;
  if (given.empty()) return gears;
  const std::vector<std::string> symbols = OpenSizes(graph);
  if (symbols.empty()) {
    return BadGears("the model's inputs have no open sizes", "load it without gears");
  }
  if (given.size() > kMostGears) {
    return BadGears(StrCat("there are ", given.size()), StrCat("give at most ", kMostGears));
  }
  for (const std::vector<int64_t>& sizes : given) {
    PLIMSOLL_ASSIGN(Gear gear, MakeGear(graph, symbols, sizes));
    for (const Gear& other : gears) {
      if (other.label == gear.label)
        return BadGears(StrCat(gear.label, " is given twice"), "give it once");
    }
    gears.push_back(std::move(gear));
  }
  return gears;
}

std::vector<int> InputsThatDiffer(const std::vector<Gear>& gears) {
  std::vector<int> inputs;
  if (gears.empty()) return inputs;
  for (size_t i = 0; i < gears[0].dims.size(); ++i) {
    const bool differs = std::any_of(gears.begin(), gears.end(), [&](const Gear& gear) {
      return gear.dims[i] != gears[0].dims[i];
    });
    if (differs) inputs.push_back(static_cast<int>(i));
  }
  return inputs;
}

}  // namespace plimsoll::engine
