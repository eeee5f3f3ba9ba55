#include <gtest/gtest.h>

#include <filesystem>

#include "engine/variables/training_for_tests.h"

namespace plimsoll::engine {
namespace growing_variables_test {

using compile::FloatTensor;
using graph::Dim;
using kernels::Dims;
using kernels::HostTensor;

constexpr int64_t kRoom = 4;

// One step of a decoder of two items with two heads: present = Concat(past, new), and what is read
// of all keys.
graph::Graph Appending() {
  graph::GraphBuilder builder;
  const auto past =
      builder.Input("past", FloatTensor({Dim::Symbol("batch"), 2, Dim::Symbol("past"), 3}));
  const auto added =
      builder.Input("added", FloatTensor({Dim::Symbol("batch"), 2, Dim::Symbol("new"), 3}));
  const auto present = builder.Node("Concat", {past, builder.Node("Neg", {added})},
                                    compile::With("axis", int64_t{2}));
  builder.Output(present);
  builder.Output(builder.Node("Abs", {present}));
  graph::Graph graph = builder.Build();
  graph[present].name = "present";
  return graph;
}

std::vector<VariableName> Cache(int64_t room = kRoom) {
  return {{.input = "past", .output = "present", .dims = {2, 2, room, 3}}};
}

// What the cache holds after those rows, by item and head.
class ExpectedRows {
 public:
  void Append(const HostTensor& added) {
    const std::vector<float> elements = ElementsOf(added);
    const size_t count = elements.size() / rows_.size();
    for (size_t i = 0; i < elements.size(); ++i) rows_[i / count].push_back(-elements[i]);
  }
  std::vector<float> Elements() const {
    std::vector<float> all;
    for (const auto& rows : rows_) all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }

 private:
  std::vector<std::vector<float>> rows_ = std::vector<std::vector<float>>(4);
};

GraphId MustAddAppending(Session& session, int64_t room = kRoom) {
  auto id = session.Add(Appending(), Cache(room));
  EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().Text());
  return *id;
}

Status RunWith(Session& session, GraphId id, const HostTensor& added) {
  auto run = session.RunValues(id, Values({added}), {});
  return run.ok() ? Status() : Status(run.error());
}

Dims HeldBy(const Session& session) { return session.variables().List()[0].dims; }

TEST(GrowingVariablesTest, EachRunAppendsInPlaceUntilTheRoomIsUsed) {
  for (const bool optimise : {true, false}) {
    SessionOptions options;
    options.load.optimise = optimise;
    const auto session = MakeSession(options);
    const GraphId id = MustAddAppending(*session);
    EXPECT_EQ(HeldBy(*session), (Dims{2, 2, 0, 3}));
    EXPECT_EQ(session->variables().bytes(), Bytes(2 * 2 * kRoom * 3 * 4))
        << "all of it is there at once";
    ExpectedRows expected;
    uint32_t seed = 1;
    for (const int64_t rows : {1, 2, 1}) {
      const HostTensor added = Random({2, 2, rows, 3}, ++seed);
      const Status run = RunWith(*session, id, added);
      ASSERT_TRUE(run.ok()) << run.error().Text();
      expected.Append(added);
      EXPECT_EQ(VariableOf(*session, "past"), expected.Elements());
      if (!optimise) continue;
      const UpdateReport report = *session->Updates(id);
      EXPECT_EQ(report.copied, 0) << report.copies[0].reason;
      EXPECT_EQ(report.in_place, 1);
    }
    EXPECT_EQ(CodeOf(RunWith(*session, id, Random({2, 2, 1, 3}, 9))), "variables.capacity");
    EXPECT_EQ(VariableOf(*session, "past"), expected.Elements()) << "nothing was written";
    EXPECT_EQ(session->variables().steps(), 3);
  }
}

TEST(GrowingVariablesTest, TheCallerSetsWhateverFits) {
  const auto session = MakeSession();
  const GraphId id = MustAddAppending(*session);
  const HostTensor two = Random({2, 2, 2, 3}, 4);
  ASSERT_TRUE(session->variables().Set("past", View(two)).ok());
  EXPECT_EQ(VariableOf(*session, "past"), ElementsOf(two));
  ASSERT_TRUE(RunWith(*session, id, Random({2, 2, 1, 3}, 5)).ok());
  EXPECT_EQ(HeldBy(*session), (Dims{2, 2, 3, 3}));
  for (const Dims& wrong : {Dims{2, 2, kRoom + 1, 3}, Dims{2, 1, 2, 3}, Dims{2, 2, 2}}) {
    EXPECT_EQ(CodeOf(session->variables().Set("past", View(Random(wrong, 6)))),
              "variables.differs");
  }
  EXPECT_EQ(HeldBy(*session), (Dims{2, 2, 3, 3}));
  ASSERT_TRUE(session->variables().Set("past", View(Random({2, 2, 0, 3}, 7))).ok())
      << "it begins anew";
  EXPECT_EQ(HeldBy(*session), (Dims{2, 2, 0, 3}));
}

TEST(GrowingVariablesTest, AFileRemembersHowMuchWasHeld) {
  const std::string path = testing::TempDir() + "growing_variables.plv";
  const auto session = MakeSession();
  const GraphId id = MustAddAppending(*session);
  ASSERT_TRUE(RunWith(*session, id, Random({2, 2, 3, 3}, 2)).ok());
  const std::vector<float> held = VariableOf(*session, "past");
  ASSERT_TRUE(session->variables().Save(path).ok());
  ASSERT_TRUE(RunWith(*session, id, Random({2, 2, 1, 3}, 3)).ok());
  ASSERT_TRUE(session->variables().Restore(path).ok());
  EXPECT_EQ(VariableOf(*session, "past"), held);
  ASSERT_TRUE(RunWith(*session, id, Random({2, 2, 1, 3}, 3)).ok());
  const auto smaller = MakeSession();
  MustAddAppending(*smaller, 2);
  EXPECT_EQ(CodeOf(smaller->variables().Restore(path)), "variables.file");
  std::filesystem::remove(path);
}

TEST(GrowingVariablesTest, GraphsOfASessionMustAgreeOnTheRoom) {
  const auto session = MakeSession();
  MustAddAppending(*session);
  EXPECT_TRUE(session->Add(Appending(), Cache()).ok());
  const auto other = session->Add(Appending(), Cache(kRoom + 1));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, "variables.differs");
}

}  // namespace growing_variables_test
}  // namespace plimsoll::engine
