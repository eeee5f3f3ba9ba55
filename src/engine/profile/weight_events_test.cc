#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/models_for_tests.h"
#include "engine/profile/profiled_session_for_tests.h"
#include "profile/csv/memory_rows.h"

// What a recorder is told of the weights that sessions hold.
namespace plimsoll::engine {
namespace weight_events_test {

using profile::Event;
using profile::Recording;
using ::testing::HasSubstr;

// Each weight is an event with its name, its graph and its address; what is unloaded is released.
TEST(WeightEventsTest, WeightsAreToldOneByOneByNameAndGraph) {
  const Profiled made;
  made.profile->Start();
  const GraphId id = MustAdd(*made.session, ConvolutionalNetwork());
  MustRun(*made.session, id, {Random({1, 3, 20, 20}, 1)});
  EXPECT_TRUE(made.session->Unload(id).ok());
  const Recording recording = made.profile->Take();
  std::map<uint64_t, Event> held;
  std::set<std::string> names;
  for (const Event& event : recording.events) {
    if (event.component != profile::Component::kWeights) continue;
    if (event.kind == Event::Kind::kRelease) {
      ASSERT_EQ(held.count(event.address), 1U);
      EXPECT_EQ(held[event.address].bytes, event.bytes);
      held.erase(event.address);
      continue;
    }
    names.insert(recording.Name(event.name));
    EXPECT_THAT(recording.Name(event.item), HasSubstr("graph 0"));
    held[event.address] = event;
  }
  EXPECT_TRUE(held.empty());
  EXPECT_GT(names.size(), 1U);
  EXPECT_FALSE(names.contains(""));
}

TEST(WeightEventsTest, AWindowOpenedLaterKnowsTheWeightsThatAreHeld) {
  const Profiled made;
  const GraphId id = MustAdd(*made.session, ConvolutionalNetwork());
  MustRun(*made.session, id, {Random({1, 3, 20, 20}, 1)});
  made.profile->Start();
  MustRun(*made.session, id, {Random({1, 3, 20, 20}, 1)});
  const Recording recording = made.profile->Take();
  Bytes held;
  for (const Event& event : recording.held) held += Bytes(event.bytes);
  EXPECT_EQ(held, made.session->Memory().weights);
  EXPECT_EQ(recording.before[static_cast<size_t>(profile::Component::kWeights)].allocated,
            held.value());
}

TEST(WeightEventsTest, WeightsAreAComponentOfTheirOwn) {
  const Profiled made;
  made.profile->Start();
  const GraphId id = MustAdd(*made.session, ConvolutionalNetwork());
  MustRun(*made.session, id, {Random({1, 3, 20, 20}, 1)});
  const Bytes weights = made.session->Memory().weights;
  int64_t told = 0;
  profile::ReplayTotals(made.profile->Take(),
                        [&](const Event& event, const profile::MemoryTotals& totals) {
                          if (event.component == profile::Component::kWeights) {
                            told = totals.allocated;
                          }
                        });
  EXPECT_GT(weights, Bytes(0));
  EXPECT_EQ(told, weights.value());
}

}  // namespace weight_events_test
}  // namespace plimsoll::engine
