#include "onnx/wire/external_files.h"

#include <gtest/gtest.h>

#include "onnx/wire/temporary_folder_for_tests.h"

namespace plimsoll::onnx {
namespace external_files_test {

namespace fs = std::filesystem;

class ExternalFilesTest : public testing::Test {
 protected:
  ExternalFilesTest() {
    fs::create_directories(folder_.path() / "model" / "below");
    folder_.Write("model/weights", "0123456789");
    folder_.Write("model/below/more", "abcd");
    folder_.Write("secret", "secret");
  }

  Result<ExternalFiles::Slice> Find(const ExternalFiles::Entries& entries, int64_t expected) {
    return files_.Find(entries, Bytes(expected), "tensor 'w'");
  }
  std::string CodeOf(const ExternalFiles::Entries& entries, int64_t expected = 4) {
    const auto slice = Find(entries, expected);
    return slice.ok() ? "" : slice.error().code;
  }

  TemporaryFolder folder_;
  Source source_{"model.onnx", "cannot read the model", {}, nullptr};
  ExternalFiles files_{source_, folder_.path() / "model"};
};

TEST_F(ExternalFilesTest, GivesTheBytesAtTheirOffset) {
  const auto slice = Find({{"location", "weights"}, {"offset", "3"}, {"length", "4"}}, 4);
  ASSERT_TRUE(slice.ok()) << slice.error().Text();
  EXPECT_EQ(slice->bytes[0], std::byte{'3'});
  EXPECT_EQ(slice->bytes.size(), 4u);
  EXPECT_FALSE(slice->missing);
  EXPECT_TRUE(Find({{"location", "below/more"}}, 4).ok());
}

TEST_F(ExternalFilesTest, MapsAFileOnce) {
  const auto first = Find({{"location", "weights"}}, 4);
  const auto second = Find({{"location", "weights"}, {"offset", "4"}}, 4);
  EXPECT_EQ(first->storage, second->storage);
}

TEST_F(ExternalFilesTest, AFileThatIsNotThereIsMissingNotAnError) {
  const auto slice = Find({{"location", "elsewhere.data"}}, 4);
  ASSERT_TRUE(slice.ok());
  EXPECT_TRUE(slice->missing);
  EXPECT_EQ(slice->file, "elsewhere.data");
}

TEST_F(ExternalFilesTest, ALinkThatLeadsNowhereIsMissingToo) {
  fs::create_symlink(folder_.path() / "gone", folder_.path() / "model" / "dangling");
  EXPECT_TRUE(Find({{"location", "dangling"}}, 4)->missing);
}

TEST_F(ExternalFilesTest, WithoutAFolderEverythingIsMissing) {
  ExternalFiles files(source_, "");
  EXPECT_TRUE(files.Find({{"location", "weights"}}, Bytes(4), "tensor")->missing);
}

TEST_F(ExternalFilesTest, RefusesPathsThatLeaveTheFolder) {
  EXPECT_EQ(CodeOf({{"location", "../secret"}}), "onnx.external_path");
  EXPECT_EQ(CodeOf({{"location", "below/../../secret"}}), "onnx.external_path");
  EXPECT_EQ(CodeOf({{"location", (folder_.path() / "secret").string()}}), "onnx.external_path");
  EXPECT_EQ(CodeOf({{"location", ""}}), "onnx.external_path");
  EXPECT_EQ(CodeOf({}), "onnx.external_path");
  EXPECT_EQ(CodeOf({{"location", std::string_view("weights\0x", 9)}}), "onnx.external_path");
}

TEST_F(ExternalFilesTest, RefusesLinksThatLeaveTheFolder) {
  fs::create_symlink(folder_.path() / "secret", folder_.path() / "model" / "link");
  fs::create_directory_symlink(folder_.path(), folder_.path() / "model" / "up");
  fs::create_symlink("round", folder_.path() / "model" / "round");
  EXPECT_EQ(CodeOf({{"location", "link"}}), "onnx.external_path");
  EXPECT_EQ(CodeOf({{"location", "up/secret"}}), "onnx.external_path");
  EXPECT_EQ(CodeOf({{"location", "round"}}), "onnx.external_path");
}

TEST_F(ExternalFilesTest, FollowsLinksInsideTheFolder) {
  fs::create_symlink("below/more", folder_.path() / "model" / "inner");
  EXPECT_EQ(CodeOf({{"location", "inner"}}), "");
}

// As Hugging Face's cache has it: a folder of links into the one that holds the files.
TEST_F(ExternalFilesTest, LinksMayLeadToWhereTheModelItselfIs) {
  folder_.Write("model/blob", "");
  fs::create_directories(folder_.path() / "snapshot");
  const fs::path model = folder_.path() / "snapshot" / "model.onnx";
  fs::create_symlink("../model/blob", model);
  fs::create_symlink("../model/weights", folder_.path() / "snapshot" / "data");
  fs::create_symlink("../secret", folder_.path() / "snapshot" / "secret");
  ExternalFiles files = ExternalFiles::NextTo(source_, model);
  EXPECT_TRUE(files.Find({{"location", "data"}}, Bytes(4), "tensor").ok());
  EXPECT_FALSE(files.Find({{"location", "secret"}}, Bytes(4), "tensor").ok());
  folder_.Write("snapshot/own.onnx", "");
  ExternalFiles own = ExternalFiles::NextTo(source_, folder_.path() / "snapshot" / "own.onnx");
  EXPECT_FALSE(own.Find({{"location", "data"}}, Bytes(4), "tensor").ok());
}

TEST_F(ExternalFilesTest, RefusesBytesThatTheFileDoesNotHave) {
  EXPECT_EQ(CodeOf({{"location", "weights"}, {"offset", "7"}}), "onnx.external_range");
  EXPECT_EQ(CodeOf({{"location", "weights"}, {"offset", "11"}}, 0), "onnx.external_range");
  EXPECT_EQ(CodeOf({{"location", "weights"}, {"offset", "9223372036854775807"}}),
            "onnx.external_range");
  EXPECT_EQ(CodeOf({{"location", "weights"}, {"offset", "-1"}}), "onnx.external_range");
  EXPECT_EQ(CodeOf({{"location", "weights"}, {"offset", "4x"}}), "onnx.external_range");
  EXPECT_EQ(CodeOf({{"location", "weights"}, {"length", "5"}}), "onnx.external_range");
  EXPECT_EQ(CodeOf({{"location", "below"}}), "file.kind");
}

}  // namespace external_files_test
}  // namespace plimsoll::onnx
