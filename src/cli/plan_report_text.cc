#include <fmt/format.h>

#include <algorithm>

#include "cli/clearing_report.h"
#include "cli/plan_report.h"
#include "cli/waterline_picture.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr int kWidth = 64;
constexpr int kHeight = 6;
constexpr size_t kShownOwners = 6;
constexpr size_t kShownNotes = 10;

std::string Share(Bytes part, Bytes whole) {
  if (whole == Bytes(0)) return "1.000";
  return fmt::format("{:.3f}",
                     static_cast<double>(part.value()) / static_cast<double>(whole.value()));
}

std::string PortsText(const std::vector<PlanReport::Port>& ports) {
  const auto in_place = std::count_if(ports.begin(), ports.end(),
                                      [](const PlanReport::Port& port) { return port.in_place; });
  std::string out =
      fmt::format("Zero copy: {} of {} inputs and outputs in place\n", in_place, ports.size());
  for (const PlanReport::Port& port : ports) {
    if (port.in_place) continue;
    out += fmt::format("  {} '{}' is copied: {}\n", port.input ? "input" : "output", port.name,
                       port.reason);
  }
  return out;
}

std::string ModelText(const PlanReport& report, bool color) {
  std::string out;
  const auto heading = [&](const std::string& text) {
    out += fmt::format("{}{}{}\n", color ? "\033[1m" : "", text, color ? "\033[0m" : "");
  };
  heading(fmt::format("{}  {} nodes, {} buffers, planned in {:.0f} ms and verified", report.file,
                      report.nodes, report.buffers, report.planning_ms));
  out += fmt::format("  waterline         {:>12}   {}\n", FormatBytes(report.peak),
                     report.optimal ? "proven optimal for this order" : "not proven optimal");
  out += fmt::format("  lower bound       {:>12}   waterline / bound = {}\n",
                     FormatBytes(report.lower_bound), Share(report.peak, report.lower_bound));
  out += fmt::format("  file's order      {:>12}   waterline / plain lives in that order = {}\n",
                     FormatBytes(report.file_order_lower_bound),
                     Share(report.peak, report.file_order_lower_bound));
  if (report.compiled_peak) {
    out += fmt::format(
        "  compiled          {:>12}   after fusion, with kernels' workspaces: what a run takes\n",
        FormatBytes(*report.compiled_peak));
  }
  if (!report.counted_as_one.empty()) {
    out += fmt::format("  counted as 1: {} (give sizes with --shape)\n",
                       Join(report.counted_as_one, ", "));
  }
  if (report.deadline_hit)
    out += "  the deadline cut the search: another run may answer differently\n";
  out += fmt::format("\n{}\n", WaterlinePicture(report.waterline, kWidth, kHeight));
  heading("Regions");
  for (const auto& row : report.regions) {
    out += fmt::format("  {:<16} {:>12}  {:>5} buffers, aligned to {}{}\n", row.name,
                       FormatBytes(row.bytes), row.buffers, row.alignment,
                       row.from_device ? "" : ", not taken from the device");
  }
  out += fmt::format("  {:<16} {:>12}\n", "from the device", FormatBytes(report.total));
  if (!report.peak_owners.empty()) {
    heading(fmt::format("At the peak, {}", report.peak_node));
    for (size_t i = 0; i < std::min(kShownOwners, report.peak_owners.size()); ++i) {
      out += fmt::format("  {:>12}  {}\n", FormatBytes(report.peak_owners[i].bytes),
                         report.peak_owners[i].name);
    }
    if (report.peak_owners.size() > kShownOwners) {
      out += fmt::format("  ... and {} more\n", report.peak_owners.size() - kShownOwners);
    }
  }
  if (report.clearing) out += ClearingText(*report.clearing);
  if (report.merged_batches.blocks > 0) {
    out += fmt::format(
        "Merged blocks: {}, {} for continuous groups of different batches, which costs {}\n",
        report.merged_batches.blocks, FormatBytes(report.merged_batches.bytes),
        FormatBytes(report.merged_batches.cost));
  }
  out += PortsText(report.ports);
  if (!report.notes.empty()) heading("Notes");
  for (size_t i = 0; i < std::min(kShownNotes, report.notes.size()); ++i) {
    out += fmt::format("  {}: {}\n", report.notes[i].first, report.notes[i].second);
  }
  if (report.notes.size() > kShownNotes) {
    out += fmt::format("  ... and {} more\n", report.notes.size() - kShownNotes);
  }
  return out;
}

}  // namespace

std::string PlanText(const PlanReports& reports, bool color) {
  std::string out;
  for (const PlanReport& report : reports.models) out += ModelText(report, color);
  out += fmt::format("{}Session of {} models, static_memory_policy {}{}\n", color ? "\033[1m" : "",
                     reports.models.size(), reports.policy, color ? "\033[0m" : "");
  out += fmt::format(
      "  feature maps     {:>12}   reserved once each model has run\n",
      reports.feature_map_reserved ? FormatBytes(*reports.feature_map_reserved) : "not known");
  out += fmt::format("  weights          {:>12}\n", FormatBytes(reports.weights));
  if (reports.variables > Bytes(0)) {
    out += fmt::format("  variables        {:>12}\n", FormatBytes(reports.variables));
  }
  return out;
}

}  // namespace plimsoll::cli
