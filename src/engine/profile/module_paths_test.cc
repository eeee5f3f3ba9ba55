#include "engine/profile/module_paths.h"

#include <gtest/gtest.h>

namespace plimsoll::engine {
namespace module_paths_test {

TEST(ModulePathsTest, WeightsTellTheModule) {
  EXPECT_EQ(ModuleOfWeight("layer1.0.conv2.weight"), "layer1.0.conv2");
  EXPECT_EQ(ModuleOfWeight("weight"), "");
  EXPECT_EQ(ModuleOfWeight(".weight"), "");
}

}  // namespace module_paths_test
}  // namespace plimsoll::engine
