#include "cli/reports/profile_table.h"

#include <filesystem>

#include "profile/csv_report.h"

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

}  // namespace plimsoll::cli
