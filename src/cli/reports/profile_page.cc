#include "cli/reports/profile_page.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/inputs/text_file.h"
#include "cli/version.h"
#include "profile/csv_report.h"
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

Result<std::filesystem::path> WriteProfilePage(const std::filesystem::path& table) {
  constexpr std::string_view kTable = "operator_memory";
  std::ifstream in(table, std::ios::binary);
  auto plans = ReadProfileTable(in, table.string());
  // A run that needs no memory of its own has no rows.
  if (!plans.ok() && plans.error().code == "csv.rows") return std::filesystem::path();
  PLIMSOLL_TRY(plans.status());
  const profile::Report report{table.filename().string(), "plimsoll " + Version(),
                               *std::move(plans)};
  std::string name = table.filename().string();
  if (name.starts_with(kTable)) name.replace(0, kTable.size(), "report");
  std::filesystem::path page = table.parent_path() / name;
  page.replace_extension(".html");
  PLIMSOLL_TRY(WriteTextFile(page.string(), profile::ReportPage(report)));
  return page;
}

}  // namespace plimsoll::cli
