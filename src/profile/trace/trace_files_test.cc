#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/record/recorder.h"
#include "profile/trace/pickle_writer.h"
#include "profile/trace/torch_snapshot.h"
#include "profile/trace/trace_json.h"

// The trace and the snapshot of a small story; readers of the formats check them in
// tests/check_profile.py.
namespace plimsoll::profile {
namespace trace_files_test {

using ::testing::HasSubstr;
using Kind = Event::Kind;

// Two operators of one run, and a tensor from the first to the second.
Recording SmallRun() {
  Recorder recorder({.clock = [] { return int64_t{1000}; }});
  PlanTable plan;
  plan.graph = "graph 0 'm'";
  plan.planned = 4096;
  plan.operators.resize(2);
  plan.operators[0].type = recorder.Intern("Conv");
  plan.lives = {{.name = recorder.Intern("a\"b"),
                 .value = recorder.Intern("x"),
                 .end = 2,
                 .bytes = 512,
                 .producer = 0,
                 .last_reader = 1}};
  Event about;
  about.plan = recorder.AddPlan(plan);
  about.run = recorder.NextRun();
  recorder.Start();
  const auto tell = [&](Kind kind, int64_t time, int64_t bytes, uint32_t item) {
    Event event = about;
    event.kind = kind;
    event.time = time;
    event.bytes = bytes;
    event.item = item;
    event.address = 0x10000;
    event.name = recorder.Intern(item == 0 ? "a\"b" : "relu");
    recorder.Record(event);
  };
  tell(Kind::kRunBegin, 1000, 4096, 0);
  tell(Kind::kAllocate, 1100, 512, 0);
  tell(Kind::kOperator, 1200, 300, 0);
  tell(Kind::kOperator, 1600, 400, 1);
  tell(Kind::kRelease, 2100, 512, 0);
  return recorder.Stop();
}

TEST(TraceFilesTest, OperatorsCountersAndArrows) {
  const std::string trace = TraceJson(SmallRun());
  EXPECT_THAT(trace, HasSubstr(R"("name":"CPU:0")"));
  EXPECT_THAT(trace, HasSubstr(R"({"ph":"X","name":"a\"b","pid":0,"tid":0,"ts":1.200,)"
                               R"("cat":"operator","dur":0.300)"));
  EXPECT_THAT(trace, HasSubstr(R"("name":"allocated","pid":0,"tid":0,"ts":1.100,)"
                               R"("args":{"bytes":512}})"));
  EXPECT_THAT(trace, HasSubstr(R"("name":"planned","pid":0,"tid":0,"ts":1.000,)"
                               R"("args":{"bytes":4096}})"));
  EXPECT_THAT(trace, HasSubstr(R"({"ph":"s","name":"x","pid":0,"tid":0,"ts":1.200,)"
                               R"("cat":"tensor","id":1})"));
  EXPECT_THAT(trace, HasSubstr(R"({"ph":"f","name":"x","pid":0,"tid":0,"ts":1.600,)"
                               R"("cat":"tensor","bp":"e","id":1})"));
}

TEST(TraceFilesTest, PicklesOfPlainData) {
  PickleWriter pickle;
  pickle.BeginDictionary();
  pickle.Entry("a", 7);
  pickle.Entry("b", int64_t{1} << 40);
  pickle.EndDictionary();
  using std::string_literals::operator""s;
  EXPECT_EQ(pickle.Finish(), "\x80\x02}(X\1\0\0\0aK\7X\1\0\0\0b\x8a\x08\0\0\0\0\0\1\0\0u."s);
}

TEST(TraceFilesTest, TheSnapshotHasEachAllocationInItsSegment) {
  const std::string snapshot = TorchSnapshot(SmallRun());
  EXPECT_EQ(snapshot.substr(0, 2), "\x80\x02");
  EXPECT_EQ(snapshot.back(), '.');
  for (const char* word :
       {"alloc", "free_requested", "free_completed", "segments", "a\"b", "graph 0 'm'"}) {
    EXPECT_THAT(snapshot, HasSubstr(word));
  }
}

}  // namespace trace_files_test
}  // namespace plimsoll::profile
