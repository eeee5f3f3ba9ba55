#include "cli/inputs/initial_variables.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "cli/inputs/npy.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using engine::Variable;
using engine::VariableName;
using kernels::HostTensor;

Error BadInitial(const std::string& argument, std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = "initial.argument",
               .what = "cannot give variables their first values",
               .where = StrCat("--initial ", argument),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

class Setter {
 public:
  Setter(engine::Session& session, const std::vector<VariableName>& names)
      : session_(session), names_(names), variables_(session.variables().List()) {}

  Status Apply(const std::string& argument) {
    const size_t equals = argument.rfind('=');
    if (equals == std::string::npos) return FromFolder(argument);
    const std::string name = argument.substr(0, equals);
    const std::string source = argument.substr(equals + 1);
    const std::vector<const Variable*> chosen = Called(name);
    if (chosen.empty()) return Unknown(argument, name);
    if (source != "random" && !source.ends_with(".npy")) {
      return BadInitial(argument, StrCat("'", source, "' is neither random nor a file *.npy"),
                        "write name=random or name=file.npy");
    }
    for (const Variable* variable : chosen) {
      PLIMSOLL_TRY(source == "random" ? Draw(*variable) : FromFile(*variable, source));
    }
    return {};
  }

 private:
  // The variable of that name, or those of that kind in the model's order.
  std::vector<const Variable*> Called(const std::string& name) const {
    std::vector<const Variable*> chosen;
    const auto add = [&](const std::string& wanted) {
      const auto found =
          std::find_if(variables_.begin(), variables_.end(),
                       [&](const Variable& variable) { return variable.name == wanted; });
      if (found != variables_.end()) chosen.push_back(&*found);
    };
    add(name);
    if (!chosen.empty()) return chosen;
    for (const VariableName& one : names_) {
      if (!one.group.empty() && one.group == name) add(one.input);
    }
    return chosen;
  }

  Error Unknown(const std::string& argument, const std::string& name) const {
    std::vector<std::string> names;
    for (const Variable& variable : variables_) names.push_back(variable.name);
    for (const VariableName& one : names_) {
      if (std::find(names.begin(), names.end(), one.group) == names.end() && !one.group.empty()) {
        names.push_back(one.group);
      }
    }
    const auto nearest = NearestName(name, names);
    return BadInitial(argument, "there is no such variable, and no such kind of them",
                      nearest ? StrCat("did you mean '", *nearest, "'?")
                              : "see 'plimsoll inspect MODEL' for the model's inputs");
  }

  Status FromFolder(const std::string& folder) {
    size_t found = 0;
    for (const Variable& variable : variables_) {
      const std::filesystem::path file = std::filesystem::path(folder) / (variable.name + ".npy");
      std::error_code failed;
      if (!std::filesystem::is_regular_file(file, failed)) continue;
      PLIMSOLL_TRY(FromFile(variable, file));
      ++found;
    }
    if (found > 0) return {};
    return BadInitial(folder, "it is no folder with an array for a variable",
                      "write name=file.npy, or name a folder of NAME.npy");
  }

  Status FromFile(const Variable& variable, const std::filesystem::path& file) {
    PLIMSOLL_ASSIGN(const HostTensor tensor, ReadNpy(file));
    return Set(variable, tensor);
  }

  Status Draw(const Variable& variable) {
    PLIMSOLL_ASSIGN(const HostTensor tensor, kernels::AllocateOnHeap(variable.type, variable.dims));
    const double last =
        variable.dims.empty() ? 1 : std::max(1.0, static_cast<double>(variable.dims.back()));
    std::uniform_real_distribution<double> real(-1 / std::sqrt(last), 1 / std::sqrt(last));
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      if (graph::IsFloating(tensor.type)) {
        kernels::StoreDouble(tensor.type, tensor.data.get(), i, real(engine_));
      } else {
        kernels::StoreInteger(tensor.type, tensor.data.get(), i,
                              static_cast<int64_t>(engine_() & 1));
      }
    }
    return Set(variable, tensor);
  }

  Status Set(const Variable& variable, const HostTensor& tensor) {
    return session_.variables().Set(
        variable.name, {.type = tensor.type, .dims = tensor.dims, .data = tensor.data.get()});
  }

  engine::Session& session_;
  const std::vector<VariableName>& names_;
  const std::vector<Variable> variables_;
  std::mt19937 engine_{1};
};

}  // namespace

Status SetInitialVariables(engine::Session& session, const std::vector<VariableName>& names,
                           const std::vector<std::string>& arguments) {
  Setter setter(session, names);
  for (const std::string& argument : arguments) PLIMSOLL_TRY(setter.Apply(argument));
  return {};
}

}  // namespace plimsoll::cli
