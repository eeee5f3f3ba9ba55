#include "profile/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plimsoll/base/text.h"

namespace plimsoll::profile::report_page_test {

using testing::HasSubstr;
using Json = nlohmann::json;

Report SmallReport() {
  ReportPlan plan;
  plan.name = "model.onnx";
  plan.subject = "what runs";
  plan.peak = Bytes(3072);
  plan.lower_bound = Bytes(2048);
  plan.limit = Bytes(4096);
  plan.regions = {{"feature map", "feature_map", Bytes(3072), Bytes(2048), true},
                  {"weights", "weights", Bytes(512), Bytes(512), true}};
  plan.steps = {
      {"conv", "Conv", "layer1", 0}, {"relu", "Relu", "layer1", 0}, {"add", "Add", "", 0}};
  plan.live = {Bytes(1024), Bytes(2048), Bytes(512)};
  ReportTensor first;
  first.name = "x";
  first.kind = TensorKind::kActivation;
  first.type = "float32";
  first.shape = "[256]";
  first.bytes = Bytes(1024);
  first.begin = 0;
  first.end = 2;
  first.producer = 0;
  first.readers = {1, 2};
  first.members = {{"x_view", "float32", "[16,16]", Bytes(0), 1, 2}};
  ReportTensor second = first;
  second.name = "y</script>\"\u2028é";
  second.kind = TensorKind::kWorkspace;
  second.offset = Offset(1024);
  second.begin = 1;
  second.end = 3;
  second.readers = {};
  second.members = {};
  second.rule = "nobody else";
  plan.tensors = {first, second};
  plan.techniques = {{"in place", 3, 1, Bytes(-512), "why"}};
  plan.ports = {{"in", true, true, ""}, {"out", false, false, "a subgraph's"}};
  plan.notes = {{"weights", "a <note>"}};
  plan.machine = {1.5e10, 2e11};
  plan.steps[1].kernel = "jit:avx2";
  plan.steps[1].took_us = 12.5;
  plan.steps[1].read = Bytes(1024);
  plan.steps[1].written = Bytes(512);
  plan.steps[1].operations = 7;
  return {"a & b", "plimsoll test", {plan}};
}

// The page's data, changed.
std::string PageWith(const std::function<void(Json&)>& change) {
  Report report = SmallReport();
  report.plans[0].tensors[1].name = "y";  // what dump() writes need not be safe in a page
  const std::string page = ReportPage(report);
  const size_t begin = kReportPageBeforeData.size();
  const size_t end = page.size() - kReportPageAfterData.size();
  Json json = Json::parse(page.substr(begin, end - begin));
  change(json);
  return page.substr(0, begin) + json.dump() + page.substr(end);
}

std::string WhyNot(const std::string& page) {
  const auto report = ReadReportPage(page, "f.html");
  if (report.ok()) return "it was read";
  EXPECT_EQ(report.error().code, "report.page");
  EXPECT_EQ(report.error().where, "f.html");
  return report.error().why;
}

TEST(ReportPageTest, APageReadsBackAsItWasWritten) {
  const Report report = SmallReport();
  const std::string page = ReportPage(report);
  ASSERT_TRUE(IsReportPage(page));
  const auto read = ReadReportPage(page, "f.html");
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_EQ(ReportPage(*read), page);
  ASSERT_EQ(read->plans.size(), 1u);
  const ReportPlan& plan = read->plans[0];
  EXPECT_EQ(plan.tensors[1].name, report.plans[0].tensors[1].name);
  EXPECT_EQ(plan.tensors[0].readers, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(plan.tensors[0].members[0].shape, "[16,16]");
  EXPECT_EQ(plan.limit, Bytes(4096));
  EXPECT_FALSE(plan.device.has_value());
  EXPECT_EQ(plan.techniques[0].gained, Bytes(-512));
  EXPECT_EQ(plan.peak_step(), 1);
  ASSERT_TRUE(plan.machine.has_value());
  EXPECT_EQ(plan.machine->bytes_per_second, 1.5e10);
  EXPECT_EQ(plan.steps[1].kernel, "jit:avx2");
  EXPECT_EQ(plan.steps[1].took_us, 12.5);
  EXPECT_EQ(plan.steps[1].read, Bytes(1024));
  EXPECT_EQ(plan.steps[1].written, Bytes(512));
  EXPECT_EQ(plan.steps[1].operations, 7);
}

TEST(ReportPageTest, TimesReadBack) {
  Report report = SmallReport();
  ReportPlan& plan = report.plans[0];
  plan.timed = true;
  plan.steps[1].start_us = 1.5;
  plan.steps[2].start_us = 2.125;
  plan.end_us = 7;
  plan.reserved = {Bytes(4096), Bytes(4096), Bytes(4096)};
  const auto read = ReadReportPage(ReportPage(report), "f.html");
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_TRUE(read->plans[0].timed);
  EXPECT_EQ(read->plans[0].steps[2].start_us, 2.125);
  EXPECT_EQ(read->plans[0].end_us, 7);
  EXPECT_EQ(read->plans[0].reserved.size(), 3u);
}

TEST(ReportPageTest, NamesCannotLeaveTheDataOfThePage) {
  Report report = SmallReport();
  report.title = "</script><script>alert(1)</script>";
  const std::string page = ReportPage(report);
  const std::string_view data = std::string_view(page).substr(kReportPageBeforeData.size());
  EXPECT_EQ(data.find("</script>"), data.size() - kReportPageAfterData.size());
  EXPECT_EQ(page.find("alert(1)<"), page.npos);
}

TEST(ReportPageTest, ThePageLoadsNothing) {
  const std::string page = ReportPage(SmallReport());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* address : {"http://", "https://", "src=", "@import", "url("}) {
    EXPECT_EQ(page.find(address), page.npos) << address;
  }
}

TEST(ReportPageTest, OwnersComeLargestFirst) {
  ReportPlan plan = SmallReport().plans[0];
  plan.tensors[1].bytes = Bytes(2048);
  const auto owners = OwnersAt(plan, 1);
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0].bytes, Bytes(2048));
  EXPECT_EQ(owners[1].name, "x");
  EXPECT_EQ(owners[1].producer, "conv");
  plan.main_region = 1;
  EXPECT_TRUE(OwnersAt(plan, 1).empty());
}

TEST(ReportPageTest, DataThatContradictsItselfIsRefused) {
  struct Case {
    const char* says;
    std::function<void(Json&)> change;
  };
  const auto plan = [](Json& json) -> Json& { return json["plans"][0]; };
  const std::vector<Case> cases = {
      {"another format", [](Json& json) { json["format"] = "x"; }},
      {"another version", [](Json& json) { json["version"] = 2; }},
      {"no plan", [](Json& json) { json["plans"] = Json::array(); }},
      {"'plans' is no list", [](Json& json) { json["plans"] = 3; }},
      {"'strings' is missing", [&](Json& json) { plan(json).erase("strings"); }},
      {"a 'name' is 9000, not", [&](Json& json) { plan(json)["tensors"]["name"][0] = 9000; }},
      {"a 'region' is 2, not", [&](Json& json) { plan(json)["tensors"]["region"][0] = 2; }},
      {"a 'main_region' is -1", [&](Json& json) { plan(json)["main_region"] = -1; }},
      {"outlives", [&](Json& json) { plan(json)["tensors"]["life"][1] = 3; }},
      {"a 'reader' is 3", [&](Json& json) { plan(json)["tensors"]["reader"][0] = 3; }},
      {"readers are missing", [&](Json& json) { plan(json)["tensors"]["readers"][1] = 1; }},
      {"readers are left over", [&](Json& json) { plan(json)["tensors"]["readers"][0] = 1; }},
      {"'live' has 2 entries", [&](Json& json) { plan(json)["live"].erase(0); }},
      {"a 'tensor' is 2", [&](Json& json) { plan(json)["members"]["tensor"][0] = 2; }},
      {"number of cells", [&](Json& json) { plan(json)["ports"][0].push_back(1); }},
      {"no whole number", [&](Json& json) { plan(json)["tensors"]["bytes"][0] = 1.5; }},
      {"too large", [&](Json& json) { plan(json)["tensors"]["bytes"][0] = UINT64_MAX; }},
      {"times go back",
       [&](Json& json) {
         plan(json)["steps"]["time"] = {0, 2, 1, 3};
       }},
      {"'took' has another length",
       [&](Json& json) { plan(json)["steps"]["work"]["took"].erase(0); }},
      {"a 'took' is no number from 0",
       [&](Json& json) { plan(json)["steps"]["work"]["took"][0] = -1; }},
      {"a 'read' is -1", [&](Json& json) { plan(json)["steps"]["work"]["read"][0] = -1; }},
      {"'kernel' is missing", [&](Json& json) { plan(json)["steps"]["work"].erase("kernel"); }},
      {"a 'machine' is no number", [&](Json& json) { plan(json)["facts"]["machine"][0] = "x"; }},
  };
  for (const Case& row : cases) EXPECT_THAT(WhyNot(PageWith(row.change)), HasSubstr(row.says));
}

TEST(ReportPageTest, APageWithoutTimesAndSpeedsIsRead) {
  const auto read = ReadReportPage(PageWith([](Json& json) {
                                     json["plans"][0]["steps"].erase("work");
                                     json["plans"][0]["facts"].erase("machine");
                                   }),
                                   "older.html");
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_FALSE(read->plans[0].machine.has_value());
  EXPECT_EQ(read->plans[0].steps[1].took_us, 0);
}

TEST(ReportPageTest, WhatIsNoPageIsRefused) {
  EXPECT_FALSE(IsReportPage("<!doctype html><p>another page"));
  EXPECT_THAT(WhyNot("<!doctype html><p>another page"), HasSubstr("no page of ours"));
  const std::string page = ReportPage(SmallReport());
  EXPECT_THAT(WhyNot(page.substr(0, kReportPageBeforeData.size() + 40)), HasSubstr("cut off"));
  std::string broken = page;
  broken[kReportPageBeforeData.size()] = '[';
  EXPECT_THAT(WhyNot(broken), HasSubstr("no JSON"));
}

}  // namespace plimsoll::profile::report_page_test
