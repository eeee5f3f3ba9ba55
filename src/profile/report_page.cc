#include "profile/report_page.h"

#include <algorithm>
#include <unordered_map>

#include "plimsoll/base/text.h"
#include "profile/json_text.h"

namespace plimsoll::profile {
namespace {

// Texts that are said once and meant by number. 0 is the empty text.
class TextTable {
 public:
  TextTable() { NumberOf(""); }
  int64_t NumberOf(std::string_view text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string_view, int64_t> numbers_;
  std::vector<std::string_view> texts_;
};

// Writes one plan. Tables are written column by column: they are shorter so, and quick to read.
class PlanWriter {
 public:
  PlanWriter(const ReportPlan& plan, std::string& out) : plan_(plan), out_(out) {}

  void Write() {
    out_ += "{\"name\":";
    AppendJsonString(out_, plan_.name);
    Text("source", plan_.source);
    Text("subject", plan_.subject);
    WriteFacts();
    WriteRegions();
    WriteSteps();
    Numbers("live", plan_.live, [](Bytes bytes) { return bytes.value(); });
    Numbers("reserved", plan_.reserved, [](Bytes bytes) { return bytes.value(); });
    WriteTensors();
    WriteMembers();
    WriteLists();
    Key("strings");
    List(texts_.texts(), [&](std::string_view text) { AppendJsonString(out_, text); });
    out_ += '}';
  }

 private:
  void Key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }
  void Text(std::string_view name, std::string_view text) {
    Key(name);
    AppendJsonString(out_, text);
  }
  void Number(int64_t value) { text_internal::Append(out_, value); }
  void Maybe(std::string_view name, const std::optional<Bytes>& bytes) {
    Key(name);
    if (bytes) {
      Number(bytes->value());
    } else {
      out_ += "null";
    }
  }
  void Flag(bool value) { out_ += value ? "true" : "false"; }

  template <typename Rows, typename Write>
  void List(const Rows& rows, const Write& write) {
    out_ += '[';
    for (const auto& row : rows) {
      if (&row != &rows.front()) out_ += ',';
      write(row);
    }
    out_ += ']';
  }
  template <typename Rows, typename Value>
  void Numbers(std::string_view name, const Rows& rows, const Value& value) {
    Key(name);
    List(rows, [&](const auto& row) { Number(value(row)); });
  }
  template <typename Row>
  void Texts(std::string_view name, const std::vector<Row>& rows, std::string Row::*text) {
    Numbers(name, rows, [&](const Row& row) { return texts_.NumberOf(row.*text); });
  }

  void WriteFacts() {
    Key("facts");
    out_ += '{';
    Maybe("peak", plan_.peak);
    Maybe("lower_bound", plan_.lower_bound);
    Maybe("order_lower_bound", plan_.order_lower_bound);
    Maybe("plain_peak", plan_.plain_peak);
    Maybe("limit", plan_.limit);
    Maybe("device", plan_.device);
    Key("machine");
    out_ += plan_.machine ? StrCat("[", plan_.machine->bytes_per_second, ",",
                                   plan_.machine->operations_per_second, "]")
                          : "null";
    Key("optimal_for_order");
    Flag(plan_.optimal_for_order);
    out_ += '}';
  }

  void WriteRegions() {
    Key("main_region");
    Number(plan_.main_region);
    Key("regions");
    List(plan_.regions, [&](const ReportRegion& region) {
      out_ += '[';
      AppendJsonString(out_, region.name);
      out_ += ',';
      AppendJsonString(out_, region.kind);
      out_ += StrCat(",", region.bytes.value(), ",", region.lower_bound.value(), ",",
                     region.from_device, "]");
    });
  }

  void WriteSteps() {
    Key("steps");
    out_ += '{';
    Texts("name", plan_.steps, &ReportStep::name);
    Texts("type", plan_.steps, &ReportStep::type);
    Texts("module", plan_.steps, &ReportStep::module);
    WriteWork();
    Key("time");
    out_ += '[';
    if (plan_.timed) {
      for (const ReportStep& step : plan_.steps) out_ += StrCat(step.start_us, ",");
      out_ += StrCat(plan_.end_us);
    }
    out_ += "]}";
  }

  // What the steps did and how long that took, where it is known of any.
  void WriteWork() {
    const auto& steps = plan_.steps;
    Key("work");
    if (std::none_of(steps.begin(), steps.end(),
                     [](const ReportStep& step) { return step.took_us > 0; })) {
      out_ += "null";
      return;
    }
    out_ += '{';
    Texts("kernel", steps, &ReportStep::kernel);
    Numbers("read", steps, [](const ReportStep& step) { return step.read.value(); });
    Numbers("written", steps, [](const ReportStep& step) { return step.written.value(); });
    Numbers("operations", steps, [](const ReportStep& step) { return step.operations; });
    Key("took");
    List(steps, [&](const ReportStep& step) { out_ += StrCat(step.took_us); });
    out_ += '}';
  }

  void WriteTensors() {
    const auto& tensors = plan_.tensors;
    using Tensor = ReportTensor;
    Key("tensors");
    out_ += '{';
    Texts("name", tensors, &Tensor::name);
    Numbers("kind", tensors, [](const Tensor& tensor) { return static_cast<int>(tensor.kind); });
    Texts("type", tensors, &Tensor::type);
    Texts("shape", tensors, &Tensor::shape);
    Texts("rule", tensors, &Tensor::rule);
    Numbers("bytes", tensors, [](const Tensor& tensor) { return tensor.bytes.value(); });
    Numbers("offset", tensors, [](const Tensor& tensor) { return tensor.offset.value(); });
    Numbers("region", tensors, [](const Tensor& tensor) { return tensor.region; });
    Numbers("begin", tensors, [](const Tensor& tensor) { return tensor.begin; });
    Numbers("life", tensors, [](const Tensor& tensor) { return tensor.end - tensor.begin; });
    Numbers("producer", tensors, [](const Tensor& tensor) { return tensor.producer; });
    Numbers("readers", tensors,
            [](const Tensor& tensor) { return static_cast<int64_t>(tensor.readers.size()); });
    Key("reader");
    out_ += '[';
    for (const Tensor& tensor : tensors) {
      for (const int64_t step : tensor.readers) {
        if (out_.back() != '[') out_ += ',';
        Number(step);
      }
    }
    out_ += "]}";
  }

  void WriteMembers() {
    std::vector<std::pair<int64_t, const ReportMember*>> members;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      for (const ReportMember& member : plan_.tensors[i].members) {
        members.emplace_back(static_cast<int64_t>(i), &member);
      }
    }
    Key("members");
    out_ += '{';
    Numbers("tensor", members, [](const auto& row) { return row.first; });
    Numbers("name", members, [&](const auto& row) { return texts_.NumberOf(row.second->name); });
    Numbers("type", members, [&](const auto& row) { return texts_.NumberOf(row.second->type); });
    Numbers("shape", members, [&](const auto& row) { return texts_.NumberOf(row.second->shape); });
    Numbers("offset", members, [](const auto& row) { return row.second->offset.value(); });
    Numbers("begin", members, [](const auto& row) { return row.second->begin; });
    Numbers("life", members, [](const auto& row) { return row.second->end - row.second->begin; });
    out_ += '}';
  }

  void WriteLists() {
    Key("techniques");
    List(plan_.techniques, [&](const ReportTechnique& row) {
      out_ += '[';
      AppendJsonString(out_, row.name);
      out_ += StrCat(",", row.taken, ",", row.declined, ",", row.gained.value(), ",");
      AppendJsonString(out_, row.reason);
      out_ += ']';
    });
    Key("ports");
    List(plan_.ports, [&](const ReportPort& port) {
      out_ += '[';
      AppendJsonString(out_, port.name);
      out_ += StrCat(",", port.input, ",", port.in_place, ",");
      AppendJsonString(out_, port.reason);
      out_ += ']';
    });
    Key("notes");
    List(plan_.notes, [&](const auto& note) {
      out_ += '[';
      AppendJsonString(out_, note.first);
      out_ += ',';
      AppendJsonString(out_, note.second);
      out_ += ']';
    });
  }

  const ReportPlan& plan_;
  std::string& out_;
  TextTable texts_;
};

}  // namespace

std::string ReportPage(const Report& report) {
  std::string out(kReportPageBeforeData);
  out += "{\"format\":\"plimsoll-report\",\"version\":1,\"title\":";
  AppendJsonString(out, report.title);
  out += ",\"made_by\":";
  AppendJsonString(out, report.made_by);
  out += ",\"plans\":[";
  for (const ReportPlan& plan : report.plans) {
    if (&plan != &report.plans.front()) out += ',';
    PlanWriter(plan, out).Write();
  }
  out += "]}";
  out += kReportPageAfterData;
  return out;
}

}  // namespace plimsoll::profile
