// Every field of every allocator's statistics, after each step of one story.
#include <map>

#include "memory/conformance_fixture.h"
#include "plimsoll/base/text.h"

namespace plimsoll::memory {
namespace statistics_test {

using Lines = std::vector<std::string>;

// The statistics in one line, in KiB: allocated/peak reserved/peak largest run | allocations frees
// failures slow paths live blocks.
std::string Line(const MemoryStatistics& s) {
  const auto kib = [](Bytes bytes) {
    EXPECT_EQ(bytes.value() % 512, 0);
    return StrCat(static_cast<double>(bytes.value()) / 1024);
  };
  return StrCat(kib(s.allocated), "/", kib(s.peak_allocated), " ", kib(s.reserved), "/",
                kib(s.peak_reserved), " ", kib(s.largest_free_run), " | ", s.allocations, " ",
                s.frees, " ", s.failures, " ", s.slow_paths, " ", s.live_blocks);
}

// On a fake device of 256 MiB: blocks of 3 MiB, 5 MiB and 1 KiB, a request for 1 GiB, the second
// freed, one of 2 MiB, all freed, trimmed.
Lines LinesOfTheStory(const Subject& subject) {
  const Machine machine = Machine::Fake({.capacity = MiB(256)});
  const std::unique_ptr<Allocator> allocator = subject.make(machine);
  Lines lines;
  const auto note = [&] { lines.push_back(Line(allocator->statistics())); };
  const auto take = [&](Bytes size) {
    const Result<Block> block = allocator->Allocate({.size = size, .stream = machine.stream()});
    note();
    return block.ok() ? *block : Block();
  };
  const auto give = [&](const Block& block) {
    EXPECT_TRUE(allocator->Free(block).ok());
    note();
  };
  note();
  const Block first = take(MiB(3));
  const Block second = take(MiB(5));
  const Block small = take(KiB(1));
  take(GiB(1));
  give(second);
  const Block last = take(MiB(2));
  give(first);
  give(small);
  give(last);
  EXPECT_TRUE(allocator->Trim().ok());
  note();
  return lines;
}

Lines ExpectedLines(const std::string& subject) {
  static const std::map<std::string, Lines> kExpected = {
      {"Scalable",
       {"0/0 0/0 0 | 0 0 0 0 0", "3072/3072 4096/4096 1024 | 1 0 0 1 1",
        "8192/8192 8192/8192 0 | 2 0 0 2 2", "8193/8193 10240/10240 2047 | 3 0 0 3 3",
        "8193/8193 10240/10240 2047 | 3 0 1 4 3", "3073/8193 10240/10240 5120 | 3 1 1 4 2",
        "5121/8193 10240/10240 3072 | 4 1 1 4 3", "2049/8193 10240/10240 3072 | 4 2 1 4 2",
        "2048/8193 10240/10240 3072 | 4 3 1 4 1", "0/8193 10240/10240 8192 | 4 4 1 4 0",
        "0/8193 0/10240 0 | 4 4 1 4 0"}},
      {"StreamOrdered",
       {"0/0 0/0 0 | 0 0 0 0 0", "3072/3072 4096/4096 1024 | 1 0 0 1 1",
        "8192/8192 8192/8192 0 | 2 0 0 2 2", "8193/8193 10240/10240 2047 | 3 0 0 3 3",
        "8193/8193 10240/262144 2047 | 3 0 1 4 3", "3073/8193 10240/262144 5120 | 3 1 1 4 2",
        "5121/8193 10240/262144 3072 | 4 1 1 4 3", "2049/8193 10240/262144 3072 | 4 2 1 4 2",
        "2048/8193 10240/262144 3072 | 4 3 1 4 1", "0/8193 10240/262144 8192 | 4 4 1 4 0",
        "0/8193 0/262144 0 | 4 4 1 4 0"}},
      {"Caching",
       {"0/0 0/0 0 | 0 0 0 0 0", "3072/3072 3072/3072 0 | 1 0 0 1 1",
        "8192/8192 8192/8192 0 | 2 0 0 2 2", "8193/8193 8193/8193 0 | 3 0 0 3 3",
        "8193/8193 8193/8193 0 | 3 0 1 4 3", "3073/8193 8193/8193 5120 | 3 1 1 4 2",
        "5121/8193 10241/10241 5120 | 4 1 1 5 3", "2049/8193 10241/10241 5120 | 4 2 1 5 2",
        "2048/8193 10241/10241 5120 | 4 3 1 5 1", "0/8193 10241/10241 5120 | 4 4 1 5 0",
        "0/8193 0/10241 0 | 4 4 1 5 0"}},
      {"CachingUntilLarger",
       {"0/0 0/0 0 | 0 0 0 0 0", "3072/3072 3072/3072 0 | 1 0 0 1 1",
        "8192/8192 8192/8192 0 | 2 0 0 2 2", "8193/8193 8193/8193 0 | 3 0 0 3 3",
        "8193/8193 8193/8193 0 | 3 0 1 4 3", "3073/8193 8193/8193 5120 | 3 1 1 4 2",
        "5121/8193 8193/8193 0 | 4 1 1 4 3", "2049/8193 8193/8193 3072 | 4 2 1 4 2",
        "2048/8193 8193/8193 3072 | 4 3 1 4 1", "0/8193 8193/8193 5120 | 4 4 1 4 0",
        "0/8193 0/8193 0 | 4 4 1 4 0"}},
      {"CachingNothing",
       {"0/0 0/0 0 | 0 0 0 0 0", "3072/3072 3072/3072 0 | 1 0 0 1 1",
        "8192/8192 8192/8192 0 | 2 0 0 2 2", "8193/8193 8193/8193 0 | 3 0 0 3 3",
        "8193/8193 8193/8193 0 | 3 0 1 4 3", "3073/8193 3073/8193 0 | 3 1 1 4 2",
        "5121/8193 5121/8193 0 | 4 1 1 5 3", "2049/8193 2049/8193 0 | 4 2 1 5 2",
        "2048/8193 2048/8193 0 | 4 3 1 5 1", "0/8193 0/8193 0 | 4 4 1 5 0",
        "0/8193 0/8193 0 | 4 4 1 5 0"}},
      {"Observing",
       {"0/0 0/0 0 | 0 0 0 0 0", "3072/3072 4096/4096 1024 | 1 0 0 0 1",
        "8192/8192 8192/8192 0 | 2 0 0 0 2", "8193/8193 10240/10240 2047 | 3 0 0 0 3",
        "8193/8193 10240/10240 2047 | 3 0 1 0 3", "3073/8193 10240/10240 5120 | 3 1 1 0 2",
        "5121/8193 10240/10240 3072 | 4 1 1 0 3", "2049/8193 10240/10240 3072 | 4 2 1 0 2",
        "2048/8193 10240/10240 3072 | 4 3 1 0 1", "0/8193 10240/10240 8192 | 4 4 1 0 0",
        "0/8193 0/10240 0 | 4 4 1 0 0"}},
      {"Guarding",
       {"0/0 0/0 0 | 0 0 0 0 0", "3073/3073 4096/4096 1023 | 1 0 0 1 1",
        "8194/8194 10240/10240 2046 | 2 0 0 2 2", "8196/8196 12288/12288 2046 | 3 0 0 3 3",
        "8196/8196 12288/12288 2046 | 3 0 1 4 3", "3075/8196 12288/12288 5121 | 3 1 1 4 2",
        "5124/8196 12288/12288 3072 | 4 1 1 4 3", "2051/8196 12288/12288 3073 | 4 2 1 4 2",
        "2051/8196 12288/12288 3073 | 4 2 1 4 2", "0/8196 12288/12288 8194 | 4 4 1 4 0",
        "0/8196 0/12288 0 | 4 4 1 4 0"}},
  };
  return kExpected.at(subject == "Limiting" ? "Scalable" : subject);
}

class StatisticsTest : public testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Every, StatisticsTest, testing::ValuesIn(AllSubjects()),
                         [](const auto& info) { return info.param.name; });

TEST_P(StatisticsTest, EveryFieldIsAsExpectedAfterEveryStep) {
  const Lines expected = ExpectedLines(GetParam().name);
  const Lines lines = LinesOfTheStory(GetParam());
  ASSERT_EQ(lines.size(), expected.size());
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], expected[i]) << "step " << i;
}

TEST(StatisticsOfPlainMemoryTest, ADeviceWithoutVirtualMemoryIsCountedTheSameWay) {
  const Machine machine = Machine::Fake({.capacity = MiB(64), .reserves_addresses = false});
  auto allocator = machine.Scalable();
  const Result<Block> first = allocator->Allocate({.size = MiB(3)});
  const Result<Block> second = allocator->Allocate({.size = MiB(5)});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(Line(allocator->statistics()), "8192/8192 10240/10240 1024 | 2 0 0 2 2");
  ASSERT_TRUE(allocator->Free(*second).ok());
  EXPECT_FALSE(allocator->Allocate({.size = MiB(62)}).ok());
  EXPECT_EQ(Line(allocator->statistics()), "3072/8192 10240/10240 6144 | 2 1 1 3 1");
  ASSERT_TRUE(allocator->Trim().ok());
  EXPECT_EQ(Line(allocator->statistics()), "3072/8192 4096/10240 1024 | 2 1 1 3 1");
}

}  // namespace statistics_test
}  // namespace plimsoll::memory
