#include <gtest/gtest.h>

#include <map>

#include "compile/graph_for_tests.h"
#include "compile/order/schedule_oracle.h"
#include "compile/searches/record.h"
#include "compile/searches/stored_order.h"
#include "compile/searches/stored_plan.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::compile {
namespace stored_answers_test {

// Remembers answers, and can give out others.
class Answers : public SearchStore {
 public:
  std::optional<std::string> Find(const std::string& request) override {
    const auto found = all.find(request);
    if (found == all.end()) return std::nullopt;
    ++given;
    return found->second;
  }
  void Keep(const std::string& request, std::string answer) override {
    all[request] = std::move(answer);
    ++kept;
  }

  std::map<std::string, std::string> all;
  int given = 0;
  int kept = 0;
};

plan::Problem TwoBuffers() {
  plan::Problem problem;
  const plan::RegionId region = problem.AddRegion({.name = "feature map"});
  for (int64_t i = 0; i < 4; ++i) {
    problem.AddBuffer({.name = "b" + std::to_string(i),
                       .size = Bytes(1024 * (i + 1)),
                       .region = region,
                       .life = {.begin = i, .end = i + 2}});
  }
  return problem;
}

TEST(StoredAnswersTest, AnOrderIsSearchedOnce) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 12);
    Answers answers;
    const FoundOrder first = FindOrderOnce(schedule, {}, &answers);
    const FoundOrder second = FindOrderOnce(schedule, {}, &answers);
    EXPECT_EQ(answers.kept, 1);
    EXPECT_EQ(answers.given, 1);
    EXPECT_EQ(second.order, first.order);
    EXPECT_EQ(second.lower_bound, first.lower_bound);
    EXPECT_EQ(FindOrder(schedule).order, first.order);
    FindOrderOnce(schedule, {.steps = 7}, &answers);
    EXPECT_EQ(answers.kept, 2) << "another effort is another request";
  }
}

// Whatever bytes come back, the order is one that runs and is not above the file's.
TEST(StoredAnswersTest, AnAnswerThatIsNoGoodOrderIsSearchedAgain) {
  const Schedule schedule = RandomSchedule(3, 12);
  Answers answers;
  const FoundOrder right = FindOrderOnce(schedule, {}, &answers);
  const std::string good = answers.all.begin()->second;
  std::vector<std::string> bad = {"", "x", good + "x", good.substr(0, good.size() - 8)};
  for (size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    bad.push_back(changed);
  }
  RecordWriter backwards;
  backwards.Int(0);
  backwards.Int(std::ssize(schedule.nodes));
  for (size_t i = schedule.nodes.size(); i > 0; --i) backwards.Int(static_cast<int64_t>(i - 1));
  bad.push_back(backwards.bytes());
  for (const std::string& answer : bad) {
    answers.all.begin()->second = answer;
    const FoundOrder found = FindOrderOnce(schedule, {}, &answers);
    ASSERT_TRUE(IsLegal(schedule, found.order));
    EXPECT_LE(WalkOrder(schedule, found.order).peak, WalkOrder(schedule, FileOrder(schedule)).peak);
  }
}

TEST(StoredAnswersTest, APlanIsMadeOnce) {
  const plan::Problem problem = TwoBuffers();
  Answers answers;
  const auto first = AssignOnce(problem, {}, {}, 1, {}, &answers);
  const auto second = AssignOnce(problem, {}, {}, 1, {}, &answers);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(answers.given, 1);
  EXPECT_EQ(second->offsets, first->offsets);
  EXPECT_EQ(second->assigner, first->assigner);
  EXPECT_EQ(second->steps, first->steps);
  EXPECT_EQ(second->regions[0].size, first->regions[0].size);
  EXPECT_EQ(second->regions[0].lower_bound, first->regions[0].lower_bound);
  EXPECT_EQ(second->regions[0].optimal, first->regions[0].optimal);
  for (const char* name : {"block", "exact"}) {
    AssignerChoice choice;
    choice.name = name;
    ASSERT_TRUE(AssignOnce(problem, choice, {}, 1, {}, &answers).ok());
  }
  EXPECT_EQ(answers.kept, 3) << "another assigner is another request";
}

TEST(StoredAnswersTest, EveryPlanThatComesBackIsVerified) {
  const plan::Problem problem = TwoBuffers();
  Answers answers;
  const auto right = AssignOnce(problem, {}, {}, 1, {}, &answers);
  ASSERT_TRUE(right.ok());
  const std::string good = answers.all.begin()->second;
  for (size_t at = 0; at <= good.size(); ++at) {
    std::string changed = at == good.size() ? std::string("x") : good;
    if (at < good.size()) changed[at] = static_cast<char>(changed[at] ^ 0x41);
    answers.all.begin()->second = changed;
    const auto plan = AssignOnce(problem, {}, {}, 1, {}, &answers);
    ASSERT_TRUE(plan.ok()) << "byte " << at;
    ASSERT_TRUE(plan::Verify(problem, *plan).ok()) << "byte " << at;
  }
}

TEST(StoredAnswersTest, AReaderStaysInsideItsBytes) {
  RecordWriter writer;
  writer.Int(1'000'000'000);
  RecordReader reader(writer.bytes());
  EXPECT_EQ(reader.Count(8), 0U);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.Int(), 0);
  EXPECT_EQ(reader.Text(), "");
  EXPECT_FALSE(reader.AtEnd());
}

}  // namespace stored_answers_test
}  // namespace plimsoll::compile
