#include "base/mapped_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace plimsoll {
namespace mapped_pages_test {

// Whether a page of this process is in memory, as the system says.
bool Present(const std::byte* at) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  uint64_t entry = 0;
  const auto place = static_cast<off_t>(reinterpret_cast<uintptr_t>(at) / page * sizeof(entry));
  const bool read = pread(file, &entry, sizeof(entry), place) == sizeof(entry);
  close(file);
  return read && (entry >> 63) != 0;
}

// A file of eight pages, each full of its number, mapped to be read.
class MappedPagesTest : public testing::Test {
 protected:
  static constexpr size_t kPages = 8;
  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));

  MappedPagesTest() {
    const std::string path = testing::TempDir() + "mapped_pages_" + std::to_string(getpid());
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    unlink(path.c_str());
    for (size_t i = 0; i < kPages; ++i) {
      const std::vector<char> content(page_, static_cast<char>(i + 1));
      EXPECT_EQ(write(file_, content.data(), page_), static_cast<ssize_t>(page_));
    }
    bytes_ = Map(PROT_READ, MAP_PRIVATE);
    TouchAll();
  }
  ~MappedPagesTest() override {
    for (std::byte* mapped : mapped_) munmap(mapped, kPages * page_);
    close(file_);
  }

  std::byte* Map(int protection, int flags) {
    void* mapped = mmap(nullptr, kPages * page_, protection, flags, file_, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    mapped_.push_back(static_cast<std::byte*>(mapped));
    return mapped_.back();
  }
  void TouchAll() {
    for (size_t i = 0; i < kPages; ++i) {
      EXPECT_EQ(std::to_integer<size_t>(*const_cast<volatile std::byte*>(At(i))), i + 1);
    }
  }
  std::byte* At(size_t page) const { return bytes_ + page * page_; }
  std::span<const std::byte> Pages(size_t first, size_t count) const {
    return {At(first), count * page_};
  }
  // A letter for each page: present or not.
  std::string Picture() const {
    std::string picture;
    for (size_t i = 0; i < kPages; ++i) picture += Present(At(i)) ? 'p' : '-';
    return picture;
  }

  int file_ = -1;
  std::vector<std::byte*> mapped_;
  std::byte* bytes_ = nullptr;
};

TEST_F(MappedPagesTest, OnlyBytesThatLieWhollyInAReadOnlyMappingLieInAFile) {
  EXPECT_TRUE(LieInFile(Pages(0, kPages)));
  EXPECT_TRUE(LieInFile(std::span(At(3) + 5, 7)));
  EXPECT_TRUE(LieInFile(std::span(At(kPages) - 1, 1)));
  EXPECT_FALSE(LieInFile({}));
  EXPECT_FALSE(LieInFile(std::span(Map(PROT_READ | PROT_WRITE, MAP_PRIVATE), page_)));
  const std::vector<std::byte> heap(page_ * 2);
  EXPECT_FALSE(LieInFile(heap));
}

TEST_F(MappedPagesTest, PagesThatLieWhollyInsideAreDropped) {
  ASSERT_EQ(Picture(), "pppppppp");
  DropMappedPages(std::span<const std::byte>(At(1) + 1, page_ * 3));
  EXPECT_EQ(Picture(), "pp--pppp");
  DropMappedPages(std::span<const std::byte>(At(6) + 1, page_ - 1));
  EXPECT_EQ(Picture(), "pp--pppp") << "no whole page";
  TouchAll();  // they come back from the file
  DropMappedPages(Pages(7, 1));
  EXPECT_EQ(Picture(), "ppppppp-");
}

TEST_F(MappedPagesTest, OfManyEachIsDroppedAndOtherMemoryIsLeftAlone) {
  std::vector<std::byte> heap(page_ * 4, std::byte{9});
  const std::vector<std::span<const std::byte>> many = {Pages(0, 1), heap, Pages(5, 3)};
  DropMappedPages(many);
  EXPECT_EQ(Picture(), "-pppp---");
  for (const std::byte byte : heap) ASSERT_EQ(byte, std::byte{9});
}

TEST_F(MappedPagesTest, AMappingThatCanBeWrittenKeepsWhatWasWritten) {
  std::byte* writable = Map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
  std::memset(writable, 77, kPages * page_);
  DropMappedPages(std::span<const std::byte>(writable, kPages * page_));
  EXPECT_EQ(writable[page_], std::byte{77});
}

TEST_F(MappedPagesTest, BytesThatReachBeyondTheFileAreLeftAlone) {
  void* both =
      mmap(nullptr, 2 * kPages * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(both, MAP_FAILED);
  auto* bytes = static_cast<std::byte*>(both);
  std::memset(bytes, 5, 2 * kPages * page_);
  for (const size_t file_at : {size_t{0}, kPages * page_}) {
    ASSERT_NE(mmap(bytes + file_at, kPages * page_, PROT_READ, MAP_PRIVATE | MAP_FIXED, file_, 0),
              MAP_FAILED);
    const std::span<const std::byte> all(bytes, 2 * kPages * page_);
    EXPECT_EQ(LieInFile(all), file_at != 0) << "the second time both halves are the file's";
    DropMappedPages(std::span<const std::byte>(all));
    if (file_at == 0) {
      EXPECT_EQ(all.back(), std::byte{5});
    }
  }
  munmap(both, 2 * kPages * page_);
}

TEST_F(MappedPagesTest, PagesOfAKnownFileAreDroppedWithoutALook) {
  DropPagesOfFile(Pages(2, 2));
  EXPECT_EQ(Picture(), "pp--pppp");
  DropPagesOfFile(std::span<const std::byte>(At(4) + 1, 10));
  EXPECT_EQ(Picture(), "pp--pppp");
}

TEST_F(MappedPagesTest, SurroundingsOfTheSameFileAreDroppedAndNothingElse) {
  std::byte* const before = Map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
  std::memset(before, 77, kPages * page_);
  std::vector<std::byte> heap(page_ * 4, std::byte{9});
  const std::vector<std::span<const std::byte>> many = {std::span(At(3) + 5, 7), heap,
                                                        std::span(before + page_, page_)};
  DropMappedSurroundings(many);
  EXPECT_EQ(Picture(), "--------");
  for (size_t i = 0; i < kPages * page_; ++i) ASSERT_EQ(before[i], std::byte{77});
  for (const std::byte byte : heap) ASSERT_EQ(byte, std::byte{9});
  TouchAll();
}

TEST_F(MappedPagesTest, BytesOfWhichSomeLieBehindTheFileKeepTheirSurroundings) {
  const std::span<const std::byte> beyond(At(kPages - 1), 2 * page_);
  DropMappedSurroundings(std::span(&beyond, 1));
  EXPECT_EQ(Picture(), "pppppppp");
}

TEST(ReadInSlicesTest, EveryByteIsReadOnceInOrderUntilTheReaderHasEnough) {
  const std::vector<std::byte> bytes(size_t{20} << 20);
  std::vector<std::pair<size_t, size_t>> slices;
  const auto note = [&](std::span<const std::byte> slice) {
    slices.emplace_back(static_cast<size_t>(slice.data() - bytes.data()) >> 20, slice.size() >> 20);
  };
  EXPECT_TRUE(ReadInSlices(bytes, [&](std::span<const std::byte> slice) {
    note(slice);
    return true;
  }));
  EXPECT_EQ(slices, (std::vector<std::pair<size_t, size_t>>{{0, 8}, {8, 8}, {16, 4}}));
  slices.clear();
  EXPECT_FALSE(ReadInSlices(bytes, [&](std::span<const std::byte> slice) {
    note(slice);
    return slices.size() < 2;
  }));
  EXPECT_EQ(slices.size(), 2u);
  EXPECT_TRUE(ReadInSlices({}, [](std::span<const std::byte>) { return false; }));
}

TEST(ResidentBytesTest, TouchedMemoryIsResidentAndThePeakRemembersIt) {
  constexpr size_t kSize = size_t{64} << 20;
  const Bytes before = ResidentBytes();
  void* block = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kSize);
  EXPECT_GE(ResidentBytes(), before + MiB(60));
  EXPECT_GE(PeakResidentBytes(), before + MiB(60));
  munmap(block, kSize);
  EXPECT_LE(ResidentBytes(), before + MiB(32));
  EXPECT_GE(PeakResidentBytes(), before + MiB(60));
}

}  // namespace mapped_pages_test
}  // namespace plimsoll
