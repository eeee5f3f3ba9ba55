#include <fmt/format.h>

#include <algorithm>

#include "cli/reports/model/model_report.h"
#include "cli/reports/text_table.h"
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
    std::string line = "  " + fmt::format(format, std::forward<Parts>(parts)...);
    line.resize(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }
  std::string Take() { return std::move(out_); }

 private:
  bool color_;
  std::string out_;
};

// Columns of the three lists of tensors, which stand below each other.
struct PortWidths {
  size_t name = 0;
  size_t type = 0;

  void Fit(const std::vector<ModelReport::Port>& ports) {
    for (size_t i = 0; i < std::min(ports.size(), kShownRows); ++i) {
      name = std::max(name, ports[i].name.size());
      type = std::max(type, ports[i].type.size());
    }
  }
};

void Ports(Page& page, std::string_view title, const std::vector<ModelReport::Port>& ports,
           const PortWidths& widths) {
  page.Heading(title);
  for (size_t i = 0; i < std::min(ports.size(), kShownRows); ++i) {
    const std::string size = ports[i].bytes ? FormatBytes(*ports[i].bytes) : "";
    page.Line("{:<{}}  {:<{}}  {:>10}", ports[i].name, widths.name, ports[i].type, widths.type,
              size);
  }
  if (ports.size() > kShownRows) page.Line("... and {} more", ports.size() - kShownRows);
}

void Operators(Page& page, const ModelReport& report) {
  double parameters = 0;
  double operations = 0;
  int uncounted = 0;
  for (const ModelReport::Operator& row : report.operators) {
    parameters += static_cast<double>(row.parameters);
    operations += static_cast<double>(row.operations);
    uncounted += row.uncounted;
  }
  std::string heading =
      fmt::format("Operators  {} of {}", Counted(static_cast<size_t>(report.nodes), "node"),
                  Counted(report.operators.size(), "kind"));
  if (report.bodies == 1) heading += ", 1 body";
  if (report.bodies > 1) heading += fmt::format(", {} bodies", report.bodies);
  page.Heading(heading);
  constexpr int kBar = 20;
  const int most = report.operators.empty() ? 1 : report.operators[0].count;
  page.Line("{:<24} {:>6}  {:>10}  {:>10}", "operator", "nodes", "parameters", "flop");
  for (size_t i = 0; i < std::min(report.operators.size(), kShownRows); ++i) {
    const ModelReport::Operator& row = report.operators[i];
    std::string bar;
    for (int cell = 0; cell < std::max(1, row.count * kBar / most); ++cell) bar += "▇";
    page.Line("{:<24} {:>6}  {:>10}  {:>10}  {}", row.name, row.count,
              row.parameters > 0 ? Scaled(static_cast<double>(row.parameters)) : "",
              row.operations > 0  ? Scaled(static_cast<double>(row.operations))
              : row.uncounted > 0 ? "open"
                                  : "",
              bar);
  }
  if (report.operators.size() > kShownRows) {
    page.Line("... and {} more", Counted(report.operators.size() - kShownRows, "kind"));
  }
  page.Line("{:<24} {:>6}  {:>10}  {:>10}", "all", report.nodes, Scaled(parameters),
            uncounted == 0 ? Scaled(operations) : "open");
  if (uncounted > 0) {
    page.Line("flop: open where --shape has to give the sizes of {}",
              Counted(static_cast<size_t>(uncounted), "node"));
  } else if (operations > 0) {
    page.Line("flop: additions and multiplications of products, convolutions and attention");
  }
}

void Weights(Page& page, const ModelReport& report) {
  page.Heading(fmt::format("Weights  {}", FormatBytes(report.weight_bytes)));
  for (const auto& row : report.weights) {
    page.Line("{:<10} {:>5} {:<7}  {:>10}", row.type, row.tensors,
              row.tensors == 1 ? "tensor" : "tensors", FormatBytes(row.bytes));
  }
  if (report.missing_tensors > 0) {
    page.Line("{} {} in {}, which is not there: the model can be inspected and planned",
              Counted(static_cast<size_t>(report.missing_tensors), "tensor"),
              report.missing_tensors == 1 ? "lies" : "lie", Join(report.missing_files, ", "));
  }
}

void Checks(Page& page, const ModelReport& report) {
  page.Heading("Shapes");
  const auto& check = report.declared;
  page.Line(
      "{} declared in the file, {} as inferred here{}",
      Counted(static_cast<size_t>(check.checked), "shape"),
      check.mismatches.empty() ? "all" : StrCat(check.checked - std::ssize(check.mismatches)),
      check.undetermined > 0 ? fmt::format("; {} more depend on data", check.undetermined) : "");
  for (size_t i = 0; i < std::min(check.mismatches.size(), kShownMismatches); ++i) {
    const auto& mismatch = check.mismatches[i];
    page.Line("differs: '{}' is {} in the file, {} by our rule, at {}", mismatch.value,
              mismatch.declared, mismatch.computed, mismatch.node);
  }
  if (report.test_data) {
    page.Line("{} compared, {} differ, {} depend on data",
              Counted(static_cast<size_t>(report.test_data->checked), "stored output"),
              report.test_data->mismatches.size(), report.test_data->undetermined);
    for (const std::string& mismatch : report.test_data->mismatches) {
      page.Line("differs: {}", mismatch);
    }
  }
  const graph::OpenDimensions& open = report.open;
  if (!open.names.empty()) page.Line("open sizes: {}", Join(open.names, ", "));
  if (!open.of_inputs.empty()) {
    page.Line("open sizes without a name: {}", Join(open.of_inputs, ", "));
  }
  if (open.from_data > 0) {
    page.Line("known from data alone: {}", Counted(static_cast<size_t>(open.from_data), "size"));
  }
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
  PortWidths widths;
  for (const auto* ports : {&report.inputs, &report.outputs, &report.largest_values}) {
    widths.Fit(*ports);
  }
  Ports(page, "Inputs", report.inputs, widths);
  Ports(page, "Outputs", report.outputs, widths);
  Weights(page, report);
  Operators(page, report);
  if (!report.largest_values.empty()) {
    Ports(page, "Largest tensors", report.largest_values, widths);
  }
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
