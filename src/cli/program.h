#pragma once

#include <functional>

#include "cli/answer.h"
#include "plimsoll/base/status.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

// What the chosen subcommand will do, and where its answer goes. A subcommand fills it in when the
// command line names it.
using Action = std::function<Status(Answer&)>;

class CommandOptions;

// Runs `run` when the command line names the subcommand.
void WhenChosen(CommandOptions& options, Action& action, Action run);

// Each subcommand adds itself to the program: its options, help and action. One file each.
void AddInspect(CLI::App& program, Action& action);
void AddPlan(CLI::App& program, Action& action);
void AddPack(CLI::App& program, Action& action);
void AddReplay(CLI::App& program, Action& action);
void AddReport(CLI::App& program, Action& action);
void AddRun(CLI::App& program, Action& action);
void AddTrain(CLI::App& program, Action& action);
void AddBench(CLI::App& program, Action& action);
void AddCompare(CLI::App& program, Action& action);
void AddCompile(CLI::App& program, Action& action);
void AddExtract(CLI::App& program, Action& action);
void AddConformance(CLI::App& program, Action& action);
void AddOptions(CLI::App& program, Action& action);
void AddDoctor(CLI::App& program, Action& action);
void AddHelp(CLI::App& program, Action& action);
void AddVersion(CLI::App& program, Action& action);
void AddCompletion(CLI::App& program, Action& action);
void AddMan(CLI::App& program, Action& action);

}  // namespace plimsoll::cli
