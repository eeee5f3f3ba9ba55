#pragma once

#include <string>
#include <vector>

#include "engine/session.h"
#include "engine/variables/variable_ports.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// Gives variables of a session the values that the arguments of --initial say, in their order:
//   name=file.npy     the array, of the variable's type and shape
//   name=random       floats evenly between -s and s, s = 1 / sqrt(last dimension); the same
//                     numbers every time
//   FOLDER            each variable NAME of which there is FOLDER/NAME.npy
// `name` is a variable or one of the model's kinds of them, such as "parameters".
Status SetInitialVariables(engine::Session& session, const std::vector<engine::VariableName>& names,
                           const std::vector<std::string>& arguments);

}  // namespace plimsoll::cli
