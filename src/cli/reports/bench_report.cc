#include "cli/reports/bench_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/peer/run_measure.h"
#include "cli/reports/latency_json.h"
#include "cli/reports/text_table.h"
#include "cli/version.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr double kLeastNoise = 0.03;  // below this nobody should trust a difference

std::string FileNameOf(const BenchRow& row) {
  return std::filesystem::path(row.measured.model).filename().string();
}

std::string CaseName(const std::string& file, int64_t threads, int64_t callers) {
  return StrCat(file, ", ", Counted(static_cast<size_t>(threads), "thread"),
                callers == 1 ? "" : StrCat(", ", Counted(static_cast<size_t>(callers), "caller")));
}

double MedianOf(const BenchSide& side) { return Percentile(side.latency_ms, 0.5); }

// How far the medians of rounds are apart, as a share of their own median: the middle half.
double NoiseOf(const std::vector<double>& round_medians) {
  if (round_medians.size() < 2) return kLeastNoise;
  const double low = Percentile(round_medians, 0.25);
  const double high = Percentile(round_medians, 0.75);
  return (high - low) / Percentile(round_medians, 0.5);
}

Json SideJson(const BenchSide& side) {
  return {{"runs", side.latency_ms.size()},
          {"latency_ms", LatencyJson(side.latency_ms)},
          {"runs_per_second", side.throughput()},
          {"round_medians", side.round_medians},
          {"resident_above_base_bytes", side.resident.value()}};
}

double Geometric(const std::vector<BenchRow>& rows, double (*of)(const BenchRow&)) {
  double sum = 0;
  for (const BenchRow& row : rows) sum += std::log(of(row));
  return std::exp(sum / static_cast<double>(rows.size()));
}

double RatioOf(const BenchRow& row) { return row.ratio(); }

double MemoryRatioOf(const BenchRow& row) {
  return static_cast<double>(row.ours.resident.value()) /
         static_cast<double>(row.peer->side.resident.value());
}

// A process that gave back as much as it took has grown by nothing: then there is no ratio.
bool MemoryIsComparable(const BenchRow& row) {
  return row.ours.resident.value() > 0 && row.peer->side.resident.value() > 0;
}

bool HasPeer(const std::vector<BenchRow>& rows) { return !rows.empty() && rows[0].peer; }

std::string PercentileCell(const BenchSide& side, double share) {
  return EnoughFor(share, side.latency_ms.size()) ? Rounded(Percentile(side.latency_ms, share))
                                                  : "";
}

std::string ComparisonText(const BenchComparison& comparison) {
  std::vector<std::vector<std::string>> table = {
      {"against " + comparison.version, "before", "now", "ratio", "noise", ""}};
  for (const BenchChange& change : comparison.changes) {
    table.push_back({change.name, Rounded(change.before_ms) + " ms", Rounded(change.now_ms) + " ms",
                     Rounded(change.ratio()), StrCat("+-", Rounded(change.noise * 100), " %"),
                     change.slower()   ? "slower"
                     : change.faster() ? "faster"
                                       : "no difference beyond the noise"});
  }
  std::string text = "\n" + TextTable(table, 1);
  for (const std::string& name : comparison.missing) {
    text += StrCat(name, ": not measured before\n");
  }
  return text;
}

Json RowJson(const BenchRow& row) {
  Json json{{"file", row.measured.model},
            {"threads", row.measured.threads},
            {"callers", row.measured.callers},
            {"load_ms", row.load_ms}};
  json.update(SideJson(row.ours));
  json["planned_peak_bytes"] = row.memory.planned_peak.value();
  json["weights_bytes"] = row.memory.weights.value();
  json["memory"] = MemoryJson({.measured = row.table});
  if (!row.peer) return json;
  json["peer"] = {{"name", "onnxruntime"}, {"version", row.peer->version}};
  json["peer"].update(SideJson(row.peer->side));
  json["peer"]["ratio"] = row.ratio();
  json["peer"]["ratio_spread"] = {row.ratio_low(), row.ratio_high()};
  json["peer"]["output_distance"] = row.peer->distance;
  return json;
}

Error BadBaseline(const std::string& file, std::string why) {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "bench.baseline",
               .what = "cannot compare with the stored measurement",
               .where = file,
               .why = std::move(why),
               .remedy = "give a file that plimsoll bench --save-baseline wrote"};
}

struct Baseline {
  std::string model;
  int64_t threads = 0;
  int64_t callers = 0;
  std::vector<double> round_medians;
  double median_ms = 0;
};

}  // namespace

Json BenchJson(const BenchReport& report) {
  Json json{{"version", Version()}, {"models", Json::array()}};
  for (const BenchRow& row : report.rows) json["models"].push_back(RowJson(row));
  if (HasPeer(report.rows)) {
    json["ratio_geomean"] = Geometric(report.rows, RatioOf);
    if (std::ranges::all_of(report.rows, MemoryIsComparable)) {
      json["memory_geomean"] = Geometric(report.rows, MemoryRatioOf);
    }
  }
  if (report.comparison) {
    Json& told = json["comparison"];
    told["version"] = report.comparison->version;
    told["changes"] = Json::array();
    for (const BenchChange& change : report.comparison->changes) {
      told["changes"].push_back({{"name", change.name},
                                 {"before_ms", change.before_ms},
                                 {"now_ms", change.now_ms},
                                 {"ratio", change.ratio()},
                                 {"noise", change.noise},
                                 {"slower", change.slower()},
                                 {"faster", change.faster()}});
    }
    told["not_measured_before"] = report.comparison->missing;
  }
  return json;
}

std::string BenchText(const BenchReport& report) {
  const bool peer = HasPeer(report.rows);
  const auto any = [&](auto of) { return std::any_of(report.rows.begin(), report.rows.end(), of); };
  const bool callers = any([](const BenchRow& row) { return row.measured.callers > 1; });
  const bool p90 =
      any([](const BenchRow& row) { return EnoughFor(0.9, row.ours.latency_ms.size()); });
  const bool p99 =
      any([](const BenchRow& row) { return EnoughFor(0.99, row.ours.latency_ms.size()); });
  std::vector<std::vector<std::string>> table(1);
  const auto add = [&](bool shown, std::vector<std::string>& row, std::string cell) {
    if (shown) row.push_back(std::move(cell));
  };
  const auto fill = [&](std::vector<std::string>& row, std::vector<std::string> cells) {
    const std::vector<bool> shown = {true, true,  callers, true, true, p90,
                                     p99,  !peer, true,    peer, peer, peer};
    for (size_t i = 0; i < cells.size(); ++i) add(shown[i], row, std::move(cells[i]));
  };
  fill(table[0], {"model", "threads", "callers", "runs", "median ms", "p90 ms", "p99 ms", "runs/s",
                  peer ? "memory" : "on device", "ort ms", "ratio (spread)", "ort memory"});
  for (const BenchRow& row : report.rows) {
    std::vector<std::string> cells = {
        FileNameOf(row),
        StrCat(row.measured.threads),
        StrCat(row.measured.callers),
        StrCat(row.ours.latency_ms.size()),
        Rounded(MedianOf(row.ours)),
        PercentileCell(row.ours, 0.9),
        PercentileCell(row.ours, 0.99),
        Rounded(row.ours.throughput()),
        FormatBytes(peer ? row.ours.resident : row.table.device.total())};
    if (row.peer) {
      cells.push_back(Rounded(MedianOf(row.peer->side)));
      cells.push_back(StrCat(Rounded(row.ratio()), " (", Rounded(row.ratio_low()), "-",
                             Rounded(row.ratio_high()), ")"));
      cells.push_back(FormatBytes(row.peer->side.resident));
    }
    fill(table.emplace_back(), std::move(cells));
  }
  std::string text = TextTable(table, 1);
  if (peer) {
    double distance = 0;
    for (const BenchRow& row : report.rows) distance = std::max(distance, row.peer->distance);
    text += StrCat("ONNX Runtime ", report.rows[0].peer->version, ", geometric mean of the ratio ",
                   Rounded(Geometric(report.rows, RatioOf)), ", outputs differ by ",
                   Rounded(distance), " at most\n");
  }
  if (report.rows.size() == 1) text += MemoryText({.measured = report.rows[0].table}, {});
  if (report.comparison) text += ComparisonText(*report.comparison);
  return text;
}

std::string BenchCsv(const BenchReport& report) {
  std::string csv =
      "model,threads,callers,runs,load_ms,median_ms,least_ms,p90_ms,p99_ms,runs_per_second,"
      "rss_above_base_bytes,planned_peak_bytes,weights_bytes,peer_median_ms,ratio,ratio_low,"
      "ratio_high\n";
  for (const BenchRow& row : report.rows) {
    std::string model = row.measured.model;
    if (model.find_first_of(",\"\n") != std::string::npos) {
      for (size_t at = 0; (at = model.find('"', at)) != std::string::npos; at += 2) {
        model.insert(at, 1, '"');
      }
      model = StrCat("\"", model, "\"");
    }
    const BenchSide& ours = row.ours;
    const auto percentile = [&](double share) {
      return EnoughFor(share, ours.latency_ms.size()) ? StrCat(Percentile(ours.latency_ms, share))
                                                      : std::string();
    };
    csv += StrCat(model, ",", row.measured.threads, ",", row.measured.callers, ",",
                  ours.latency_ms.size(), ",", row.load_ms, ",", MedianOf(ours), ",",
                  Percentile(ours.latency_ms, 0), ",", percentile(0.9), ",", percentile(0.99), ",",
                  ours.throughput(), ",", ours.resident.value(), ",",
                  row.memory.planned_peak.value(), ",", row.memory.weights.value(), ",");
    csv += row.peer ? StrCat(MedianOf(row.peer->side), ",", row.ratio(), ",", row.ratio_low(), ",",
                             row.ratio_high(), "\n")
                    : std::string(",,,\n");
  }
  return csv;
}

Result<BenchComparison> CompareWithBaseline(const std::vector<BenchRow>& rows,
                                            const std::string& json, const std::string& file) {
  BenchComparison comparison;
  std::vector<Baseline> known;
  const nlohmann::json read = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  try {
    comparison.version = StrCat("plimsoll ", read.at("version").get<std::string>());
    for (const nlohmann::json& row : read.at("models")) {
      known.push_back({.model = std::filesystem::path(row.at("file").get<std::string>()).filename(),
                       .threads = row.at("threads"),
                       .callers = row.at("callers"),
                       .round_medians = row.at("round_medians"),
                       .median_ms = row.at("latency_ms").at("p50")});
    }
  } catch (const nlohmann::json::exception& wrong) {
    return BadBaseline(file, read.is_discarded() ? "it is no JSON" : wrong.what());
  }
  for (const BenchRow& row : rows) {
    const std::string name = CaseName(FileNameOf(row), row.measured.threads, row.measured.callers);
    const auto before = std::find_if(known.begin(), known.end(), [&](const Baseline& one) {
      return one.model == FileNameOf(row) && one.threads == row.measured.threads &&
             one.callers == row.measured.callers && one.median_ms > 0;
    });
    if (before == known.end()) {
      comparison.missing.push_back(name);
      continue;
    }
    const double noise = NoiseOf(before->round_medians) + NoiseOf(row.ours.round_medians);
    comparison.changes.push_back({.name = name,
                                  .before_ms = before->median_ms,
                                  .now_ms = MedianOf(row.ours),
                                  .noise = std::max(noise, kLeastNoise)});
  }
  return comparison;
}

}  // namespace plimsoll::cli
