#include <fmt/format.h>

#include <algorithm>

#include "cli/reports/clearing_report.h"
#include "cli/reports/plan/plan_report.h"
#include "cli/reports/plan/waterline_picture.h"
#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr int kHeight = 6;
constexpr size_t kShownOwners = 6;
constexpr size_t kShownNotes = 10;

// On a terminal as wide as that is.
int PictureWidth() {
  constexpr int kLabels = 12;
  constexpr int kUsual = 64;
  return std::max(kUsual, static_cast<int>(OutputColumns()) - kLabels);
}

std::string Share(Bytes part, Bytes whole) {
  if (whole == Bytes(0)) return "1.000";
  return fmt::format("{:.3f}",
                     static_cast<double>(part.value()) / static_cast<double>(whole.value()));
}

std::string PortsText(const std::vector<PortUse>& ports) {
  const auto in_place =
      std::count_if(ports.begin(), ports.end(), [](const PortUse& port) { return port.in_place; });
  std::string out =
      fmt::format("Zero copy: {} of {} inputs and outputs in place\n", in_place, ports.size());
  for (const PortUse& port : ports) {
    if (port.in_place) continue;
    out += fmt::format("  {} '{}' is copied: {}\n", port.input ? "input" : "output", port.name,
                       port.reason);
  }
  return out;
}

// But for what is told of inputs and outputs that are copied.
std::vector<std::string> NotesOf(const PlanReport& report) {
  std::vector<std::string> notes;
  for (const auto& [subject, text] : report.notes) {
    const bool told = std::any_of(report.ports.begin(), report.ports.end(), [&](const auto& port) {
      return !port.in_place && port.name == subject && text.ends_with(port.reason);
    });
    if (!told) notes.push_back(StrCat(subject, ": ", text));
  }
  return notes;
}

std::string Certificate(const PlanReport& report) {
  if (report.gears > 1) return fmt::format("shared by {} gears", report.gears);
  if (report.optimal_for_order && report.optimal_order()) return "optimal: no order needs less";
  if (report.optimal_for_order) return "optimal for this order";
  return report.optimal_order() ? "the order is optimal, the placement is not proven so"
                                : "not proven optimal";
}

std::string PackedText(const engine::PackedStore::Packed& packed) {
  if (packed.weights == 0) return "";
  std::string out = fmt::format("Packed weights: {} {} {}, plain {}",
                                Counted(static_cast<size_t>(packed.weights), "constant"),
                                packed.weights == 1 ? "takes" : "take", FormatBytes(packed.packed),
                                FormatBytes(packed.plain));
  if (packed.kept_plain > Bytes(0)) {
    out +=
        fmt::format("; {} stay plain next to it for other nodes", FormatBytes(packed.kept_plain));
  }
  out += packed.more() == Bytes(0)
             ? ": as much as plain alone\n"
             : fmt::format(": {} more than plain alone\n", FormatBytes(packed.more()));
  if (packed.more() > Bytes(0)) {
    out += fmt::format("  {}; memory_optimization_policy=MemoryPriority keeps the smaller form\n",
                       kWhatPackingBuys);
  }
  return out;
}

std::string TechniquesText(const std::vector<compile::Technique>& techniques) {
  std::string out;
  size_t width = 0;
  for (const compile::Technique& technique : techniques) {
    width = std::max(width, technique.name.size());
  }
  for (const compile::Technique& technique : techniques) {
    const bool loses = technique.gained < Bytes(0);
    out += fmt::format("  {:<{}} {:>5} taken, {:>5} declined, {} {}{}\n", technique.name, width,
                       technique.taken, technique.declined, loses ? "costs" : "gains",
                       FormatBytes(loses ? Bytes(0) - technique.gained : technique.gained),
                       technique.reason.empty() ? "" : StrCat(": ", technique.reason));
  }
  return out;
}

std::string CutsText(const PlanReport& report) {
  if (!report.cuts) return "";
  constexpr size_t kMostNamed = 8;
  const std::vector<std::string>& single = report.cuts->single;
  std::string out =
      fmt::format("  {} in {} {} planned as soon as a run knows their sizes, {} by {}\n",
                  Counted(static_cast<size_t>(report.cuts->planned_nodes), "node"),
                  report.cuts->stretches == 1 ? "1 stretch"
                                              : fmt::format("{} stretches", report.cuts->stretches),
                  report.cuts->planned_nodes == 1 ? "is" : "are",
                  single.size() == 1 ? "1 runs" : fmt::format("{} run", single.size()),
                  single.size() == 1 ? "itself" : "themselves");
  for (size_t i = 0; i < single.size() && i < kMostNamed; ++i) {
    out += fmt::format("    {}\n", single[i]);
  }
  if (single.size() > kMostNamed)
    out += fmt::format("    and {} more\n", single.size() - kMostNamed);
  return out;
}

std::string SubjectText(const PlanReport& report) {
  switch (report.subject) {
    case PlanReport::Subject::kFile:
      return "  the file's graph, before passes: not what a run executes\n";
    case PlanReport::Subject::kEstimate:
      return fmt::format(
          "  cannot be planned before it runs: {}\n"
          "{}"
          "  what follows is an estimate: the file's graph, before passes\n",
          report.reason, CutsText(report));
    default:
      return "";
  }
}

std::string ModelText(const PlanReport& report, bool color) {
  std::string out;
  const auto heading = [&](const std::string& text) {
    out += fmt::format("{}{}{}\n", color ? "\033[1m" : "", text, color ? "\033[0m" : "");
  };
  const bool program = report.subject == PlanReport::Subject::kProgram;
  heading(fmt::format("{}  {}, {}, {} in {:.0f} ms and verified", report.file,
                      Counted(static_cast<size_t>(report.nodes), "node"),
                      Counted(static_cast<size_t>(report.buffers), "buffer"),
                      program ? "compiled and planned" : "planned", report.planning_ms));
  out += SubjectText(report);
  out += fmt::format("  waterline         {:>12}   {}\n", FormatBytes(report.peak),
                     Certificate(report));
  const bool alone = report.gears < 2;
  const auto beside = [&](const char* what, Bytes bytes) {
    return alone ? fmt::format("waterline / {} = {}", what, Share(report.peak, bytes))
                 : std::string("of these sizes alone");
  };
  out += fmt::format("  lower bound       {:>12}   {}\n", FormatBytes(report.lower_bound),
                     beside("bound", report.lower_bound));
  out += fmt::format("  plain lives       {:>12}   in the file's order; {}\n",
                     FormatBytes(report.plain_peak), beside("that", report.plain_peak));
  if (report.sizes_from_data > 0) {
    out += fmt::format("  {} that only data tells {} here as 1\n",
                       Counted(static_cast<size_t>(report.sizes_from_data), "size"),
                       report.sizes_from_data == 1 ? "counts" : "count");
  }
  if (report.deadline_hit)
    out += "  the deadline cut the search: another run may answer differently\n";
  out += fmt::format("\n{}\n", WaterlinePicture(report.waterline, PictureWidth(), kHeight));
  heading("Regions");
  for (const auto& row : report.regions) {
    out += fmt::format("  {:<16} {:>12}  {:>5} {}, aligned to {}{}\n", row.name,
                       FormatBytes(row.bytes), row.buffers, row.buffers == 1 ? "buffer" : "buffers",
                       row.alignment, row.from_device ? "" : ", not taken from the device");
  }
  if (report.fetches + report.sends + report.host_nodes > 0) {
    out += fmt::format("  on the host: {}; in each run at most {} fetched ({}), {} sent ({})\n",
                       Counted(static_cast<size_t>(report.host_nodes), "node"),
                       Counted(static_cast<size_t>(report.fetches), "tensor"),
                       FormatBytes(report.fetched), report.sends, FormatBytes(report.sent));
  }
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
  out += PackedText(report.packed);
  if (!report.techniques.empty()) heading("Techniques");
  out += TechniquesText(report.techniques);
  out += PortsText(report.ports);
  const std::vector<std::string> notes = NotesOf(report);
  if (!notes.empty()) heading("Notes");
  for (size_t i = 0; i < std::min(kShownNotes, notes.size()); ++i) {
    out += fmt::format("  {}\n", notes[i]);
  }
  if (notes.size() > kShownNotes) {
    out += fmt::format("  ... and {} more\n", notes.size() - kShownNotes);
  }
  return out;
}

// How the feature maps of several graphs come to one figure.
std::string SharingText(const PlanReports& reports) {
  std::string out;
  const bool shared = reports.policy == 1 || reports.policy == 2 || reports.policy == 4;
  const bool expands = reports.policy == 3 || reports.policy == 4;
  for (const bool dynamic : {false, true}) {
    size_t graphs = 0;
    Bytes sum;
    Bytes largest;
    for (const PlanReport& model : reports.models) {
      if (model.dynamic != dynamic) continue;
      ++graphs;
      sum += model.feature_map;
      largest = std::max(largest, model.feature_map);
    }
    if (graphs == 0 || (graphs == 1 && !dynamic)) continue;
    const char* kind = dynamic ? "with sizes open in the file" : "with fixed sizes";
    if (!dynamic && !shared) {
      out += fmt::format("  {} {} keep their feature maps: {} in all; policy 2 would share {}\n",
                         Counted(graphs, "graph"), kind, FormatBytes(sum), FormatBytes(largest));
    } else {
      out += fmt::format(
          "  {} {} {} {} of {}{}\n", Counted(graphs, "graph"), kind,
          graphs == 1 ? "takes" : "share", !dynamic || expands ? "one range that grows" : "a pool",
          FormatBytes(largest), graphs == 1 ? "" : StrCat(", in place of ", FormatBytes(sum)));
    }
  }
  return out;
}

}  // namespace

std::string PlanText(const PlanReports& reports, bool color) {
  std::string out;
  for (const PlanReport& report : reports.models) out += ModelText(report, color);
  out +=
      fmt::format("{}Session of {}, static_memory_policy {}{}\n", color ? "\033[1m" : "",
                  Counted(reports.models.size(), "model"), reports.policy, color ? "\033[0m" : "");
  if (!reports.memory) return out + "  what it takes is not known before it runs\n";
  out += SharingText(reports) + MemoryText({.predicted = reports.table()}, reports.limit);
  if (reports.usable > Bytes(0) && reports.table().resident() > reports.usable) {
    out +=
        fmt::format("  this machine has {}: it cannot be run here\n", FormatBytes(reports.usable));
  }
  return out;
}

}  // namespace plimsoll::cli
