#include "graph/memory_attributes.h"

#include <gtest/gtest.h>

namespace plimsoll::graph {
namespace {

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
                    Case{"stream", "3", "stream=3"}));

TEST(MemoryAttributesErrorTest, BadValuesNameTheLegalOnesAndChangeNothing) {
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, const char*>>{{"memory_type", "hbm"},
                                                        {"continuous_input", "1"},
                                                        {"reference_output", "0"},
                                                        {"reference_output", "0:x"},
                                                        {"needs_clearing", "-1"},
                                                        {"fixed_address", "yes"},
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

}  // namespace
}  // namespace plimsoll::graph
