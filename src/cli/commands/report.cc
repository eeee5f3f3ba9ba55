#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "cli/commands/options.h"
#include "cli/inputs/text_file.h"
#include "cli/program.h"
#include "cli/reports/profile_table.h"
#include "plimsoll/base/text.h"
#include "profile/report_page.h"

namespace plimsoll::cli {
namespace {

using profile::ReportPlan;

struct ReportArguments {
  std::vector<std::string> files;
  std::string output;
  int64_t top = 0;
  bool json = false;
};

constexpr const char* kReportExamples = R"(
A file is a page that `plimsoll plan --html` or this command wrote, or a table
with the columns of operator_memory_<stamp>.csv, ours or another tool's; of a
folder every such table is taken.

Examples:
  plimsoll report operator_memory_1.csv                 writes report.html
  plimsoll report before.html after.html -o both.html   side by side on the same axes
  plimsoll report profile/ --top 10                     answers here: who owns the peak)";

constexpr size_t kMostPlans = 16;
constexpr size_t kLookedAt = size_t{1} << 16;  // bytes of a file, to tell what it is

Error CannotRead(const std::string& path, std::string why) {
  return {ErrorKind::kBadFile,
          "report.file",
          "cannot read the file",
          path,
          std::move(why),
          "give a page of plimsoll plan --html, an operator_memory table, or a folder of these"};
}

std::string NameOf(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Result<std::vector<ReportPlan>> ReadOne(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return CannotRead(path, std::strerror(errno));
  std::string start(kLookedAt, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(in.gcount()));
  if (start.starts_with("<!doctype html>")) {
    PLIMSOLL_ASSIGN(const std::string page, ReadTextFile(path));
    PLIMSOLL_ASSIGN(profile::Report report, profile::ReadReportPage(page, path));
    for (ReportPlan& plan : report.plans) plan.name = StrCat(NameOf(path), ": ", plan.name);
    return std::move(report.plans);
  }
  in.clear();
  in.seekg(0);
  return ReadProfileTable(in, path);
}

// The tables of a folder, by name; the file itself where it is none.
Result<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("operator_memory") && name.ends_with(".csv")) {
      files.push_back(entry.path().string());
    }
  }
  if (failed) return CannotRead(path, failed.message());
  if (files.empty()) return CannotRead(path, "the folder has no operator_memory_<stamp>.csv");
  std::sort(files.begin(), files.end());
  return files;
}

Result<profile::Report> ReadAll(const ReportArguments& options) {
  profile::Report report;
  for (const std::string& path : options.files) {
    report.title += StrCat(report.title.empty() ? "" : ", ", NameOf(path));
    PLIMSOLL_ASSIGN(const std::vector<std::string> files, FilesOf(path));
    for (const std::string& file : files) {
      PLIMSOLL_ASSIGN(std::vector<ReportPlan> plans, ReadOne(file));
      std::move(plans.begin(), plans.end(), std::back_inserter(report.plans));
      if (report.plans.size() > kMostPlans) {
        return Error{ErrorKind::kUsage,
                     "report.too_many",
                     "too many plans for one page",
                     file,
                     StrCat("a page shows ", kMostPlans, " side by side"),
                     "give fewer files"};
      }
    }
  }
  return report;
}

std::string PeakOperator(const ReportPlan& plan) {
  const int64_t step = plan.peak_step();
  return step < 0 ? std::string() : plan.steps[static_cast<size_t>(step)].name;
}

std::string TopText(const ReportPlan& plan, size_t top) {
  std::string out = fmt::format("{}\n  peak {}", plan.name, FormatBytes(plan.peak));
  const int64_t step = plan.peak_step();
  if (step >= 0) {
    out += fmt::format(" at {}, step {} of {}", PeakOperator(plan), step, plan.steps.size());
  }
  if (plan.lower_bound > Bytes(0)) {
    const Bytes above = plan.peak - plan.lower_bound;
    out += fmt::format(
        ", {:.1f} % above the lower bound of {}",
        100.0 * static_cast<double>(above.value()) / static_cast<double>(plan.lower_bound.value()),
        FormatBytes(plan.lower_bound));
  }
  out += "\n";
  const auto owners = profile::OwnersAt(plan, step);
  for (size_t i = 0; i < std::min(top, owners.size()); ++i) {
    out += fmt::format("  {:>12}  {}{}\n", FormatBytes(owners[i].bytes), owners[i].name,
                       owners[i].producer.empty() || owners[i].producer == owners[i].name
                           ? ""
                           : StrCat("  made by ", owners[i].producer));
  }
  if (owners.size() > top) out += fmt::format("  ... and {} more\n", owners.size() - top);
  for (const auto& [who, text] : plan.notes) {
    if (plan.source == "csv") out += fmt::format("  note: {}: {}\n", who, text);
  }
  return out;
}

Json TopJson(const ReportPlan& plan, size_t top) {
  Json json = {{"name", plan.name},
               {"peak_bytes", plan.peak.value()},
               {"peak_step", plan.peak_step()},
               {"peak_node", PeakOperator(plan)},
               {"lower_bound_bytes", nullptr},
               {"tensors", plan.tensors.size()},
               {"steps", plan.steps.size()},
               {"peak_buffers", Json::array()},
               {"notes", Json::array()}};
  if (plan.lower_bound > Bytes(0)) json["lower_bound_bytes"] = plan.lower_bound.value();
  const auto owners = profile::OwnersAt(plan, plan.peak_step());
  for (size_t i = 0; i < std::min(top, owners.size()); ++i) {
    json["peak_buffers"].push_back({{"name", owners[i].name},
                                    {"bytes", owners[i].bytes.value()},
                                    {"made_by", owners[i].producer}});
  }
  for (const auto& [who, text] : plan.notes) json["notes"].push_back({{"of", who}, {"text", text}});
  return json;
}

Status WriteReport(const ReportArguments& options, Answer& answer) {
  PLIMSOLL_TRY(answer.WillWrite({options.output}));
  PLIMSOLL_ASSIGN(const profile::Report report, ReadAll(options));
  const bool answers = options.top > 0 || options.json;
  const std::string output = !options.output.empty() ? options.output
                             : answers               ? std::string()
                                                     : std::string("report.html");
  if (!output.empty()) {
    PLIMSOLL_TRY(WriteTextFile(output, profile::ReportPage(report)));
    std::cerr << StrCat("the report is in ", output, "\n");
  }
  const auto top = static_cast<size_t>(options.top);
  if (options.json) {
    Json json = {{"plans", Json::array()}};
    for (const ReportPlan& plan : report.plans) json["plans"].push_back(TopJson(plan, top));
    answer.Add(json);
  } else if (options.top > 0) {
    for (const ReportPlan& plan : report.plans) answer.Print(TopText(plan, top));
  }
  return {};
}

}  // namespace

void AddReport(CLI::App& program, Action& action) {
  auto options = std::make_shared<ReportArguments>();
  CommandOptions command(program, "report", "Show where the memory went, in one page",
                         kReportExamples);
  command.RequiredList("file", options->files, "Pages, operator_memory tables or folders of these");
  command.Text("-o,--output", options->output, "The file of the page (default report.html)");
  command.Whole("--top", options->top, 0, 1'000'000,
                "Print so many owners of the peak here, and write no page unless -o is given");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return WriteReport(*options, answer); });
}

}  // namespace plimsoll::cli
