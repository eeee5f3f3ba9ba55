#include "base/unfinished_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace plimsoll {
namespace unfinished_file_test {

namespace fs = std::filesystem;

fs::path Made(const std::string& name) {
  const fs::path path = fs::path(testing::TempDir()) / ("unfinished_file_test_" + name);
  std::ofstream(path) << "bytes";
  return path;
}

TEST(UnfinishedFileTest, WhatIsBeingWrittenIsRemovedAndNothingElse) {
  const fs::path finished = Made("finished");
  const fs::path unfinished = Made("unfinished");
  { const UnfinishedFile over(finished.string()); }
  UnfinishedFile begun(unfinished.string());
  const UnfinishedFile moved(std::move(begun));
  RemoveUnfinishedFiles();
  EXPECT_TRUE(fs::exists(finished));
  EXPECT_FALSE(fs::exists(unfinished));
  fs::remove(finished);
}

TEST(UnfinishedFileTest, ManyAtOnceDoNoHarm) {
  std::vector<UnfinishedFile> files;
  for (int i = 0; i < 100; ++i) files.emplace_back("/nowhere/" + std::to_string(i));
  files.emplace_back(std::string(100'000, 'x'));
  RemoveUnfinishedFiles();
}

}  // namespace unfinished_file_test
}  // namespace plimsoll
