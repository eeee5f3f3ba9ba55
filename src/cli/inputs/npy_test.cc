#include "cli/inputs/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace npy_test {

using graph::DataType;
using kernels::HostTensor;

class NpyTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }
  void Write(const std::string& bytes) const {
    std::ofstream out(file_, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string Bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // A file of version 1 with this header and these bytes of elements.
  static std::string File(std::string header, const std::string& elements) {
    header += '\n';
    std::string bytes = "\x93NUMPY";
    bytes += {'\x01', '\x00', static_cast<char>(header.size() % 256),
              static_cast<char>(header.size() / 256)};
    return bytes + header + elements;
  }
  std::string CodeOf() const {
    const auto read = ReadNpy(file_);
    return read.ok() ? "" : read.error().code;
  }

  const std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / StrCat("plimsoll_npy_test_", getpid(), ".npy");
};

HostTensor Counting(DataType type, const kernels::Dims& dims) {
  HostTensor tensor = *kernels::AllocateOnHeap(type, dims);
  auto* bytes = static_cast<unsigned char*>(tensor.data.get());
  for (int64_t i = 0; i < tensor.size().value(); ++i) bytes[i] = static_cast<unsigned char>(i % 2);
  return tensor;
}

TEST_F(NpyTest, WhatIsWrittenIsReadBack) {
  for (const DataType type :
       {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kInt8,
        DataType::kInt16, DataType::kInt32, DataType::kInt64, DataType::kUint8, DataType::kUint16,
        DataType::kUint32, DataType::kUint64, DataType::kBool, DataType::kComplex64,
        DataType::kComplex128}) {
    for (const kernels::Dims& dims :
         {kernels::Dims{}, kernels::Dims{3}, kernels::Dims{2, 3, 4}, kernels::Dims{0, 5}}) {
      const HostTensor tensor = Counting(type, dims);
      ASSERT_TRUE(WriteNpy(file_, tensor).ok()) << graph::Name(type);
      const auto read = ReadNpy(file_);
      ASSERT_TRUE(read.ok()) << read.error().Text();
      EXPECT_EQ(read->type, type);
      EXPECT_EQ(read->dims, dims);
      EXPECT_EQ(std::memcmp(read->data.get(), tensor.data.get(),
                            static_cast<size_t>(tensor.size().value())),
                0);
    }
  }
}

TEST_F(NpyTest, ElementsBeginAtAMultipleOf64AsNumPyWritesThem) {
  ASSERT_TRUE(WriteNpy(file_, Counting(DataType::kFloat32, {7})).ok());
  const std::string bytes = Bytes();
  EXPECT_EQ((bytes.size() - 7 * sizeof(float)) % 64, 0U);
  EXPECT_NE(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }"),
            std::string::npos);
}

TEST_F(NpyTest, TypesThatNumPyLacksAreRefused) {
  const Status written = WriteNpy(file_, Counting(DataType::kBfloat16, {2}));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, "npy.write");
}

TEST_F(NpyTest, AFolderThatIsNotThereCannotBeWrittenTo) {
  EXPECT_FALSE(WriteNpy(file_ / "x.npy", Counting(DataType::kFloat32, {2})).ok());
}

TEST_F(NpyTest, EveryCutIsNoticed) {
  ASSERT_TRUE(WriteNpy(file_, Counting(DataType::kFloat32, {2, 3})).ok());
  const std::string whole = Bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    Write(whole.substr(0, length));
    const auto read = ReadNpy(file_);
    ASSERT_FALSE(read.ok()) << length;
    EXPECT_EQ(read.error().kind, ErrorKind::kBadFile) << length;
  }
  Write(whole + "x");
  EXPECT_EQ(CodeOf(), "npy.file") << "more than the shape asks for";
}

TEST_F(NpyTest, HostileFilesAreRefused) {
  const std::string four(16, '\0');
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
  Write(File(good, four));
  ASSERT_EQ(CodeOf(), "");
  const std::vector<std::string> headers = {
      "",
      "{}",
      "{'descr': '<f4'}",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (four,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776, 4)}",
      "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (4,)}",
      "{'descr': '|O', 'fortran_order': False, 'shape': (4,)}",
      "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (4,)}",
      "{'descr': '<U0', 'fortran_order': False, 'shape': (1099511627776,)}",
      "{'descr': '<U4', 'fortran_order': False, 'shape': (4611686018427387905,)}",
      "{'descr': 4, 'fortran_order': False, 'shape': (4,)}",
      "{'descr': '",
      "'descr'",
      "'shape': (",
      std::string(60000, '('),
  };
  for (const std::string& header : headers) {
    Write(File(header, four));
    EXPECT_EQ(CodeOf(), "npy.file") << header.substr(0, 100);
  }
  std::string wrong_magic = File(good, four);
  wrong_magic[0] = 'P';
  Write(wrong_magic);
  EXPECT_EQ(CodeOf(), "npy.file");
  std::string endless = "\x93NUMPY";
  endless += {'\x02', '\x00', '\xff', '\xff', '\xff', '\x7f'};
  Write(endless + good);
  EXPECT_EQ(CodeOf(), "npy.file") << "a header of 2 GiB";
}

TEST_F(NpyTest, ColumnOrderAndBigEndianElementsAreConverted) {
  const std::string numbers = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};  // 1 to 6, the high byte first
  Write(File("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}", numbers));
  const auto read = ReadNpy(file_);
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_EQ(read->dims, (kernels::Dims{2, 3}));
  const auto elements = read->Elements<int16_t>();
  EXPECT_EQ(std::vector<int16_t>(elements.begin(), elements.end()),
            (std::vector<int16_t>{1, 3, 5, 2, 4, 6}));
}

TEST_F(NpyTest, TextIsWrittenAndReadBack) {
  HostTensor tensor = *kernels::AllocateOnHeap(DataType::kString, {2, 2});
  const std::vector<std::string> texts = {"", "plain", "\u540d\u8a5e", "\u00e9\U0001F6A2"};
  std::copy(texts.begin(), texts.end(), static_cast<std::string*>(tensor.data.get()));
  ASSERT_TRUE(WriteNpy(file_, tensor).ok());
  EXPECT_NE(Bytes().find("'descr': '<U5'"), std::string::npos);
  const auto read = ReadNpy(file_);
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_EQ(read->dims, (kernels::Dims{2, 2}));
  const auto* elements = static_cast<const std::string*>(read->data.get());
  EXPECT_EQ(std::vector<std::string>(elements, elements + 4), texts);
  *static_cast<std::string*>(tensor.data.get()) = "\xff";
  EXPECT_EQ(WriteNpy(file_, tensor).error().code, "npy.write") << "no UTF-8";
}

TEST_F(NpyTest, TextOfOtherToolsIsRead) {
  const auto first = [&](const std::string& descr, const std::string& bytes) {
    Write(File(StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (1,)}"), bytes));
    const auto read = ReadNpy(file_);
    return read.ok() ? *static_cast<const std::string*>(read->data.get()) : read.error().code;
  };
  EXPECT_EQ(first("|S3", std::string("ab\0", 3)), "ab");
  EXPECT_EQ(first(">U2", std::string("\0\0\0a\0\0\0b", 8)), "ab");
  EXPECT_EQ(first("<U2", std::string("a\0\0\0b\0\0\0", 8)), "ab");
  EXPECT_EQ(first("<U2", "short"), "npy.file");
  EXPECT_EQ(first("<U1", "\xff\xff\xff\xff"), "npy.file") << "no code point";
  EXPECT_EQ(first("<U-1", ""), "npy.file");
  EXPECT_EQ(first("|O", "12345678"), "npy.file") << "objects are never read";
}

TEST_F(NpyTest, FilesThatAreNotThereAndFoldersAreRefused) {
  EXPECT_EQ(CodeOf(), "npy.file");
  EXPECT_FALSE(ReadNpy(std::filesystem::temp_directory_path()).ok());
}

}  // namespace npy_test
}  // namespace plimsoll::cli
