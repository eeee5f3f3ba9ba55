#include "onnx/wire/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "onnx/wire/temporary_folder_for_tests.h"

namespace plimsoll::onnx {
namespace mapped_file_test {

std::string CodeOf(const std::filesystem::path& file) {
  const auto mapped = MappedFile::Open(file);
  return mapped.ok() ? "" : mapped.error().code;
}

TEST(MappedFileTest, GivesTheBytesOfAFile) {
  const TemporaryFolder folder;
  const auto mapped = MappedFile::Open(folder.Write("data", "hello"));
  ASSERT_TRUE(mapped.ok());
  ASSERT_EQ((*mapped)->bytes().size(), 5u);
  EXPECT_EQ((*mapped)->bytes()[4], std::byte{'o'});
}

TEST(MappedFileTest, AnEmptyFileGivesNoBytes) {
  const TemporaryFolder folder;
  const auto mapped = MappedFile::Open(folder.Write("data", ""));
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE((*mapped)->bytes().empty());
}

TEST(MappedFileTest, SaysWhyAFileCannotBeMapped) {
  const TemporaryFolder folder;
  EXPECT_EQ(CodeOf(folder.path() / "nothing"), "file.missing");
  EXPECT_EQ(CodeOf(folder.path()), "file.kind");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(pipe), "file.kind");
}

}  // namespace mapped_file_test
}  // namespace plimsoll::onnx
