#include "plimsoll/replay/replay.h"

#include <memory>
#include <optional>

#include "cli/commands/options.h"
#include "cli/inputs/compressed_file.h"
#include "cli/interrupt.h"
#include "cli/program.h"
#include "cli/reports/progress_line.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

struct ReplayArguments {
  std::string trace;
  std::string capacity;
  std::string checked_part = "1/1";
  replay::ReplayOptions replay;
  bool check_contents = false;
  bool no_check_contents = false;
  bool json = false;
};

constexpr const char* kReplayExamples = R"(
A trace has a heading line event,id,bytes,stream,time_us; events are a
(allocated), f (free asked for) and c (free completed). A memory snapshot of
PyTorch is read as it is; three lines make one:
  torch.cuda.memory._record_memory_history()
  ...                                               # the work
  torch.cuda.memory._dump_snapshot("snapshot.pickle")

Examples:
  plimsoll replay trace.csv.xz
  plimsoll replay snapshot.pickle
  plimsoll replay trace.csv --allocator caching --capacity 16GiB --json
  plimsoll replay trace.csv --find-capacity        the smallest device on which it completes
  plimsoll replay trace.csv --device cuda:0        on an NVIDIA card, every byte looked at)";

Status Replay(const ReplayArguments& options, Answer& answer) {
  replay::ReplayOptions request = options.replay;
  if (options.check_contents && options.no_check_contents) {
    return Error{ErrorKind::kUsage,
                 "cli.one_way",
                 "options that exclude each other",
                 "--check-contents, --no-check-contents",
                 "contents are looked at or not",
                 "give one of them"};
  }
  if (options.check_contents || options.no_check_contents) {
    request.check_contents = options.check_contents;
  }
  PLIMSOLL_ASSIGN(request.checked_part, replay::ParseCheckedPart(options.checked_part));
  if (!options.capacity.empty()) {
    const auto capacity = ParseBytes(options.capacity);
    if (!capacity) {
      return Error{ErrorKind::kUsage,
                   "cli.size",
                   "size not understood",
                   "--capacity",
                   StrCat("'", options.capacity, "'"),
                   "write bytes, or a size such as 16GiB"};
    }
    request.capacity = *capacity;
  }
  PLIMSOLL_ASSIGN(const std::string text, ReadMaybeCompressed(options.trace));
  PLIMSOLL_ASSIGN(const replay::Trace trace, replay::ParseTrace(text, options.trace));
  std::optional<ProgressLine> progress(std::in_place, request.find_capacity ? 0 : request.repeat,
                                       request.find_capacity ? "replaying" : "pass");
  progress->Begin();
  std::optional<KnownSoFar> known;  // once a pass is done
  request.goes_on = [&] {
    if (!known) known.emplace();
    progress->Begin();
    return !Interrupted();
  };
  PLIMSOLL_ASSIGN(const replay::ReplayResult result, replay::Replay(trace, request));
  progress.reset();
  answer.Give(
      [&] {
        Json json = {{"file", options.trace}};
        json.update(Json::parse(result.ToJson()));
        return json;
      },
      [&] { return result.ToText(); });
  return {};
}

}  // namespace

void AddReplay(CLI::App& program, Action& action) {
  auto options = std::make_shared<ReplayArguments>();
  CommandOptions command(program, "replay", "Run an allocation trace through an allocator",
                         kReplayExamples);
  command.Required("trace", options->trace,
                   "A CSV file or a memory snapshot of PyTorch, plain or packed with xz");
  command.Text("--allocator", options->replay.allocator,
               StrCat("One of ", Join(replay::AllocatorNames(), ", ")));
  command.Text("--device", options->replay.device,
               "cpu, cuda:0, far, or fake: addresses without memory behind them");
  command.Text("--capacity", options->capacity, "Memory of the device: a size such as 16GiB");
  command.Whole("--repeat", options->replay.repeat, 1, 1'000'000, "Passes over the trace");
  command.Flag("--check-contents", options->check_contents,
               "Fill every block and look at its bytes before it is freed; default on cuda");
  command.Flag("--no-check-contents", options->no_check_contents, "Do not, on cuda either");
  command.Text("--check-part", options->checked_part,
               "Every N-th block alone, from the K-th: K/N; for several replays at once");
  command.Flag("--find-capacity", options->replay.find_capacity,
               "Find the smallest fake device on which it completes");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Replay(*options, answer); });
}

}  // namespace plimsoll::cli
