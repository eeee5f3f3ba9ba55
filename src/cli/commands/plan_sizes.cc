#include "cli/commands/plan_sizes.h"

#include <algorithm>
#include <map>

#include "cli/inputs/model_file.h"
#include "cli/inputs/model_inputs.h"
#include "engine/graph/gears.h"
#include "graph/dims/open_dimensions.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using compile::ShapeArgument;

const std::vector<int64_t> kUsualSizes = {1, 2, 4, 8, 16};

Error OpenSizes(std::string where, std::string why, std::string remedy) {
  return {ErrorKind::kUsage, "plan.open_sizes", "cannot plan without sizes",
          std::move(where),  std::move(why),    std::move(remedy)};
}

// Open sizes of inputs, by the names that --shape takes, and the input that first has each.
struct OpenInputs {
  std::vector<std::string> names;
  std::map<std::string, std::string> inputs;  // "a int64[batch,seq]"
  std::vector<std::string> without_rank;      // inputs
  std::vector<int64_t> gears;                 // where the only open size has some
};

void CollectOpen(const graph::Graph& graph, OpenInputs& open) {
  for (const graph::ValueId id : graph.root().inputs) {
    const graph::Value& input = graph[id];
    if (!input.type.is_tensor()) continue;
    if (!input.type.shape) {
      open.without_rank.push_back(input.name);
      continue;
    }
    std::vector<std::string> symbols;
    for (const graph::Dim& dim : *input.type.shape) dim.CollectSymbols(symbols);
    for (const std::string& symbol : symbols) {
      const std::string name = graph::ShownName(symbol);
      if (!open.inputs.emplace(name, StrCat("'", input.name, "' ", Text(input.type))).second) {
        continue;
      }
      open.names.push_back(name);
    }
  }
}

Result<OpenInputs> FindOpen(const PlanArguments& options, const PlanRequest& request) {
  OpenInputs open;
  for (const std::string& file : options.models) {
    PLIMSOLL_ASSIGN(const graph::Graph graph, ReadModelGraph(file));
    const bool training = request.session.config.training;
    PLIMSOLL_ASSIGN(const auto variables, VariablesOf(options.variables, training, graph));
    graph::Graph inputs = WithoutVariables(graph, variables);
    std::vector<ShapeArgument> shapes = request.shapes;
    if (options.models.size() > 1) shapes = KnownArguments(inputs, shapes);
    const bool opens = request.session.config.compile_dynamic_mode ||
                       request.session.config.dynamic_inputs_shape_range;
    if (opens) OpenShapes(inputs, shapes);
    PLIMSOLL_TRY(compile::GiveInputShapes(inputs, shapes).status());
    CollectOpen(inputs, open);
    const auto gears = engine::ReadGears(graph, "");
    if (!gears.ok() || engine::OpenSizes(inputs).size() != 1) continue;
    for (const engine::Gear& gear : *gears) {
      const auto size = ParseInteger(gear.label.substr(gear.label.rfind('=') + 1));
      if (size) open.gears.push_back(*size);
    }
  }
  return open;
}

// "1,2,4" behind the name of a symbol: an input's own dimensions may be written with commas too.
Result<std::optional<SizeChoice>> TakeList(PlanArguments& options) {
  std::vector<std::string> inputs;
  for (const std::string& file : options.models) {
    PLIMSOLL_ASSIGN(const graph::Graph graph, ReadModelGraph(file));
    for (const graph::ValueId id : graph.root().inputs) inputs.push_back(graph[id].name);
  }
  std::optional<SizeChoice> choice;
  for (auto text = options.shapes.begin(); text != options.shapes.end();) {
    PLIMSOLL_ASSIGN(ShapeArgument shape, compile::ParseShapeArgument(*text));
    const bool input = std::find(inputs.begin(), inputs.end(), shape.name) != inputs.end();
    if (input || shape.dims.size() < 2) {
      ++text;
      continue;
    }
    if (choice) {
      return OpenSizes(StrCat("--shape ", *text), "there is another list of sizes",
                       "compare one size at a time, and give the others one value");
    }
    choice = SizeChoice{.name = shape.name, .values = shape.dims, .asked = true};
    text = options.shapes.erase(text);
  }
  return choice;
}

}  // namespace

Result<std::optional<SizeChoice>> ChooseSizes(PlanArguments& options) {
  PLIMSOLL_ASSIGN(std::optional<SizeChoice> choice, TakeList(options));
  PlanArguments first = options;
  if (choice) first = WithSize(options, choice->name, choice->values.front());
  PLIMSOLL_ASSIGN(const PlanRequest request, ReadPlanRequest(first));
  PLIMSOLL_ASSIGN(const OpenInputs open, FindOpen(first, request));
  const std::string files = Join(options.models, ", ");
  if (!open.without_rank.empty()) {
    return OpenSizes(files, StrCat("input '", open.without_rank[0], "' has no shape in the file"),
                     StrCat("say it, such as --shape ", open.without_rank[0], "=1x8"));
  }
  if (open.names.empty()) return choice;
  if (choice || open.names.size() > 1) {
    std::vector<std::string> parts;
    std::vector<std::string> example;
    for (const std::string& name : open.names) {
      parts.push_back(StrCat(name, " of ", open.inputs.at(name)));
      example.push_back(StrCat("--shape ", name, "=", example.empty() && !choice ? 1 : 8));
    }
    return OpenSizes(files, StrCat("these are open: ", Join(parts, ", ")),
                     StrCat("give them, such as ", Join(example, " "),
                            choice ? "" : "; one of them may be a list: 1,2,4,8"));
  }
  return std::optional(SizeChoice{.name = open.names.front(),
                                  .values = open.gears.empty() ? kUsualSizes : open.gears,
                                  .asked = false});
}

PlanArguments WithSize(PlanArguments options, const std::string& name, int64_t size) {
  options.shapes.push_back(StrCat(name, "=", size));
  return options;
}

int64_t LargestThatFits(int64_t most, const std::function<bool(int64_t)>& fits) {
  constexpr int64_t kNeighbours = 3;
  int64_t fit = 0;
  int64_t above = most + 1;  // the least that is known not to fit, above `fit`
  for (int64_t size = 1, misses = 0; size <= most && misses < 2; size *= 2) {
    if (fits(size)) {
      fit = size;
      above = most + 1;
      misses = 0;
    } else {
      if (misses == 0) above = size;
      ++misses;
    }
  }
  while (above - fit > 1) {
    const int64_t middle = fit + (above - fit) / 2;
    (fits(middle) ? fit : above) = middle;
  }
  for (int64_t next = fit + 2; next <= std::min(most, fit + 1 + kNeighbours); ++next) {
    if (fits(next)) fit = next;
  }
  return fit;
}

}  // namespace plimsoll::cli
