#include "cli/reports/profile_page.h"

#include "cli/inputs/text_file.h"
#include "cli/version.h"
#include "profile/csv_report.h"
#include "profile/recording_report.h"
#include "profile/report_page.h"

namespace plimsoll::cli {

Result<std::vector<profile::ReportPlan>> ReadProfileTable(std::istream& in,
                                                          const std::string& path) {
  profile::CsvReport report;
  PLIMSOLL_ASSIGN(const auto reading,
                  profile::ReadOperatorMemory(in, path, [&](profile::OperatorMemoryRow&& row) {
                    report.Add(std::move(row));
                  }));
  return report.Finish(std::filesystem::path(path).filename().string(), reading);
}

Result<std::filesystem::path> WriteProfilePage(const profile::Recording& recording,
                                               const std::filesystem::path& table) {
  constexpr std::string_view kTable = "operator_memory";
  std::string name = table.filename().string();
  if (name.starts_with(kTable)) name.replace(0, kTable.size(), "report");
  std::filesystem::path page = table.parent_path() / name;
  page.replace_extension(".html");
  const std::string model = recording.plans.empty() ? "runs" : recording.plans.front().model;
  profile::ReportPlan plan = profile::MakeRecordedPlan(recording, model);
  if (plan.tensors.empty()) return std::filesystem::path();
  const profile::Report report{model, "plimsoll " + Version(), {std::move(plan)}};
  PLIMSOLL_TRY(WriteTextFile(page.string(), profile::ReportPage(report)));
  return page;
}

}  // namespace plimsoll::cli
