#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iostream>

#include "arrays.h"
#include "planner.h"
#include "plimsoll/cli/command_line.h"
#include "session.h"

namespace nb = nanobind;

namespace {

// The command line with these arguments, the program's name first; its exit code.
int CommandLine(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release released;
  const int code = plimsoll::cli::Main(static_cast<int>(arguments.size()), pointers.data());
  std::cout.flush();
  return code;
}

}  // namespace

NB_MODULE(_native, module) {
  // Arrays of a program that ends may outlive the interpreter's last look around.
  nb::set_leak_warnings(false);
  module.attr("version") = PLIMSOLL_VERSION;
  plimsoll::python::AddArrays(module);
  plimsoll::python::AddSession(module);
  plimsoll::python::AddPlanner(module);
  module.def("command_line", &CommandLine, nb::arg("arguments"));
}
