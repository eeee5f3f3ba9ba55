#include "cli/reports/output_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using kernels::HostTensor;
using kernels::HostValue;

constexpr size_t kTopScores = 5;

bool HasNumbers(const HostTensor& tensor) {
  using graph::DataType;
  return tensor.type != DataType::kString && tensor.type != DataType::kComplex64 &&
         tensor.type != DataType::kComplex128 && tensor.type != DataType::kUndefined;
}

// One row: every dimension but the last is 1.
bool IsRow(const HostTensor& tensor) {
  return !tensor.dims.empty() && tensor.dims.back() > 1 && tensor.elements() == tensor.dims.back();
}

std::vector<OutputSummary::Score> TopOf(const HostTensor& tensor) {
  std::vector<OutputSummary::Score> scores;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double score = kernels::LoadDouble(tensor.type, tensor.data.get(), i);
    if (!std::isnan(score)) scores.push_back({i, score});
  }
  const size_t kept = std::min(kTopScores, scores.size());
  std::partial_sort(scores.begin(), scores.begin() + static_cast<int64_t>(kept), scores.end(),
                    [](const auto& a, const auto& b) {
                      return a.score != b.score ? a.score > b.score : a.index < b.index;
                    });
  scores.resize(kept);
  return scores;
}

Json NumberOrNull(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? Json(*number) : Json();
}

}  // namespace

OutputSummary SummaryOf(const std::string& name, const HostValue& value) {
  OutputSummary summary;
  summary.name = name;
  if (value.kind != HostValue::Kind::kTensor) {
    summary.type = value.kind == HostValue::Kind::kSequence ? "sequence" : "optional";
    return summary;
  }
  const HostTensor& tensor = value.tensor;
  summary.type = StrCat(graph::Name(tensor.type), "[", Join(tensor.dims, ","), "]");
  if (!HasNumbers(tensor)) return summary;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double element = kernels::LoadDouble(tensor.type, tensor.data.get(), i);
    if (std::isnan(element)) {
      ++summary.nans;
      continue;
    }
    summary.least = std::min(summary.least.value_or(element), element);
    summary.most = std::max(summary.most.value_or(element), element);
    sum += element;
    ++counted;
  }
  if (counted > 0) summary.mean = sum / static_cast<double>(counted);
  if (graph::IsFloating(tensor.type) && IsRow(tensor)) summary.top = TopOf(tensor);
  return summary;
}

std::string SummaryText(const OutputSummary& summary) {
  std::string text = StrCat(summary.name, " ", summary.type);
  if (summary.least && summary.type.ends_with("[]")) {
    text += fmt::format(": {:.4g}", *summary.least);
  } else if (summary.least) {
    text += fmt::format(": min {:.4g}, max {:.4g}, mean {:.4g}", *summary.least, *summary.most,
                        *summary.mean);
  }
  if (summary.nans > 0) text += fmt::format(", {} NaN", summary.nans);
  std::vector<std::string> top;
  for (const auto& [index, score] : summary.top)
    top.push_back(fmt::format("{} ({:.4g})", index, score));
  if (!top.empty()) text += StrCat("\n                  top: ", Join(top, ", "));
  return text;
}

Json SummaryJson(const OutputSummary& summary) {
  Json json{{"name", summary.name},
            {"type", summary.type},
            {"min", NumberOrNull(summary.least)},
            {"max", NumberOrNull(summary.most)},
            {"mean", NumberOrNull(summary.mean)},
            {"nan_count", summary.nans}};
  if (!summary.top.empty()) json["top"] = Json::array();
  for (const OutputSummary::Score& score : summary.top) {
    json["top"].push_back({{"index", score.index}, {"score", NumberOrNull(score.score)}});
  }
  return json;
}

}  // namespace plimsoll::cli
