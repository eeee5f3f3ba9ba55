#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "config/files/config_entries.h"
#include "config/files/config_file.h"
#include "config/options/option_table.h"
#include "config/options/option_value.h"
#include "config/resolving_for_tests.h"
#include "plimsoll/base/text.h"

// Every bound at its edge and just beyond it: of numbers, of lists, of files, of texts in errors.
namespace plimsoll::config {
namespace option_edges_test {

bool Takes(const Option& option, const SettingValue& value) {
  return CheckValue(option, value, option.name).ok();
}

TEST(OptionEdgesTest, ARangeOfNumbersHasBothItsEnds) {
  int ranges = 0;
  for (const Option& option : OptionTable()) {
    if (option.type != OptionType::kNumber || !option.legal.numbers.empty()) continue;
    ++ranges;
    const int64_t least = option.legal.least;
    const int64_t most = option.legal.most;
    EXPECT_TRUE(Takes(option, least) && Takes(option, StrCat(least))) << option.name;
    EXPECT_TRUE(Takes(option, most) && Takes(option, StrCat(most))) << option.name;
    EXPECT_FALSE(Takes(option, least - 1)) << option.name;
    if (most < std::numeric_limits<int64_t>::max()) {
      EXPECT_FALSE(Takes(option, most + 1)) << option.name;
    }
    EXPECT_FALSE(Takes(option, "9223372036854775808")) << option.name;
  }
  EXPECT_EQ(ranges, 12) << "the rows that take a range";
  constexpr int64_t kInt = 2147483647;
  const auto expect = [](std::string_view name, int64_t least, int64_t most) {
    const Option* option = FindOption(name);
    ASSERT_NE(option, nullptr) << name;
    EXPECT_EQ(option->legal.least, least) << name;
    EXPECT_EQ(option->legal.most, most) << name;
  };
  expect("session_device_id", 0, kInt);
  expect("input_fusion_size", 0, 32 << 20);
  expect("iterations_per_loop", 1, std::numeric_limits<int64_t>::max());
  expect("graph_max_parallel_model_num", 1, kInt);
  expect("local_rank_id", 0, kInt);
  expect("hccl_timeout", 1, 17340);
  expect("op_wait_timeout", 1, kInt);
  expect("op_execute_timeout", 1, kInt);
  expect("stream_sync_timeout", -1, kInt);
  expect("event_sync_timeout", -1, kInt);
  expect("ASCEND_MAX_OP_CACHE_SIZE", -1, std::numeric_limits<int64_t>::max());
  expect("ASCEND_REMAIN_CACHE_SIZE_RATIO", 1, 100);
}

TEST(OptionEdgesTest, AListOfNumbersHasOnlyItsOwn) {
  for (const Option& option : OptionTable()) {
    if (option.type != OptionType::kNumber || option.legal.numbers.empty()) continue;
    std::set<int64_t> taken(option.legal.numbers.begin(), option.legal.numbers.end());
    for (const auto& [older, meant] : option.legal.older_forms) taken.insert(older);
    for (int64_t number = -2; number < 12; ++number) {
      EXPECT_EQ(Takes(option, number), taken.contains(number)) << option.name << "=" << number;
    }
  }
}

TEST(OptionEdgesTest, IndexesGoFromZeroToTheLargestNumberOfTheEngine) {
  const Option& option = *FindOption("ge.exec.inputReuseMemIndexes");
  EXPECT_TRUE(Takes(option, "0"));
  EXPECT_TRUE(Takes(option, "2147483647"));
  EXPECT_FALSE(Takes(option, "2147483648"));
  EXPECT_FALSE(Takes(option, "-1"));
  EXPECT_FALSE(Takes(option, "1,2,1"));
  EXPECT_FALSE(Takes(option, "1,,2"));
  EXPECT_TRUE(Takes(option, ""));
  const auto both =
      ResolveTexts({"ge.exec.inputReuseMemIndexes=3, 1", "ge.exec.outputReuseMemIndexes=2"});
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->config.input_reuse_mem_indexes, (std::vector<int>{3, 1}));
  EXPECT_EQ(both->config.output_reuse_mem_indexes, (std::vector<int>{2}));
}

// A number that looks like one but is written in another way.
TEST(OptionEdgesTest, NumbersAreWrittenInOneWay) {
  const Option& option = *FindOption("iterations_per_loop");
  for (const char* text : {"+1", "01", "1 ", "1.0", "0x1", "-", "--1", "1e3"}) {
    EXPECT_FALSE(Takes(option, text)) << text;
  }
}

TEST(OptionEdgesTest, SwitchesTakeTrueAndFalseInTwoSpellings) {
  const Option& option = *FindOption("compile_dynamic_mode");
  for (const char* text : {"True", "true", "False", "false"}) EXPECT_TRUE(Takes(option, text));
  for (const char* text : {"TRUE", "1", "0", "", "yes", "tru"}) EXPECT_FALSE(Takes(option, text));
  EXPECT_TRUE(Takes(option, true));
  EXPECT_FALSE(Takes(option, int64_t{1}));
}

TEST(OptionEdgesTest, TextsHoldNoControlCharacters) {
  const Option& option = *FindOption("ASCEND_WORK_PATH");
  EXPECT_TRUE(Takes(option, "a b"));
  for (const char* text : {"a\x1f", "\x01", "a\x7f", "a\nb"}) EXPECT_FALSE(Takes(option, text));
  const Option& names = *FindOption("OP_NO_REUSE_MEM");
  EXPECT_FALSE(Takes(names, "a,b\x7f"));
  EXPECT_FALSE(Takes(names, "a,,b"));
}

TEST(OptionEdgesTest, LongValuesAreCutInErrors) {
  EXPECT_EQ(PlainValue(std::string(80, 'x')), std::string(80, 'x'));
  EXPECT_EQ(PlainValue(std::string(81, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(PlainValue(std::vector<std::string>{std::string(40, 'x'), std::string(40, 'y')}),
            std::string(40, 'x') + "," + std::string(39, 'y') + "...");
}

std::string JsonOfDepth(size_t maps) {
  std::string text;
  for (size_t i = 0; i < maps; ++i) text += "{\"a\":";
  text += "1";
  return text + std::string(maps, '}');
}

TEST(OptionEdgesTest, MapsMayLieSoDeepInEachOther) {
  EXPECT_TRUE(ReadJsonEntries(JsonOfDepth(kDeepestEntry), "a.json").ok());
  const auto deeper = ReadJsonEntries(JsonOfDepth(kDeepestEntry + 1), "a.json");
  ASSERT_FALSE(deeper.ok());
  EXPECT_EQ(deeper.error().why, "maps lie too deep in each other");
  std::string dots = "a";
  for (size_t i = 1; i < kDeepestEntry; ++i) dots += ".a";
  EXPECT_TRUE(ReadTomlEntries(dots + " = 1", "a.toml").ok());
  EXPECT_FALSE(ReadTomlEntries(dots + ".a = 1", "a.toml").ok());
}

TEST(OptionEdgesTest, ATomlFileHoldsAtMost1024Dots) {
  EXPECT_TRUE(ReadTomlEntries("a = '" + std::string(1024, '.') + "'", "a.toml").ok());
  EXPECT_FALSE(ReadTomlEntries("a = '" + std::string(1025, '.') + "'", "a.toml").ok());
}

TEST(OptionEdgesTest, AFileOfOneMebibyteIsRead) {
  const std::string path = testing::TempDir() + "plimsoll_option_edges.json";
  const std::string text = R"({"deterministic": 1)";
  for (const size_t size : {size_t{1} << 20, (size_t{1} << 20) + 1}) {
    std::ofstream(path) << text << std::string(size - text.size() - 1, ' ') << "}";
    const auto settings = ReadConfigFile(path);
    EXPECT_EQ(settings.ok(), size == size_t{1} << 20);
  }
  std::remove(path.c_str());
}

TEST(OptionEdgesTest, ListsOfAFileKeepTheirOwnElements) {
  const auto entries = ReadJsonEntries(R"({"a": [1, "b"], "c": [], "d": 5, "e": [2]})", "x.json");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 4U);
  using List = std::vector<std::string>;
  EXPECT_EQ((*entries)[0].value, SettingValue(List{"1", "b"}));
  EXPECT_EQ((*entries)[1].value, SettingValue(List{}));
  EXPECT_EQ((*entries)[2].value, SettingValue(int64_t{5}));
  EXPECT_EQ((*entries)[3].value, SettingValue(List{"2"}));
}

// Keys with quotes and backslashes in them still tell where they begin.
TEST(OptionEdgesTest, APlaceIsThatOfTheKeysFirstQuote) {
  const auto entries = ReadJsonEntries("{\"a\\\"b\": 1,\n  \"c\\\\\": 2, \"\": 3}", "x.json");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].place, "x.json:1:2");
  EXPECT_EQ((*entries)[1].place, "x.json:2:3");
  EXPECT_EQ((*entries)[2].place, "x.json:2:13");
}

// What a first file said of NPURunConfig holds whatever a second one says.
TEST(OptionEdgesTest, AnExplicitRunConfigStaysOneWhenMoreIsAppended) {
  Settings settings = Settings::NpuRunConfig();
  Settings plain;
  plain.Set("deterministic", 1);
  settings.Append(plain);
  EXPECT_TRUE(settings.npu_run_config());
  EXPECT_EQ(settings.all().size(), 1U);
  Settings other;
  other.Append(Settings::NpuRunConfig());
  EXPECT_TRUE(other.npu_run_config());
}

// The values of one option in every layer: each later one holds.
TEST(OptionEdgesTest, LayersHoldInTheirOrderWhateverTheOrderOfTheCalls) {
  using Layer = Origin::Layer;
  Settings settings;
  settings.Add({"iterations_per_loop", int64_t{3}, {Layer::kCommandLine, "--set"}});
  settings.Add({"iterations_per_loop", int64_t{2}, {Layer::kFile, "file"}});
  EXPECT_EQ(MakeEffectiveConfig(settings, EnvironmentOf({}))->config.iterations_per_loop, 3);
  Settings device;
  device.Add({"session_device_id", int64_t{2}, {Layer::kFile, "file"}});
  const auto with_file = MakeEffectiveConfig(device, EnvironmentOf({{"ASCEND_DEVICE_ID", "5"}}));
  ASSERT_TRUE(with_file.ok());
  EXPECT_EQ(with_file->config.session_device_id, 2) << "a file holds over the environment";
  EXPECT_EQ(with_file->of("session_device_id").source, EffectiveValue::Source::kSetting);
}

// Two conflicts at once: the first of the table is told, and after it is mended the second.
TEST(OptionEdgesTest, EveryConflictIsTold) {
  std::vector<std::string> texts = {"variable_placement=Host", "static_memory_policy=2",
                                    "graph_max_parallel_model_num=2"};
  EXPECT_NE(Outcome(ResolveTexts(texts)).find("static_memory_policy=2"), std::string::npos);
  texts[1] = "static_memory_policy=3";
  EXPECT_NE(Outcome(ResolveTexts(texts)).find("variable_placement=Host"), std::string::npos);
  texts[0] = "variable_placement=Device";
  EXPECT_EQ(Outcome(ResolveTexts(texts)), "accepted");
}

}  // namespace option_edges_test
}  // namespace plimsoll::config
