// Tables of operator memory and pages of reports, from anybody: build/fuzz/report_input_fuzz
// -max_len=16384
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "profile/csv_report.h"
#include "profile/report_page.h"

namespace {

using namespace plimsoll;

// What is shown can be written, and what is written reads back the same.
void MustReadBack(const profile::Report& report) {
  const std::string page = profile::ReportPage(report);
  const auto again = profile::ReadReportPage(page, "f");
  if (!again.ok() || profile::ReportPage(*again) != page) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto report = profile::ReadReportPage(text, "f"); report.ok()) MustReadBack(*report);
  std::istringstream in(text);
  profile::CsvReport rows(50);
  const auto reading = profile::ReadOperatorMemory(
      in, "f", [&](profile::OperatorMemoryRow&& row) { rows.Add(std::move(row)); });
  if (!reading.ok()) return 0;
  profile::Report report{"t", "m", rows.Finish("f", *reading)};
  const std::string page = profile::ReportPage(report);
  if (!profile::IsReportPage(page)) __builtin_trap();
  return 0;
}
