#include <array>
#include <memory>
#include <optional>

#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/inputs/conformance_case.h"
#include "cli/interrupt.h"
#include "cli/program.h"
#include "cli/reports/progress_line.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using Outcome = CaseVerdict::Outcome;

struct ConformanceArguments {
  std::string folder;
  std::string filter;
  std::string batch;
  int64_t threads = 0;
  std::string device;
  bool plain = false;
  ConfigArguments config;
  bool json = false;
};

constexpr const char* kConformanceExamples = R"(
Examples:
  plimsoll conformance build/cases                   every case below the folder
  plimsoll conformance build/cases --filter topk     those with 'topk' in their name
  plimsoll conformance build/cases --policy 4 --threads 2
  plimsoll conformance build/cases --json

A case is a folder with model.onnx and test_data_set_N/{input,output}_M.pb;
tolerance.json next to the model gives rtol and atol. The data sets of a case
run in one session, inside their plans, over poisoned memory and node by node.
Exit code 5 when a case failed, 4 when some are only unsupported.)";

constexpr std::array<const char*, 4> kNames = {"passed", "random", "failed", "unsupported"};

const char* Name(Outcome outcome) { return kNames[static_cast<size_t>(outcome)]; }

struct Tally {
  std::array<int, 4> counts{};
  std::vector<CaseVerdict> verdicts;
  int operator[](Outcome outcome) const { return counts[static_cast<size_t>(outcome)]; }
};

Json ToJson(const Tally& tally) {
  Json json;
  for (size_t i = 0; i < kNames.size(); ++i) json[kNames[i]] = tally.counts[i];
  json["cases"] = Json::array();
  for (const CaseVerdict& verdict : tally.verdicts) {
    Json row{{"name", verdict.name}, {"outcome", Name(verdict.outcome)}};
    if (!verdict.node.empty()) row["node"] = verdict.node;
    if (!verdict.reason.empty()) row["reason"] = verdict.reason;
    json["cases"].push_back(std::move(row));
  }
  return json;
}

std::string ToText(const Tally& tally) {
  std::string text;
  for (const CaseVerdict& verdict : tally.verdicts) {
    if (verdict.outcome == Outcome::kPassed) continue;
    text += StrCat(Name(verdict.outcome), "  ", verdict.name);
    if (!verdict.node.empty()) text += StrCat("  ", verdict.node);
    text += verdict.reason.empty() ? "\n" : StrCat("  ", verdict.reason, "\n");
  }
  return text + StrCat(tally[Outcome::kPassed], " passed, ", tally[Outcome::kRandom],
                       " random and in range, ", tally[Outcome::kFailed], " failed, ",
                       tally[Outcome::kUnsupported], " unsupported\n");
}

Status Verdict(const Tally& tally) {
  const bool failed = tally[Outcome::kFailed] > 0;
  if (!failed && tally[Outcome::kUnsupported] == 0) return {};
  return Error{.kind = failed ? ErrorKind::kMismatch : ErrorKind::kUnsupported,
               .code = failed ? "conformance.failed" : "conformance.unsupported",
               .what = "not every case passed",
               .where = "",
               .why = StrCat(tally[Outcome::kFailed], " failed, ", tally[Outcome::kUnsupported],
                             " unsupported"),
               .remedy = "the answer names each with its reason"};
}

Error NoCase(const ConformanceArguments& options,
             const std::vector<std::filesystem::path>& folders) {
  std::vector<std::string> names;
  for (const auto& folder : folders) names.push_back(folder.filename().string());
  const auto nearest = NearestName(options.filter, names);
  return Error{.kind = ErrorKind::kUsage,
               .code = "conformance.none",
               .what = "no case was run",
               .where = options.folder,
               .why = StrCat("none of its ", folders.size(), " cases has '", options.filter,
                             "' in its name"),
               .remedy = nearest ? StrCat("did you mean '", *nearest, "'?")
                                 : "leave --filter out, or give a part of a case's name"};
}

Status Conformance(const ConformanceArguments& options, Answer& answer) {
  PLIMSOLL_ASSIGN(const config::EffectiveConfig configured, ResolveArguments(options.config));
  CaseOptions how;
  how.batch = options.batch;
  how.session.device_name = options.device;
  how.session.threads = ThreadsOf(options.threads);
  how.session.load.optimise = !options.plain;
  how.session.config = configured.config;
  PLIMSOLL_ASSIGN(const auto folders, FindCases(options.folder));
  std::optional<ProgressLine> progress(std::in_place, std::ssize(folders), "case");
  Tally tally;
  const KnownSoFar known;
  for (size_t i = 0; i < folders.size() && !Interrupted(); ++i) {
    progress->Begin();
    if (folders[i].filename().string().find(options.filter) == std::string::npos) continue;
    tally.verdicts.push_back(RunCase(folders[i], how));
    ++tally.counts[static_cast<size_t>(tally.verdicts.back().outcome)];
  }
  progress.reset();
  if (tally.verdicts.empty() && !Interrupted()) return NoCase(options, folders);
  answer.Give([&] { return ToJson(tally); }, [&] { return ToText(tally); });
  return Verdict(tally);
}

}  // namespace

void AddConformance(CLI::App& program, Action& action) {
  auto options = std::make_shared<ConformanceArguments>();
  CommandOptions command(program, "conformance", "Run the ONNX standard's own test cases",
                         kConformanceExamples);
  command.Required("folder", options->folder, "A folder with cases, at any depth");
  command.Text("--filter", options->filter, "Only cases whose name contains this");
  command.Text("--batch", options->batch, "The batch to run, where nodes carry batch labels");
  command.Threads(options->threads, "Threads of a run");
  command.Text("--device", options->device, kDeviceHelp);
  command.Flag("--plain", options->plain, "Run the graphs as the files have them, without passes");
  AddConfigArguments(command, options->config);
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Conformance(*options, answer); });
}

}  // namespace plimsoll::cli
