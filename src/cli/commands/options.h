#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace plimsoll::cli {

// A subcommand's options: one call per option. The variables must outlive the parsing; what they
// hold beforehand is the default and is shown in the help.
class CommandOptions {
 public:
  // Adds the subcommand to the program. `examples` closes its help.
  CommandOptions(CLI::App& program, const std::string& name, const std::string& summary,
                 const std::string& examples);

  void Required(const std::string& name, std::string& value, const std::string& help);
  void RequiredList(const std::string& name, std::vector<std::string>& values,
                    const std::string& help);
  void Text(const std::string& name, std::string& value, const std::string& help);
  void Choice(const std::string& name, std::string& value, std::vector<std::string> legal,
              const std::string& help);
  void RequiredChoice(const std::string& name, std::string& value, std::vector<std::string> legal,
                      const std::string& help);
  // One value for each time the option is given, so that what follows it is read as usual.
  void Repeated(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void Whole(const std::string& name, int64_t& value, int64_t least, int64_t most,
             const std::string& help);
  // --threads, 0 by default: the cores that this process may use (ThreadsOf).
  void Threads(int64_t& value, const std::string& of, const std::string& name = "--threads");
  void Real(const std::string& name, double& value, const std::string& help);  // from 0
  void Flag(const std::string& name, bool& value, const std::string& help);
  void Json(bool& value) { Flag("--json", value, "Machine-readable output"); }

  CLI::App& command() { return *command_; }

 private:
  CLI::App* command_;
};

// How many threads a command line's number means: what it says, and for 0 the cores that this
// process may use, by its affinity and the quotas of its control groups.
int ThreadsOf(int64_t given);

}  // namespace plimsoll::cli
