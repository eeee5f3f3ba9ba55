#include <gtest/gtest.h>

#include "engine/cache/disk_cache.h"
#include "engine/cache/stored_searches.h"
#include "engine/weights/weight_files_for_tests.h"

namespace plimsoll::engine {
namespace cached_sessions_test {

namespace fs = std::filesystem;

// Products with weights that are large enough to be kept.
graph::Graph LargeProducts(uint32_t seed = 1) {
  graph::GraphBuilder builder;
  graph::ValueId x = builder.Input("x", compile::FloatTensor({4, 256}));
  for (uint32_t i = 0; i < 3; ++i) {
    const graph::ValueId weights =
        RandomWeights(builder, "w" + std::to_string(i), {256, 256}, seed + i);
    x = builder.Node("Relu", {builder.Node("MatMul", {x, weights})});
  }
  builder.Output(x);
  return builder.Build();
}

class CachedSessionsTest : public testing::Test {
 protected:
  SessionOptions Cached(config::CacheSettings::Mode mode = config::CacheSettings::Mode::kEnable) {
    SessionOptions options;
    options.config.cache.mode = mode;
    options.config.cache.folder = (folder_.path() / "cache").string();
    return options;
  }
  std::vector<std::string> Entries(std::string_view kind) const {
    std::vector<std::string> names = NamesIn(folder_.path() / "cache" / "kernel_cache");
    std::erase_if(names, [&](const std::string& name) { return !name.starts_with(kind); });
    return names;
  }
  static std::vector<float> RunOnce(const SessionOptions& options, graph::Graph graph) {
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, std::move(graph));
    return ElementsOf(MustRun(*session, id, {Random({4, 256}, 9)})[0]);
  }

  const TemporaryFolder folder_;
};

TEST_F(CachedSessionsTest, R248_ASecondSessionTakesPlansAndPackedWeightsFromTheCache) {
  const std::vector<float> plain = RunOnce({}, LargeProducts());
  EXPECT_EQ(RunOnce(Cached(), LargeProducts()), plain);
  const size_t packed = Entries("packed").size();
  EXPECT_EQ(packed, 3U);
  EXPECT_EQ(Entries("searches").size(), 1U);
  // A second one makes nothing new, and takes what it finds: a change of the bytes would show.
  const fs::path cache = folder_.path() / "cache" / "kernel_cache";
  std::map<std::string, fs::file_time_type> written;
  for (const std::string& name : NamesIn(cache)) written[name] = fs::last_write_time(cache / name);
  EXPECT_EQ(RunOnce(Cached(), LargeProducts()), plain);
  for (const auto& [name, time] : written) EXPECT_EQ(fs::last_write_time(cache / name), time);
  EXPECT_EQ(NamesIn(cache).size(), written.size());
}

TEST_F(CachedSessionsTest, PackedWeightsReallyComeFromTheCache) {
  const std::vector<float> plain = RunOnce(Cached(), LargeProducts());
  // Whole entries whose bytes are zeros, which no kernel would have made.
  const auto cache = *DiskCache::Open(Cached().config.cache);
  for (const std::string& name : Entries("packed")) {
    const fs::path path = folder_.path() / "cache" / "kernel_cache" / name;
    std::string bytes = ContentOf(path);
    WeightHash hash;
    std::memcpy(&hash, bytes.data() + 24, sizeof hash);
    const std::string zeros(bytes.size() - 4096, '\0');
    cache->Keep({.kind = "packed", .hash = hash}, std::as_bytes(std::span(zeros)));
  }
  const std::vector<float> zeros(plain.size(), 0.0F);
  EXPECT_EQ(RunOnce(Cached(), LargeProducts()), zeros);
  EXPECT_EQ(RunOnce({}, LargeProducts()), plain);
}

TEST_F(CachedSessionsTest, R251_DisabledNothingIsReadOrWritten) {
  RunOnce(Cached(config::CacheSettings::Mode::kDisable), LargeProducts());
  EXPECT_TRUE(NamesIn(folder_.path()).empty());
}

TEST_F(CachedSessionsTest, R255_OperatorsOfTheDebugListAreCompiledAgainAndOthersCached) {
  SessionOptions options = Cached();
  options.config.cache.always_compiled = config::OperatorList{.names = {}, .types = {"MatMul"}};
  const std::vector<float> plain = RunOnce(options, LargeProducts());
  EXPECT_TRUE(Entries("packed").empty());
  EXPECT_EQ(Entries("searches").size(), 1U);
  options.config.cache.always_compiled->types = {"Conv"};
  EXPECT_EQ(RunOnce(options, LargeProducts()), plain);
  EXPECT_EQ(Entries("packed").size(), 3U);
}

TEST_F(CachedSessionsTest, OtherWeightsAreOtherEntries) {
  RunOnce(Cached(), LargeProducts(1));
  EXPECT_EQ(RunOnce(Cached(), LargeProducts(50)), RunOnce({}, LargeProducts(50)));
  EXPECT_EQ(Entries("packed").size(), 6U);
  EXPECT_EQ(Entries("searches").size(), 1U) << "the same plan serves both";
}

TEST_F(CachedSessionsTest, DamagedEntriesAreMadeAgain) {
  const std::vector<float> plain = RunOnce(Cached(), LargeProducts());
  const fs::path cache = folder_.path() / "cache" / "kernel_cache";
  for (const std::string& name : NamesIn(cache)) {
    std::fstream file(cache / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('!');
  }
  EXPECT_EQ(RunOnce(Cached(), LargeProducts()), plain);
  fs::resize_file(cache / Entries("packed")[0], 6000);
  fs::resize_file(cache / Entries("searches")[0], 4200);
  EXPECT_EQ(RunOnce(Cached(), LargeProducts()), plain);
}

TEST_F(CachedSessionsTest, AnUnusableFolderIsNoError) {
  folder_.Write("cache", "a file");
  EXPECT_EQ(RunOnce(Cached(), LargeProducts()), RunOnce({}, LargeProducts()));
}

TEST_F(CachedSessionsTest, AnswersOfOneCompilationAreOneEntryFoundByTheFirstRequest) {
  const auto cache = *DiskCache::Open(Cached().config.cache);
  StoredSearches first(*cache);
  EXPECT_EQ(first.Find("a"), std::nullopt);
  first.Keep("a", "1");
  EXPECT_EQ(first.Find("b"), std::nullopt);
  first.Keep("b", "2");
  first.Save();
  EXPECT_EQ(Entries("searches").size(), 1U);
  StoredSearches again(*cache);
  EXPECT_EQ(again.Find("a"), "1");
  EXPECT_EQ(again.Find("b"), "2");
  StoredSearches other(*cache);
  EXPECT_EQ(other.Find("b"), std::nullopt) << "another compilation";
}

}  // namespace cached_sessions_test
}  // namespace plimsoll::engine
