#include "engine/cache/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/file_size_limit_for_tests.h"
#include "engine/weights/weight_files_for_tests.h"
#include "plimsoll/base/log.h"

namespace plimsoll::engine {
namespace disk_cache_test {

namespace fs = std::filesystem;
using Mode = config::CacheSettings::Mode;
using std::chrono::minutes;

constexpr int64_t kMegabyte = 1024 * 1024;

struct Lines {
  std::vector<std::string> all;
  LogCapture capture{[this](LogLevel, std::string_view line) { all.emplace_back(line); }};
};

class DiskCacheTest : public testing::Test {
 protected:
  config::CacheSettings Settings(Mode mode = Mode::kEnable) const {
    config::CacheSettings settings;
    settings.mode = mode;
    settings.folder = (folder_.path() / "cache").string();
    return settings;
  }
  std::unique_ptr<DiskCache> Open(const config::CacheSettings& settings) const {
    return *DiskCache::Open(settings, [this] { return now_; });
  }
  fs::path EntryPath(const CacheKey& key) const {
    return folder_.path() / "cache" / "kernel_cache" / key.FileName();
  }
  static void KeepText(DiskCache& cache, const CacheKey& key, std::string_view text) {
    cache.Keep(key, std::as_bytes(std::span(text)));
  }
  // An entry of so many MiB that was used so long ago.
  CacheKey Aged(DiskCache& cache, const std::string& name, int64_t megabytes, minutes ago) const {
    const CacheKey key = CacheKeyFor("packed", name);
    KeepText(cache, key, std::string(static_cast<size_t>(megabytes * kMegabyte) - 4096, 'x'));
    const auto used = std::chrono::nanoseconds((now_ - ago).time_since_epoch()).count();
    const timespec times[2] = {{.tv_sec = used / 1'000'000'000, .tv_nsec = used % 1'000'000'000},
                               {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
    utimensat(AT_FDCWD, EntryPath(key).c_str(), times, 0);
    return key;
  }
  bool Has(const CacheKey& key) const { return fs::exists(EntryPath(key)); }

  const TemporaryFolder folder_;
  FileTime now_ = std::chrono::system_clock::now();
};

TEST_F(DiskCacheTest, R248_R268_AnEntryIsFoundAgainInTheSubfolderThatWasMade) {
  const CacheKey key = CacheKeyFor("searches", "a request");
  KeepText(*Open(Settings()), key, "an answer");
  const auto cache = Open(Settings());
  EXPECT_EQ(cache->Find(key), "an answer");
  EXPECT_EQ(cache->Find(CacheKeyFor("searches", "another")), std::nullopt);
  EXPECT_EQ(cache->Find(CacheKeyFor("packed", "a request")), std::nullopt);
  EXPECT_EQ(cache->counts().found, 1);
  EXPECT_EQ(cache->counts().missing, 2);
  EXPECT_TRUE(fs::is_directory(folder_.path() / "cache" / "kernel_cache"));
}

TEST_F(DiskCacheTest, MapsOnlyWhatHasTheSizeAskedFor) {
  const CacheKey key = CacheKeyFor("packed", "w");
  const auto cache = Open(Settings());
  KeepText(*cache, key, "12345678");
  const auto mapped = cache->Map(key, Bytes(8));
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(std::memcmp(mapped.get(), "12345678", 8), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped.get()) % 64, 0U);
  EXPECT_EQ(cache->Map(key, Bytes(7)), nullptr);
}

// Every byte of an entry, changed, cut off or added.
TEST_F(DiskCacheTest, AnEntryThatIsNotAsItWasWrittenIsNotThere) {
  const CacheKey key = CacheKeyFor("searches", "r");
  const auto cache = Open(Settings());
  KeepText(*cache, key, "some bytes that matter");
  const std::string good = ContentOf(EntryPath(key));
  const auto write = [&](const std::string& bytes) {
    std::ofstream(EntryPath(key), std::ios::binary) << bytes;
  };
  for (const size_t at : {0, 7, 8, 24, 39, 40, 48, 60, 71, 4096, 4117}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    write(bad);
    EXPECT_EQ(cache->Find(key), std::nullopt) << "byte " << at;
  }
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{80}, size_t{4095}, size_t{4096}, good.size() - 1}) {
    write(good.substr(0, size));
    EXPECT_EQ(cache->Find(key), std::nullopt) << size << " bytes";
  }
  write(good + "x");
  EXPECT_EQ(cache->Find(key), std::nullopt);
  KeepText(*cache, key, "again");
  EXPECT_EQ(cache->Find(key), "again");
}

TEST_F(DiskCacheTest, AnEntryOfAnotherKeyUnderThisNameIsNotThere) {
  const CacheKey key = CacheKeyFor("searches", "r");
  const CacheKey other = CacheKeyFor("searches", "other");
  const auto cache = Open(Settings());
  KeepText(*cache, other, "bytes");
  fs::rename(EntryPath(other), EntryPath(key));
  EXPECT_EQ(cache->Find(key), std::nullopt);
}

TEST_F(DiskCacheTest, WhatIsNoPlainFileIsNotOpened) {
  const CacheKey key = CacheKeyFor("searches", "r");
  const auto cache = Open(Settings());
  ASSERT_EQ(mkfifo(EntryPath(key).c_str(), 0600), 0);
  EXPECT_EQ(cache->Find(key), std::nullopt);
  fs::remove(EntryPath(key));
  fs::create_symlink("/dev/zero", EntryPath(key));
  EXPECT_EQ(cache->Find(key), std::nullopt);
}

TEST_F(DiskCacheTest, AFullDiskIsToldOnceAndStopsNothing) {
  const auto cache = Open(Settings());
  Lines lines;
  {
    const FileSizeLimit full(5000);
    KeepText(*cache, CacheKeyFor("packed", "a"), std::string(10'000, 'x'));
    KeepText(*cache, CacheKeyFor("packed", "b"), std::string(10'000, 'x'));
  }
  EXPECT_EQ(lines.all.size(), 1U);
  EXPECT_EQ(cache->Find(CacheKeyFor("packed", "a")), std::nullopt);
  EXPECT_TRUE(NamesIn(folder_.path() / "cache" / "kernel_cache").empty());
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeIsAnError) {
  folder_.Write("cache", "a file");
  const auto cache = DiskCache::Open(Settings());
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().code, "cache.folder");
}

// Two processes write and read the same entries at the same time.
TEST_F(DiskCacheTest, ProcessesThatWriteAtOnceLeaveWholeEntries) {
  const auto cache = Open(Settings());
  constexpr int kEntries = 50;
  const auto text = [](int i) { return std::string(20'000 + static_cast<size_t>(i), 'a'); };
  const auto work = [&] {
    for (int i = 0; i < kEntries; ++i) {
      const CacheKey key = CacheKeyFor("packed", std::to_string(i));
      const auto found = cache->Find(key);
      if (found && *found != text(i)) return false;
      KeepText(*cache, key, text(i));
    }
    return true;
  };
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  EXPECT_TRUE(work());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (int i = 0; i < kEntries; ++i) {
    EXPECT_EQ(cache->Find(CacheKeyFor("packed", std::to_string(i))), text(i)) << i;
  }
}

TEST_F(DiskCacheTest, R249_R250_ForceEmptiesTheCacheAtEveryStartAndWarns) {
  const CacheKey key = CacheKeyFor("searches", "r");
  KeepText(*Open(Settings()), key, "bytes");
  folder_.Write("cache/kernel_cache/notes.txt", "not ours");
  for (int start = 0; start < 2; ++start) {
    Lines lines;
    const auto cache = Open(Settings(Mode::kForce));
    EXPECT_EQ(cache->Find(key), std::nullopt);
    ASSERT_EQ(lines.all.size(), 1U);
    EXPECT_NE(lines.all[0].find("other programs"), std::string::npos) << lines.all[0];
    KeepText(*cache, key, "bytes");
  }
  EXPECT_TRUE(fs::exists(folder_.path() / "cache" / "kernel_cache" / "notes.txt"));
}

TEST_F(DiskCacheTest, R257_TheLimitsAreWrittenAfterCompilationAndNeverOver) {
  const auto cache = Open(Settings());
  const fs::path file = folder_.path() / "cache" / "op_cache.ini";
  EXPECT_FALSE(fs::exists(file));
  cache->Settle();
  const std::string text = ContentOf(file);
  EXPECT_NE(text.find("max_op_cache_size=500"), std::string::npos) << text;
  EXPECT_NE(text.find("remain_cache_size_ratio=50"), std::string::npos) << text;
  folder_.Write("cache/op_cache.ini", "mine");
  cache->Settle();
  EXPECT_EQ(ContentOf(file), "mine");
}

TEST_F(DiskCacheTest, R260_R261_EntriesUnusedForHalfAnHourAgeUntilTheShareThatStays) {
  config::CacheSettings settings = Settings();
  settings.limits = {.max_mb = 10, .remain_ratio = 80};
  const auto cache = Open(settings);
  const CacheKey oldest = Aged(*cache, "oldest", 3, minutes(300));
  const CacheKey old = Aged(*cache, "old", 2, minutes(200));
  const CacheKey older = Aged(*cache, "older", 3, minutes(250));
  const CacheKey fresh = Aged(*cache, "fresh", 2, minutes(29));
  cache->Settle();
  EXPECT_TRUE(Has(oldest)) << "10 MB of 10 are not above the limit";
  const CacheKey one_more = Aged(*cache, "one more", 1, minutes(31));
  cache->Settle();
  EXPECT_FALSE(Has(oldest));  // 11 MB: 3 go, and 8 are 80 %
  EXPECT_TRUE(Has(older) && Has(old) && Has(fresh) && Has(one_more));
}

TEST_F(DiskCacheTest, R261_R262_WhatWasUsedLatelyStaysEvenAboveTheLimit) {
  config::CacheSettings settings = Settings();
  settings.limits = {.max_mb = 2, .remain_ratio = 50};
  const auto cache = Open(settings);
  const CacheKey a = Aged(*cache, "a", 3, minutes(29));
  const CacheKey b = Aged(*cache, "b", 3, minutes(30));
  const CacheKey c = Aged(*cache, "c", 3, minutes(31));
  cache->Settle();
  EXPECT_TRUE(Has(a) && Has(b));
  EXPECT_FALSE(Has(c));
}

TEST_F(DiskCacheTest, R265_TheVariablesLimitCountsOnceReached) {
  config::CacheSettings settings = Settings();
  settings.limits = {.max_mb = 2, .remain_ratio = 50, .reached_counts = true};
  const auto cache = Open(settings);
  const CacheKey key = Aged(*cache, "a", 2, minutes(40));
  cache->Settle();
  EXPECT_FALSE(Has(key));
}

TEST_F(DiskCacheTest, R263_WithoutAgeingNothingGoesAndAHitLeavesTheAccessTime) {
  config::CacheSettings settings = Settings();
  const auto used_at = [&](const CacheKey& key) {
    struct stat about {};
    stat(EntryPath(key).c_str(), &about);
    return std::pair(about.st_atim.tv_sec, about.st_atim.tv_nsec);
  };
  for (const bool ages : {false, true}) {
    settings.limits.max_mb = ages ? 1 : -1;
    const auto cache = Open(settings);
    const CacheKey key = Aged(*cache, ages ? "ages" : "stays", 2, minutes(100));
    const auto before = used_at(key);
    EXPECT_NE(cache->Map(key, Bytes(2 * kMegabyte - 4096)), nullptr);
    EXPECT_EQ(used_at(key) != before, ages);
    Aged(*cache, ages ? "ages" : "stays", 2, minutes(100));
    cache->Settle();
    EXPECT_EQ(Has(key), !ages);
  }
}

}  // namespace disk_cache_test
}  // namespace plimsoll::engine
