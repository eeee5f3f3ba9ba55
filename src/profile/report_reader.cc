#include <limits>
#include <nlohmann/json.hpp>

#include "plimsoll/base/text.h"
#include "profile/report_page.h"

namespace plimsoll::profile {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kDataBegin = "<script type=\"application/json\" id=\"plimsoll-data\">";
constexpr std::string_view kDataEnd = "</script>";
// So that sums of a page's sizes stay exact in its pictures, and in ours.
constexpr int64_t kMostBytes = int64_t{1} << 53;

// Thrown inside this file only: the first thing that is not as it should be.
struct Broken {
  std::string why;
};

const Json& Member(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name)) throw Broken{StrCat("'", name, "' is missing")};
  return json[name];
}

const Json& ArrayOf(const Json& json, const char* name) {
  const Json& array = Member(json, name);
  if (!array.is_array()) throw Broken{StrCat("'", name, "' is no list")};
  return array;
}

std::string TextAt(const Json& json, const char* name) {
  if (!json.is_string()) throw Broken{StrCat("a '", name, "' is no text")};
  return json.get<std::string>();
}

std::string TextOf(const Json& json, const char* name) { return TextAt(Member(json, name), name); }

bool FlagAt(const Json& json, const char* name) {
  if (!json.is_boolean()) throw Broken{StrCat("a '", name, "' is neither true nor false")};
  return json.get<bool>();
}

int64_t NumberAt(const Json& json, const char* name, int64_t least, int64_t most) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(kSaturated))) {
    throw Broken{StrCat("a '", name, "' is no whole number, or too large")};
  }
  const auto number = json.get<int64_t>();
  if (number < least || number > most) {
    throw Broken{StrCat("a '", name, "' is ", number, ", not ", least, " to ", most)};
  }
  return number;
}

double PositiveAt(const Json& json, const char* name) {
  if (!json.is_number() || !(json.get<double>() >= 0)) {
    throw Broken{StrCat("a '", name, "' is no number from 0 on")};
  }
  return json.get<double>();
}

std::vector<int64_t> NumbersOf(const Json& json, const char* name, size_t count, int64_t least,
                               int64_t most) {
  const Json& array = ArrayOf(json, name);
  if (array.size() != count) {
    throw Broken{StrCat("'", name, "' has ", array.size(), " entries, not ", count)};
  }
  std::vector<int64_t> numbers;
  numbers.reserve(count);
  for (const Json& entry : array) numbers.push_back(NumberAt(entry, name, least, most));
  return numbers;
}

std::optional<Bytes> MaybeBytes(const Json& json, const char* name) {
  const Json& value = Member(json, name);
  if (value.is_null()) return std::nullopt;
  return Bytes(NumberAt(value, name, 0, kMostBytes));
}

std::vector<Bytes> SeriesOf(const Json& json, const char* name, size_t steps) {
  std::vector<Bytes> series;
  const size_t count = ArrayOf(json, name).empty() ? 0 : steps;
  for (const int64_t bytes : NumbersOf(json, name, count, 0, kMostBytes))
    series.emplace_back(bytes);
  return series;
}

const Json& RowOf(const Json& row, size_t cells) {
  if (!row.is_array() || row.size() != cells) throw Broken{"a row has another number of cells"};
  return row;
}

// Reads one plan; texts are found by number.
class PlanReader {
 public:
  explicit PlanReader(const Json& json) : json_(json) {
    for (const Json& text : ArrayOf(json, "strings")) texts_.push_back(TextAt(text, "string"));
  }

  ReportPlan Read() {
    plan_.name = TextOf(json_, "name");
    plan_.source = TextOf(json_, "source");
    plan_.subject = TextOf(json_, "subject");
    ReadFacts(Member(json_, "facts"));
    ReadRegions();
    ReadSteps(Member(json_, "steps"));
    plan_.live = SeriesOf(json_, "live", plan_.steps.size());
    plan_.reserved = SeriesOf(json_, "reserved", plan_.steps.size());
    ReadTensors(Member(json_, "tensors"));
    ReadMembers(Member(json_, "members"));
    ReadLists();
    return std::move(plan_);
  }

 private:
  template <typename Row>
  void Texts(const Json& json, const char* name, std::vector<Row>& rows, std::string Row::*text) {
    const auto most = static_cast<int64_t>(texts_.size()) - 1;
    const auto numbers = NumbersOf(json, name, rows.size(), 0, most);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].*text = texts_[static_cast<size_t>(numbers[i])];
    }
  }

  void ReadFacts(const Json& facts) {
    plan_.peak = MaybeBytes(facts, "peak").value_or(Bytes(0));
    plan_.lower_bound = MaybeBytes(facts, "lower_bound").value_or(Bytes(0));
    plan_.order_lower_bound = MaybeBytes(facts, "order_lower_bound");
    plan_.plain_peak = MaybeBytes(facts, "plain_peak");
    plan_.limit = MaybeBytes(facts, "limit");
    plan_.device = MaybeBytes(facts, "device");
    if (facts.contains("machine") && !facts["machine"].is_null()) {
      const Json& speeds = RowOf(facts["machine"], 2);
      plan_.machine = {PositiveAt(speeds[0], "machine"), PositiveAt(speeds[1], "machine")};
    }
    plan_.optimal_for_order = FlagAt(Member(facts, "optimal_for_order"), "optimal_for_order");
  }

  void ReadRegions() {
    for (const Json& row : ArrayOf(json_, "regions")) {
      RowOf(row, 5);
      plan_.regions.push_back({TextAt(row[0], "region"), TextAt(row[1], "kind"),
                               Bytes(NumberAt(row[2], "bytes", 0, kMostBytes)),
                               Bytes(NumberAt(row[3], "lower_bound", 0, kMostBytes)),
                               FlagAt(row[4], "from_device")});
    }
    regions_ = static_cast<int64_t>(plan_.regions.size());
    if (regions_ > std::numeric_limits<uint16_t>::max()) throw Broken{"too many regions"};
    plan_.main_region = static_cast<int32_t>(
        NumberAt(Member(json_, "main_region"), "main_region", 0, regions_ - 1));
  }

  void ReadSteps(const Json& steps) {
    plan_.steps.resize(ArrayOf(steps, "name").size());
    steps_ = static_cast<int64_t>(plan_.steps.size());
    if (steps_ >= std::numeric_limits<int32_t>::max()) throw Broken{"too many steps"};
    Texts(steps, "name", plan_.steps, &ReportStep::name);
    Texts(steps, "type", plan_.steps, &ReportStep::type);
    Texts(steps, "module", plan_.steps, &ReportStep::module);
    // Pages that were written before this was measured do not have it.
    if (steps.contains("work") && !steps["work"].is_null()) ReadWork(steps["work"]);
    const Json& times = ArrayOf(steps, "time");
    plan_.timed = !times.empty();
    if (!plan_.timed) return;
    if (times.size() != plan_.steps.size() + 1) throw Broken{"'time' has another length"};
    double before = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < times.size(); ++i) {
      if (!times[i].is_number()) throw Broken{"a 'time' is no number"};
      const auto time = times[i].get<double>();
      if (!(time >= before)) throw Broken{"times go back"};
      before = time;
      (i < plan_.steps.size() ? plan_.steps[i].start_us : plan_.end_us) = time;
    }
  }

  void ReadWork(const Json& work) {
    auto& steps = plan_.steps;
    Texts(work, "kernel", steps, &ReportStep::kernel);
    const auto read = NumbersOf(work, "read", steps.size(), 0, kMostBytes);
    const auto written = NumbersOf(work, "written", steps.size(), 0, kMostBytes);
    const auto operations = NumbersOf(work, "operations", steps.size(), 0, kSaturated);
    const Json& took = ArrayOf(work, "took");
    if (took.size() != steps.size()) throw Broken{"'took' has another length"};
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i].read = Bytes(read[i]);
      steps[i].written = Bytes(written[i]);
      steps[i].operations = operations[i];
      steps[i].took_us = PositiveAt(took[i], "took");
    }
  }

  void ReadTensors(const Json& json) {
    auto& tensors = plan_.tensors;
    tensors.resize(ArrayOf(json, "name").size());
    Texts(json, "name", tensors, &ReportTensor::name);
    Texts(json, "type", tensors, &ReportTensor::type);
    Texts(json, "shape", tensors, &ReportTensor::shape);
    Texts(json, "rule", tensors, &ReportTensor::rule);
    const size_t count = tensors.size();
    const auto kind = NumbersOf(json, "kind", count, 0, kTensorKinds - 1);
    const auto bytes = NumbersOf(json, "bytes", count, 0, kMostBytes);
    const auto offset = NumbersOf(json, "offset", count, 0, kMostBytes);
    const auto region = NumbersOf(json, "region", count, 0, regions_ - 1);
    const auto begin = NumbersOf(json, "begin", count, 0, steps_);
    const auto life = NumbersOf(json, "life", count, 0, steps_);
    const auto producer = NumbersOf(json, "producer", count, -1, steps_ - 1);
    const auto readers = NumbersOf(json, "readers", count, 0, kMostBytes);
    const size_t all_readers = ArrayOf(json, "reader").size();
    const auto reader = NumbersOf(json, "reader", all_readers, 0, steps_ - 1);
    size_t next = 0;
    for (size_t i = 0; i < count; ++i) {
      ReportTensor& tensor = tensors[i];
      tensor.kind = static_cast<TensorKind>(kind[i]);
      tensor.bytes = Bytes(bytes[i]);
      tensor.offset = Offset(offset[i]);
      tensor.region = static_cast<int32_t>(region[i]);
      tensor.begin = begin[i];
      tensor.end = begin[i] + life[i];
      if (tensor.end > steps_) throw Broken{"a tensor outlives the steps"};
      tensor.producer = producer[i];
      if (static_cast<size_t>(readers[i]) > all_readers - next) throw Broken{"readers are missing"};
      const auto first = reader.begin() + static_cast<int64_t>(next);
      tensor.readers.assign(first, first + readers[i]);
      next += static_cast<size_t>(readers[i]);
    }
    if (next != all_readers) throw Broken{"readers are left over"};
  }

  void ReadMembers(const Json& json) {
    std::vector<ReportMember> members(ArrayOf(json, "name").size());
    const size_t count = members.size();
    Texts(json, "name", members, &ReportMember::name);
    Texts(json, "type", members, &ReportMember::type);
    Texts(json, "shape", members, &ReportMember::shape);
    const auto most = static_cast<int64_t>(plan_.tensors.size()) - 1;
    const auto tensor = NumbersOf(json, "tensor", count, 0, most);
    const auto offset = NumbersOf(json, "offset", count, 0, kMostBytes);
    const auto begin = NumbersOf(json, "begin", count, 0, steps_);
    const auto life = NumbersOf(json, "life", count, 0, steps_);
    for (size_t i = 0; i < count; ++i) {
      members[i].offset = Bytes(offset[i]);
      members[i].begin = begin[i];
      members[i].end = begin[i] + life[i];
      plan_.tensors[static_cast<size_t>(tensor[i])].members.push_back(std::move(members[i]));
    }
  }

  void ReadLists() {
    for (const Json& row : ArrayOf(json_, "techniques")) {
      RowOf(row, 5);
      plan_.techniques.push_back(
          {TextAt(row[0], "technique"), NumberAt(row[1], "taken", 0, kMostBytes),
           NumberAt(row[2], "declined", 0, kMostBytes),
           Bytes(NumberAt(row[3], "gained", -kMostBytes, kMostBytes)), TextAt(row[4], "reason")});
    }
    for (const Json& row : ArrayOf(json_, "ports")) {
      RowOf(row, 4);
      plan_.ports.push_back({TextAt(row[0], "port"), FlagAt(row[1], "input"),
                             FlagAt(row[2], "in_place"), TextAt(row[3], "reason")});
    }
    for (const Json& row : ArrayOf(json_, "notes")) {
      RowOf(row, 2);
      plan_.notes.emplace_back(TextAt(row[0], "note"), TextAt(row[1], "note"));
    }
  }

  const Json& json_;
  std::vector<std::string> texts_;
  int64_t regions_ = 0;
  int64_t steps_ = 0;
  ReportPlan plan_;
};

Report ReadReport(std::string_view data) {
  const Json json = Json::parse(data, nullptr, false);
  if (json.is_discarded()) throw Broken{"the data is no JSON"};
  if (TextOf(json, "format") != "plimsoll-report") throw Broken{"it is another format"};
  if (NumberAt(Member(json, "version"), "version", 0, 1000) != 1) {
    throw Broken{"it is of another version"};
  }
  Report report{TextOf(json, "title"), TextOf(json, "made_by"), {}};
  for (const Json& plan : ArrayOf(json, "plans")) report.plans.push_back(PlanReader(plan).Read());
  if (report.plans.empty()) throw Broken{"it has no plan"};
  return report;
}

}  // namespace

bool IsReportPage(std::string_view text) { return text.find(kDataBegin) != text.npos; }

Result<Report> ReadReportPage(std::string_view page, const std::string& file) {
  const auto bad = [&](std::string why) {
    return Error{ErrorKind::kBadFile,      "report.page",
                 "cannot read the report", file,
                 std::move(why),           "make it again with plimsoll plan --html"};
  };
  const size_t begin = page.find(kDataBegin);
  if (begin == page.npos) return bad("it is no page of ours");
  page.remove_prefix(begin + kDataBegin.size());
  const size_t end = page.find(kDataEnd);
  if (end == page.npos) return bad("it is cut off");
  try {
    return ReadReport(page.substr(0, end));
  } catch (const Broken& broken) {
    return bad(broken.why);
  }
}

}  // namespace plimsoll::profile
