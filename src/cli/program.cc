#include "cli/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>

#include "cli/commands/help_text.h"
#include "cli/interrupt.h"
#include "cli/peer/heap_calls.h"
#include "cli/reports/text_table.h"
#include "cli/version.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/cli/command_line.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  plimsoll inspect model.onnx                        what is in the model
  plimsoll inspect bert.onnx --shape ids=1x128       the same with dynamic dimensions filled in
  plimsoll plan model.onnx --limit 512MiB            where every byte goes, and whether it fits
  plimsoll run model.onnx --repeat 10                run it inside that plan, and measure
  plimsoll train step.onnx --steps 50 --save w.plv   training steps, variables kept in place
  plimsoll bench model.onnx --against ort            time it beside ONNX Runtime
  plimsoll compare model.onnx --against ort          node by node where the results differ
  plimsoll compile model.onnx -o model.plm           a file that starts without searches and packing
  plimsoll extract model.onnx --to v -o part.onnx    the part that makes a value, as a model
  plimsoll conformance build/cases                   the standard's own test cases
  plimsoll pack buffers.csv --capacity 1MiB          place buffers without a model
  plimsoll replay trace.csv.xz                       run an allocation trace through an allocator
  plimsoll report a.html operator_memory_1.csv       who owns the memory, side by side, in one page
  plimsoll options                                   every option and what is in force
  plimsoll doctor                                    what this machine offers
  plimsoll help plan                                 the options of a command, with examples

Every command takes --json. Exit codes: 0 ok, 1 run failed, 2 usage,
3 does not fit, 4 unsupported, 5 mismatch, 6 bad file, 130 interrupted (Ctrl-C:
what is known by then is printed).)";

void Report(const Error& error) {
  const bool color = ColorAllowed(STDERR_FILENO);
  // Several mistakes have a line each, already fit to be printed.
  const std::string text = error.code == "config.mistakes"
                               ? StrCat(error.what, ":", error.why, " [", error.code, "]")
                               : error.Text();
  std::cerr << FoldedFor(STDERR_FILENO, StrCat(color ? "\033[31m" : "",
                                               "error: ", color ? "\033[0m" : "", text, "\n"));
}

// Before anything is parsed, since what cannot be parsed is answered in the same way.
Answer AnswerTo(int argc, char** argv) {
  const std::span words(argv, static_cast<size_t>(argc));
  const bool json = std::any_of(words.begin(), words.end(), [](const char* word) {
    return std::string_view(word) == "--json";
  });
  const bool named = argc > 1 && argv[1][0] != '-';
  return {named ? argv[1] : "", json};
}

Error InterruptedError() {
  return {ErrorKind::kRunFailed,
          "cli.interrupted",
          "interrupted",
          {},
          "what is told is what was known by then",
          {}};
}

// "did you mean --input?" for the first option that the command does not have and nearly has.
std::optional<std::string> NearestOption(const CLI::App& command, std::span<char*> words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string_view word : words) {
    const std::string name(word.substr(0, word.find('=')));
    if (!name.starts_with("--") || std::find(names.begin(), names.end(), name) != names.end()) {
      continue;
    }
    const auto nearest = NearestName(name, names);
    if (nearest) return StrCat("did you mean ", *nearest, "?");
  }
  return std::nullopt;
}

Error UsageError(const CLI::App& program, const CLI::ParseError& wrong, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  Error error{.kind = ErrorKind::kUsage,
              .code = "cli.usage",
              .what = "command line not understood",
              .where = {},
              .why = wrong.what(),
              .remedy = StrCat("the commands are ", Join(names, ", "))};
  if (argc < 2 || argv[1][0] == '-') return error;
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) {
    const std::span words(argv + 2, static_cast<size_t>(argc - 2));
    error.remedy = NearestOption(*program.get_subcommand(argv[1]), words)
                       .value_or(StrCat("see plimsoll ", argv[1], " --help"));
    return error;
  }
  error.why = StrCat("there is no command '", argv[1], "'");
  const auto nearest = NearestName(argv[1], names);
  if (nearest) error.remedy = StrCat("did you mean 'plimsoll ", *nearest, "'?");
  return error;
}

Status RunProgram(int argc, char** argv, Answer& answer) {
  CLI::App program{"Plimsoll: a graph engine that knows its waterline.", "plimsoll"};
  program.set_version_flag("--version", "plimsoll " + Version());
  program.require_subcommand(1);
  program.formatter(std::make_shared<HelpText>());
  program.footer(kExamples);
  Action action;
  AddInspect(program, action);
  AddPlan(program, action);
  AddPack(program, action);
  AddReplay(program, action);
  AddReport(program, action);
  AddRun(program, action);
  AddTrain(program, action);
  AddBench(program, action);
  AddCompare(program, action);
  AddCompile(program, action);
  AddExtract(program, action);
  AddConformance(program, action);
  AddOptions(program, action);
  AddDoctor(program, action);
  AddHelp(program, action);
  AddVersion(program, action);
  AddCompletion(program, action);
  AddMan(program, action);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) {
      std::ostringstream text;
      program.exit(wrong, text, text);
      answer = Answer("", false);  // help and version are text
      answer.Print(text.str());
      return {};
    }
    return UsageError(program, wrong, argc, argv);
  }
  return action(answer);
}

// What was thrown, as an error.
Error Caught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::kRunFailed,
            "cli.memory",
            "out of host memory",
            {},
            {},
            "close other programs or use a smaller model"};
  } catch (const std::system_error& refused) {
    return {ErrorKind::kRunFailed,
            "cli.system",
            "the system refused something that the command needs",
            {},
            refused.what(),
            "look at the limits of this process (ulimit -a), or use --threads 1"};
  } catch (const std::exception& broken) {
    return {ErrorKind::kRunFailed, "cli.internal",
            "internal error",      {},
            broken.what(),         "please report this with the command line"};
  }
}

Status Guarded(const std::function<Status()>& act) {
  try {
    return act();
  } catch (...) {
    return Caught();
  }
}

}  // namespace

int Main(int argc, char** argv) {
  const InterruptHandlers handlers;
  const OutOfMemoryEnds memory;
  Answer answer = AnswerTo(argc, argv);
  std::optional<LastWords> frame;
  if (answer.json()) frame.emplace(answer.TextWith(InterruptedError(), kInterruptedExit));
  Status status = Guarded([&] { return RunProgram(argc, argv, answer); });
  const bool interrupted = Interrupted();
  if (interrupted) {
    if (!status.ok()) Report(status.error());
    status = InterruptedError();
  }
  const auto exit_code = [&] {
    return interrupted ? kInterruptedExit : static_cast<int>(status.error().kind);
  };
  frame.reset();
  const Status told = Guarded([&] {
    if (status.ok()) {
      answer.Finish();
    } else {
      answer.FinishWith(status.error(), exit_code());
    }
    std::cout.flush();
    return Status();
  });
  if (status.ok()) status = told;
  if (status.ok() && !std::cout) {
    status = Error{ErrorKind::kRunFailed, "cli.output",       "cannot write the answer",
                   "standard output",     "the write failed", "check disk space and pipes"};
  }
  if (status.ok()) return 0;
  Report(status.error());
  return exit_code();
}

}  // namespace plimsoll::cli
