#include <fmt/format.h>

#include <algorithm>

#include "cli/reports/model_report.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kShownRows = 12;
constexpr size_t kShownMismatches = 10;

// Lines under headings, the headings bold on a terminal.
class Page {
 public:
  explicit Page(bool color) : color_(color) {}

  void Heading(std::string_view text) {
    out_ += color_ ? fmt::format("\033[1m{}\033[0m\n", text) : fmt::format("{}\n", text);
  }
  template <typename... Parts>
  void Line(fmt::format_string<Parts...> format, Parts&&... parts) {
    out_ += "  " + fmt::format(format, std::forward<Parts>(parts)...) + "\n";
  }
  std::string Take() { return std::move(out_); }

 private:
  bool color_;
  std::string out_;
};

void Ports(Page& page, std::string_view title, const std::vector<ModelReport::Port>& ports) {
  page.Heading(title);
  size_t width = 0;
  for (size_t i = 0; i < std::min(ports.size(), kShownRows); ++i) {
    width = std::max(width, ports[i].name.size());
  }
  for (size_t i = 0; i < std::min(ports.size(), kShownRows); ++i) {
    const std::string size = ports[i].bytes ? FormatBytes(*ports[i].bytes) : "";
    page.Line("{:<{}}  {:<28}  {:>10}", ports[i].name, width, ports[i].type, size);
  }
  if (ports.size() > kShownRows) page.Line("... and {} more", ports.size() - kShownRows);
}

void Operators(Page& page, const ModelReport& report) {
  page.Heading(fmt::format("Operators  {} nodes of {} kinds{}", report.nodes,
                           report.operators.size(),
                           report.bodies > 0 ? fmt::format(", {} bodies", report.bodies) : ""));
  constexpr int kBar = 32;
  const int most = report.operators.empty() ? 1 : report.operators[0].second;
  for (size_t i = 0; i < std::min(report.operators.size(), kShownRows); ++i) {
    const auto& [name, count] = report.operators[i];
    std::string bar;
    for (int cell = 0; cell < std::max(1, count * kBar / most); ++cell) bar += "▇";
    page.Line("{:<24} {:>5}  {}", name, count, bar);
  }
  if (report.operators.size() > kShownRows) {
    page.Line("... and {} more kinds", report.operators.size() - kShownRows);
  }
}

void Weights(Page& page, const ModelReport& report) {
  page.Heading(fmt::format("Weights  {}", FormatBytes(report.weight_bytes)));
  for (const auto& row : report.weights) {
    page.Line("{:<10} {:>5} tensors  {:>10}", row.type, row.tensors, FormatBytes(row.bytes));
  }
  if (report.missing_tensors > 0) {
    page.Line("{} tensors lie in {}, which is not there: the model can be inspected and planned",
              report.missing_tensors, Join(report.missing_files, ", "));
  }
}

void Checks(Page& page, const ModelReport& report) {
  page.Heading("Shapes");
  const auto& check = report.declared;
  page.Line(
      "{} of {} values that the file declares came out the same by our rules{}",
      check.checked - static_cast<int>(check.mismatches.size()), check.checked,
      check.undetermined > 0 ? fmt::format("; {} more depend on data", check.undetermined) : "");
  for (size_t i = 0; i < std::min(check.mismatches.size(), kShownMismatches); ++i) {
    const auto& mismatch = check.mismatches[i];
    page.Line("differs: '{}' is {} in the file, {} by our rule, at {}", mismatch.value,
              mismatch.declared, mismatch.computed, mismatch.node);
  }
  if (report.test_data) {
    page.Line("{} stored outputs compared, {} differ, {} depend on data", report.test_data->checked,
              report.test_data->mismatches.size(), report.test_data->undetermined);
    for (const std::string& mismatch : report.test_data->mismatches) {
      page.Line("differs: {}", mismatch);
    }
  }
  const graph::OpenDimensions& open = report.open;
  if (!open.names.empty()) page.Line("dynamic: {}", Join(open.names, ", "));
  if (!open.of_inputs.empty()) page.Line("without a name: {}", Join(open.of_inputs, ", "));
  if (open.from_data > 0) page.Line("known from data alone: {} sizes", open.from_data);
  if (open.names.empty() && open.of_inputs.empty() && open.from_data == 0) {
    page.Line("every dimension is a number");
  }
}

void Unsupported(Page& page, const ModelReport& report) {
  if (report.unsupported.empty()) return;
  page.Heading("Not known to this build");
  for (size_t i = 0; i < std::min(report.unsupported.size(), kShownRows); ++i) {
    const auto& row = report.unsupported[i];
    page.Line("{:<24} {:>5}  first at {}{}", row.name, row.count, row.node,
              row.nearest.empty() ? "" : fmt::format("; the nearest known is {}", row.nearest));
  }
  if (report.unsupported.size() > kShownRows) {
    page.Line("... and {} more", report.unsupported.size() - kShownRows);
  }
  page.Line("their outputs take the shapes that the file declares; they can be planned, not run");
}

}  // namespace

std::string ReportText(const ModelReport& report, bool color) {
  Page page(color);
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : report.opsets) {
    opsets.push_back(fmt::format("{} {}", domain.empty() ? "opset" : domain, version));
  }
  page.Heading(fmt::format("{}  IR {}, {}{}", report.file, report.ir_version, Join(opsets, ", "),
                           report.producer.empty() ? "" : ", made by " + report.producer));
  Ports(page, "Inputs", report.inputs);
  Ports(page, "Outputs", report.outputs);
  Weights(page, report);
  Operators(page, report);
  if (!report.largest_values.empty()) Ports(page, "Largest tensors", report.largest_values);
  if (!report.memory_attributes.empty()) {
    page.Heading("Memory asked for");
    for (size_t i = 0; i < std::min(report.memory_attributes.size(), kShownRows); ++i) {
      page.Line("{}: {}", report.memory_attributes[i].first, report.memory_attributes[i].second);
    }
  }
  Checks(page, report);
  Unsupported(page, report);
  return page.Take();
}

}  // namespace plimsoll::cli
