#include "config/files/config_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/resolving_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace config_file_test {

Result<EffectiveConfig> ResolveFile(std::string_view text, const std::string& name) {
  PLIMSOLL_ASSIGN(const Settings settings, ParseConfigText(text, name));
  return MakeEffectiveConfig(settings, EnvironmentOf({}));
}

RunConfig Accepted(std::string_view text, const std::string& name) {
  const auto resolved = ResolveFile(text, name);
  EXPECT_TRUE(resolved.ok()) << text << ": " << Outcome(resolved);
  return resolved.ok() ? resolved->config : RunConfig();
}

TEST(ConfigFileTest, FlatKeysMemoryConfigAndNpuRunConfigSayTheSameInJsonAndToml) {
  RunConfig wanted;
  wanted.memory_config.static_memory_policy = StaticMemoryPolicy::kSharedStatic;
  wanted.memory_config.clear_separately = true;
  wanted.external_weight = true;
  EXPECT_EQ(wanted, Accepted(R"({"static_memory_policy": 2, "atomic_clean_policy": "1",
                                 "external_weight": true})",
                             "run.json"));
  EXPECT_EQ(wanted, Accepted(R"({"memory_config": {"static_memory_policy": 2,
                                 "atomic_clean_policy": 1}, "external_weight": true})",
                             "run.json"));
  EXPECT_EQ(wanted, Accepted("ge.exec.staticMemoryPolicy = 2\nexternal_weight = true\n"
                             "[memory_config]\natomic_clean_policy = 1\n",
                             "run.toml"));
  wanted.training = true;
  wanted.exception_dump.mode = ExceptionDump::Mode::kLite;
  wanted.export_compile_stat = CompileStat::kAtExit;
  EXPECT_EQ(wanted, Accepted(R"({"NPURunConfig": {"memory_config": {"static_memory_policy": "2",
                                 "atomic_clean_policy": 1}, "external_weight": true}})",
                             "run.json"));
  EXPECT_EQ(wanted, Accepted("[NPURunConfig]\nexternal_weight = true\n"
                             "[NPURunConfig.memory_config]\nstatic_memory_policy = 2\n"
                             "atomic_clean_policy = 1\n",
                             "run.toml"));
}

TEST(ConfigFileTest, AnEmptyNpuRunConfigIsAnExplicitOne) {
  EXPECT_TRUE(Accepted(R"({"NPURunConfig": {}})", "run.json").training);
  EXPECT_TRUE(Accepted("[NPURunConfig]\n", "run.toml").training);
  EXPECT_FALSE(Accepted("{}", "run.json").training);
  EXPECT_FALSE(Accepted("", "run.toml").training);
}

TEST(ConfigFileTest, WithoutAnExtensionTheContentTellsTheFormat) {
  EXPECT_TRUE(Accepted("\n  {\"deterministic\": 1}", "settings").deterministic);
  EXPECT_TRUE(Accepted("deterministic = 1", "settings").deterministic);
  EXPECT_TRUE(Accepted("{\"deterministic\": 1}", "SETTINGS.JSON").deterministic);
}

TEST(ConfigFileTest, LettersBeyondAsciiAreWelcomeInTextsAndComments) {
  EXPECT_EQ(Accepted("# Größe\nASCEND_WORK_PATH = '/数据'", "run.toml").work_path, "/数据");
  EXPECT_EQ(Accepted("{\"ASCEND_WORK_PATH\": \"/数据\"}", "run.json").work_path, "/数据");
  EXPECT_FALSE(ParseConfigText("größe = 1", "run.toml").ok());
}

TEST(ConfigFileTest, ListsOfNumbersAndNamesAreLists) {
  const RunConfig from_json = Accepted(
      R"({"ge.exec.inputReuseMemIndexes": [0, "2"], "OP_NO_REUSE_MEM": ["a", "b"]})", "run.json");
  EXPECT_EQ(from_json.input_reuse_mem_indexes, (std::vector<int>{0, 2}));
  EXPECT_EQ(from_json.no_reuse_nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(from_json,
            Accepted("ge.exec.inputReuseMemIndexes = [0, '2']\nOP_NO_REUSE_MEM = ['a', 'b']",
                     "run.toml"));
}

TEST(ConfigFileTest, ABadOptionIsToldWithItsLineAndColumn) {
  EXPECT_EQ(Outcome(ResolveFile("{\n  \"deterministic\": 7}", "run.json")),
            "option refused: deterministic (run.json:2:3): 7 is not legal; legal: 0, 1 "
            "[config.value]");
  EXPECT_EQ(Outcome(ResolveFile("\n\n  deterministic = true", "run.toml")),
            "option refused: deterministic (run.toml:3:3): true is no whole number; legal: 0, 1 "
            "[config.type]");
  EXPECT_EQ(Outcome(ResolveFile("{\"a\": 1}", "run.json")),
            "unknown option: 'a' (run.json:1:2); plimsoll options lists them all [config.unknown]");
  EXPECT_EQ(
      Outcome(ResolveFile("{\"input_fusion_size\": 18446744073709551615}", "run.json")),
      "option refused: input_fusion_size (run.json:1:2): '18446744073709551615' is not legal; "
      "legal: a whole number from 0 to 33554432 [config.value]");
  EXPECT_EQ(Outcome(ResolveFile("{\"static_memory_policy\": 2,\n"
                                " \"memory_config\": {\"static_memory_policy\": 3}}",
                                "run.json")),
            "options conflict: static_memory_policy=2 (run.json:1:2) and static_memory_policy=3 "
            "(run.json:2:20): one option has two values; keep one of them [config.twice]");
}

struct BadText {
  std::string text;
  std::string why;
  std::string code = "config.shape";
};

void ExpectBad(const std::string& name, const std::vector<BadText>& cases) {
  for (const BadText& bad : cases) {
    EXPECT_EQ(Outcome(ResolveFile(bad.text, name)),
              StrCat("cannot read the configuration: ", name, bad.why,
                     "; write a map of options, as docs/configuration.md shows [", bad.code, "]"));
  }
}

TEST(ConfigFileTest, HostileJsonIsRefusedWithItsPlace) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  ExpectBad("run.json",
            {{"[1, 2]", ":1:1: it holds a list, not a map of options"},
             {"3", ":1:1: it holds one value, not a map of options"},
             {"{\"deterministic\": 1,\n \"deterministic\": 1}",
              ":2:16: the key 'deterministic' comes twice"},
             {deep, ":1:41: maps lie too deep in each other"},
             {"{\"OP_NO_REUSE_MEM\": [[1]]}", ":1:22: a list holds a list"},
             {"{\"OP_NO_REUSE_MEM\": [{}]}", ":1:22: a list holds a map"},
             {"{\"OP_NO_REUSE_MEM\": [null]}", ":1:25: a list may hold numbers and texts only"},
             {"{\"NPURunConfig\": 1}", ":1:2: NPURunConfig is 1, not a map of options"},
             {"{\"memory_config\": []}", ":1:2: memory_config is '', not a map of options"},
             {"{\"deterministic\": {}}", ":1:2: deterministic is a map, not a value"},
             {"{\"memory_config\": {\"deterministic\": 1}}",
              ":1:20: deterministic is no option of memory_config"},
             {std::string("{}\0x", 4), ": it holds a NUL character", "config.syntax"}});
  for (const char* broken : {"", "{", "{\"a\"", "{\"a\": 1,}", "{\"a\": 1} x", "{'a': 1}",
                             "{\"a\": 1e999}", "{\"a\": \"\xff\"}", "{\"a\": tru}"}) {
    const auto settings = ParseConfigText(broken, "run.json");
    ASSERT_FALSE(settings.ok()) << broken;
    EXPECT_EQ(settings.error().code, "config.syntax") << broken;
    EXPECT_TRUE(settings.error().where.starts_with("run.json:1:")) << settings.error().Text();
  }
}

TEST(ConfigFileTest, HostileTomlIsRefusedWithItsPlace) {
  std::string dotted = "a";
  for (int i = 0; i < 1000; ++i) dotted += ".a";
  ExpectBad("run.toml", {{dotted + " = 1", ":1:15: maps lie too deep in each other"},
                         {dotted + dotted + " = 1", ": it holds more than 1024 dots"},
                         {"x = 2020-01-01", ":1:5: no option is a date or a time"},
                         {"x = [[1]]", ":1:6: a list may hold numbers and texts only"},
                         {"NPURunConfig = 'x'", ":1:1: NPURunConfig is 'x', not a map of options"},
                         {"[deterministic]", ":1:2: deterministic is a map, not a value"}});
  for (const char* broken : {"a", "a =", "[a", "a = 1\na = 2", "= 1", "a = 'x", "{\"a\": 1}",
                             "a = \"\xff\"", "[a]\n[a]", "a = 99999999999999999999"}) {
    const auto settings = ParseConfigText(broken, "run.toml");
    ASSERT_FALSE(settings.ok()) << broken;
    EXPECT_EQ(settings.error().code, "config.syntax") << broken;
    EXPECT_TRUE(settings.error().where.starts_with("run.toml:")) << settings.error().Text();
  }
  for (const char* broken : {"[=]", "[\aa.b]\nc'd=1"}) {
    const auto settings = ParseConfigText(broken, "run.toml");
    ASSERT_FALSE(settings.ok()) << broken;
    EXPECT_EQ(settings.error().why, "it is no TOML");
  }
  EXPECT_EQ(ParseConfigText("a = " + std::string(100000, '['), "run.toml").error().code,
            "config.syntax");
}

class ConfigFileOnDiskTest : public testing::Test {
 protected:
  ConfigFileOnDiskTest() { std::filesystem::create_directories(folder_); }
  ~ConfigFileOnDiskTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "plimsoll_config_file";
};

TEST_F(ConfigFileOnDiskTest, AFileIsReadAndNamedInErrors) {
  const std::string path = folder_ / "run.toml";
  std::ofstream(path) << "graph_run_mode = 1\n";
  const auto settings = ReadConfigFile(path);
  ASSERT_TRUE(settings.ok()) << settings.error().Text();
  ASSERT_EQ(settings->all().size(), 1u);
  EXPECT_EQ(settings->all()[0].origin.text, path + ":1:1");
}

TEST_F(ConfigFileOnDiskTest, MissingFolderAndTooLargeAreDistinguished) {
  const std::string missing = folder_ / "missing.json";
  EXPECT_EQ(ReadConfigFile(missing).error().Text(),
            StrCat("cannot read the configuration: ", missing,
                   ": No such file or directory; check the path [config.file]"));
  EXPECT_EQ(ReadConfigFile(folder_).error().Text(),
            StrCat("cannot read the configuration: ", folder_.string(),
                   ": it is a folder; check the path [config.file]"));
  const std::string large = folder_ / "large.json";
  std::ofstream(large) << "{}";
  std::filesystem::resize_file(large, 100 << 20);
  EXPECT_EQ(ReadConfigFile(large).error().Text(),
            StrCat("cannot read the configuration: ", large,
                   ": it is larger than 1 MiB; check the path [config.file]"));
  EXPECT_EQ(ReadConfigFile(large).error().kind, ErrorKind::kBadFile);
}

}  // namespace config_file_test
}  // namespace plimsoll::config
