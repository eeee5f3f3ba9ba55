#include "plimsoll/plan/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/commands/options.h"
#include "cli/inputs/text_file.h"
#include "cli/interrupt.h"
#include "cli/program.h"
#include "cli/reports/progress_line.h"
#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

struct PackArguments {
  std::string table;
  std::string capacity;
  std::string output;
  int64_t effort = -1;      // not given: plan::DefaultEffort
  double deadline_ms = -1;  // likewise
  std::string assigner = "hybrid";
  int64_t threads = 0;
  bool check = false;
  bool json = false;
};

constexpr int64_t kPackMostSteps = int64_t{1} << 50;

constexpr const char* kPackExamples = R"(
The table has a heading line with id,lower,upper,size and optionally alignment,
offset (fixed), gaps and name. A buffer lives in [lower, upper), but for gaps
such as "3-5 7-9", in which it needs no bytes: [3, 5) and [7, 9).

Examples:
  plimsoll pack buffers.csv                                the lowest peak within the effort
  plimsoll plan model.onnx --csv - | plimsoll pack -       buffers from standard input
  plimsoll pack buffers.csv --capacity 1MiB -o placed.csv  any placement that fits (exit code 3: none)
  plimsoll pack --check placed.csv --capacity 1MiB         verify an answer from anywhere)";

Result<std::optional<Bytes>> ReadCapacity(const PackArguments& options) {
  if (options.capacity.empty()) return std::optional<Bytes>();
  const auto capacity = ParseBytes(options.capacity);
  if (capacity) return std::optional(*capacity);
  return Error{ErrorKind::kUsage,
               "cli.size",
               "size not understood",
               "--capacity",
               StrCat("'", options.capacity, "'"),
               "write bytes, or a size such as 512MiB"};
}

// "30 B", "1.2 MiB (1258291 bytes)".
std::string ExactBytes(Bytes bytes) {
  constexpr int64_t kKibi = 1024;
  const std::string rounded = FormatBytes(bytes);
  return bytes.value() < kKibi ? rounded : fmt::format("{} ({} bytes)", rounded, bytes.value());
}

Status DoesNotFit(const PackArguments& options, Bytes peak, Bytes capacity, std::string why,
                  std::string remedy) {
  return Error{ErrorKind::kDoesNotFit,
               "pack.capacity",
               "the buffers do not fit",
               options.table,
               StrCat("the peak of ", peak, " is ", peak - capacity, " above the capacity of ",
                      capacity, "; ", why),
               std::move(remedy)};
}

Status Check(const PackArguments& options, std::string_view csv, std::optional<Bytes> capacity,
             Answer& answer) {
  PLIMSOLL_ASSIGN(const plan::CheckAnswer checked, plan::CheckText(csv, capacity, options.table));
  if (options.json) {
    answer.Add({{"file", options.table},
                {"valid", true},
                {"peak_bytes", checked.peak_bytes.value()},
                {"lower_bound_bytes", checked.lower_bound_bytes.value()},
                {"fits", checked.fits}});
  } else {
    answer.Print(StrCat("valid: peak ", ExactBytes(checked.peak_bytes), ", lower bound ",
                        ExactBytes(checked.lower_bound_bytes), "\n"));
  }
  if (!checked.fits) {
    const bool proven = checked.lower_bound_bytes > *capacity;
    return DoesNotFit(options, checked.peak_bytes, *capacity,
                      proven ? StrCat("proven: no placement is below ", checked.lower_bound_bytes)
                             : "these offsets are valid",
                      proven ? "raise --capacity" : "raise --capacity, or pack the table anew");
  }
  return {};
}

std::string ShownText(const plan::PackAnswer& answer, size_t buffers, double seconds) {
  const double ratio = answer.lower_bound_bytes.value() == 0
                           ? 1.0
                           : static_cast<double>(answer.peak_bytes.value()) /
                                 static_cast<double>(answer.lower_bound_bytes.value());
  return fmt::format(
      "{}: peak {}, lower bound {}, ratio {:.4f}{}\n"
      "assigner {}, {:.3f} s{}\n",
      Counted(buffers, "buffer"), ExactBytes(answer.peak_bytes),
      ExactBytes(answer.lower_bound_bytes), ratio, answer.optimal ? ", proven optimal" : "",
      answer.assigner, seconds,
      Interrupted()         ? ", cut by the interruption"
      : answer.deadline_hit ? ", cut by the deadline: another run may answer differently"
                            : "");
}

std::string InfeasibleText(const plan::BufferTable& table, const plan::PackAnswer& answer) {
  if (answer.infeasible_set.empty()) return "no proof that nothing fits";
  constexpr size_t kShown = 12;
  std::vector<std::string> names;
  for (const plan::BufferId id : answer.infeasible_set) {
    if (names.size() == kShown) {
      names.push_back(StrCat("and ", answer.infeasible_set.size() - kShown, " more"));
      break;
    }
    names.push_back(table.problem.buffer(id).name);
  }
  if (names.size() == 1) return StrCat("proven: ", names[0], " alone is too large");
  return StrCat("proven: ", answer.infeasible_set_minimal ? "a minimal set" : "a set",
                " that cannot be placed together is ", Join(names, ", "));
}

Status Pack(const PackArguments& options, Answer& answer) {
  PLIMSOLL_TRY(answer.WillWrite({options.output}));
  const auto start = std::chrono::steady_clock::now();
  PLIMSOLL_ASSIGN(const std::optional<Bytes> capacity, ReadCapacity(options));
  PLIMSOLL_ASSIGN(std::string csv, ReadTextFile(options.table));
  if (options.check) return Check(options, csv, capacity, answer);
  PLIMSOLL_ASSIGN(plan::BufferTable table, plan::ReadBufferTable(csv, options.table));
  csv = {};
  plan::PackOptions request;
  request.capacity = capacity;
  if (options.effort < 0) {
    request.effort = plan::DefaultEffort(table.problem, capacity);
  } else {
    request.effort.steps = options.effort;
  }
  if (options.deadline_ms >= 0) request.effort.deadline_ms = options.deadline_ms;
  request.assigner = options.assigner;
  request.threads = ThreadsOf(options.threads);
  const KnownSoFar known;
  request.effort.stop = &InterruptFlag();
  std::optional<ProgressLine> progress(std::in_place, 0, "packing");
  PLIMSOLL_ASSIGN(const plan::PackAnswer packed, plan::PackInPlace(table, request));
  progress.reset();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.output.empty()) {
    PLIMSOLL_TRY(WriteTextFile(options.output, plan::WriteBufferTable(table, packed.offsets)));
  }
  if (options.json) {
    Json json = {{"file", options.table},
                 {"peak_bytes", packed.peak_bytes.value()},
                 {"lower_bound_bytes", packed.lower_bound_bytes.value()},
                 {"fits", packed.fits},
                 {"optimal", packed.optimal},
                 {"seconds", seconds},
                 {"assigner", packed.assigner},
                 {"infeasible", packed.infeasible},
                 {"deadline_hit", packed.deadline_hit},
                 {"buffers", table.offsets.size()}};
    if (!packed.infeasible_set.empty()) {
      json["infeasible_set"] = Json::array();
      for (const plan::BufferId id : packed.infeasible_set) {
        json["infeasible_set"].push_back(table.problem.buffer(id).name);
      }
      json["infeasible_set_minimal"] = packed.infeasible_set_minimal;
    }
    answer.Add(json);
  } else {
    answer.Print(ShownText(packed, table.offsets.size(), seconds));
  }
  if (!packed.fits) {
    return DoesNotFit(
        options, packed.peak_bytes, *capacity, InfeasibleText(table, packed),
        packed.infeasible_set.empty() ? "raise --capacity or --effort" : "raise --capacity");
  }
  return {};
}

}  // namespace

void AddPack(CLI::App& program, Action& action) {
  auto options = std::make_shared<PackArguments>();
  CommandOptions command(program, "pack", "Place buffers given as a table, without a model",
                         kPackExamples);
  command.Required("table", options->table, "A CSV file; -: standard input");
  command.Text("--capacity", options->capacity,
               "A size such as 1MiB: any peak up to this will do; exit with 3 when none is found");
  command.Whole("--effort", options->effort, -1, kPackMostSteps,
                "Search steps; more is slower and never worse; -1: with --capacity until solved, "
                "else 100,000, or 16 per buffer where that is more, and with more than 100,000 "
                "buffers until the peak is at most 1.0001 of the lower bound");
  command.Real("--deadline", options->deadline_ms,
               "End the search after so many milliseconds, 0: never; not given: 10,000 with "
               "--capacity and without --effort, else never");
  command.Text("--assigner", options->assigner,
               StrCat("One of ", Join(plan::AssignerNames(), ", ")));
  command.Threads(options->threads, "Threads of the search; its answer does not depend on them");
  command.Text("-o,--output", options->output,
               "Write the table with offsets to this file; -: standard output");
  command.Flag("--check", options->check, "Verify the offsets in the table");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Pack(*options, answer); });
}

}  // namespace plimsoll::cli
