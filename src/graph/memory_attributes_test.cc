#include "graph/memory_attributes.h"

#include <gtest/gtest.h>

namespace plimsoll::graph {
namespace memory_attributes_test {

struct Case {
  const char* key;
  const char* value;
  const char* text;
};

class MemoryAttributesTest : public testing::TestWithParam<Case> {};

TEST_P(MemoryAttributesTest, MetadataIsAppliedAndWrittenBack) {
  MemoryAttributes attributes;
  ASSERT_TRUE(Apply(attributes, GetParam().key, GetParam().value).ok());
  EXPECT_EQ(Text(attributes), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    EveryKey, MemoryAttributesTest,
    testing::Values(Case{"memory_type", "p2p", "memory_type=p2p"},
                    Case{"memory_type", "device", ""},
                    Case{"continuous_input", "padded", "continuous_input=padded"},
                    Case{"continuous_output", "unpadded", "continuous_output=unpadded"},
                    Case{"reference_output", "0:0, 1:2", "reference_output=0:0,1:2"},
                    Case{"needs_clearing", "0,1", "needs_clearing=0,1"},
                    Case{"needs_clearing", "", ""}, Case{"fixed_address", "1", "fixed_address=1"},
                    Case{"no_address_refresh", "1", "no_address_refresh=1"},
                    Case{"batch_label", "gear_4", "batch_label=gear_4"},
                    Case{"memory_type", "host", "memory_type=host"},
                    Case{"continuous_input", "unpadded", "continuous_input=unpadded"},
                    Case{"continuous_output", "padded", "continuous_output=padded"},
                    Case{"group", "gradients, 3", "group=gradients,3"},
                    Case{"group", "g,65535", "group=g,65535"}, Case{"fixed_address", "0", ""},
                    Case{"stream", "0", ""}, Case{"stream", "3", "stream=3"}));

TEST(MemoryAttributesRulesTest, OnlyTheStreamLeavesANodeOrdinary) {
  const auto ordinary = [](const char* key, const char* value) {
    MemoryAttributes attributes;
    EXPECT_TRUE(Apply(attributes, key, value).ok()) << key;
    return IsOrdinary(attributes);
  };
  EXPECT_TRUE(IsOrdinary({}));
  EXPECT_TRUE(ordinary("stream", "3"));
  EXPECT_FALSE(ordinary("memory_type", "p2p"));
  EXPECT_FALSE(ordinary("continuous_input", "padded"));
  EXPECT_FALSE(ordinary("continuous_output", "padded"));
  EXPECT_FALSE(ordinary("reference_output", "0:0"));
  EXPECT_FALSE(ordinary("needs_clearing", "0"));
  EXPECT_FALSE(ordinary("fixed_address", "1"));
  EXPECT_FALSE(ordinary("no_address_refresh", "1"));
  EXPECT_FALSE(ordinary("batch_label", "a"));
  EXPECT_FALSE(ordinary("group", "g,0"));
}

TEST(MemoryAttributesRulesTest, ALaterEntryReplacesAnEarlierOne) {
  MemoryAttributes attributes;
  ASSERT_TRUE(Apply(attributes, "needs_clearing", "0,1").ok());
  ASSERT_TRUE(Apply(attributes, "needs_clearing", "2").ok());
  ASSERT_TRUE(Apply(attributes, "fixed_address", "1").ok());
  ASSERT_TRUE(Apply(attributes, "fixed_address", "0").ok());
  EXPECT_EQ(Text(attributes), "needs_clearing=2");
}

TEST(MemoryAttributesErrorTest, BadValuesNameTheLegalOnesAndChangeNothing) {
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, const char*>>{{"memory_type", "hbm"},
                                                        {"continuous_input", "1"},
                                                        {"reference_output", "0"},
                                                        {"reference_output", "0:x"},
                                                        {"needs_clearing", "-1"},
                                                        {"fixed_address", "yes"},
                                                        {"no_address_refresh", "2"},
                                                        {"continuous_output", "yes"},
                                                        {"reference_output", "0:1:2"},
                                                        {"reference_output", "0:65536"},
                                                        {"needs_clearing", "0,"},
                                                        {"group", "gradients"},
                                                        {"group", ",1"},
                                                        {"group", "g,65536"},
                                                        {"group", "g,1,2"},
                                                        {"stream", "-1"},
                                                        {"stream", "99999999999"}}) {
    MemoryAttributes attributes;
    const Status status = Apply(attributes, key, value);
    ASSERT_FALSE(status.ok()) << key;
    EXPECT_EQ(status.error().code, "graph.memory_attribute");
    EXPECT_NE(status.error().remedy.find("use "), std::string::npos);
    EXPECT_EQ(attributes, MemoryAttributes());
  }
}

TEST(MemoryAttributesErrorTest, AMisspeltKeyIsToldTheNearest) {
  MemoryAttributes attributes;
  const Status status = Apply(attributes, "batch_lable", "a");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().why.find("plimsoll.batch_label"), std::string::npos);
}

}  // namespace memory_attributes_test
}  // namespace plimsoll::graph
