#include "config/options/option_rows.h"

// What is read from the environment and stands for no argument.
namespace plimsoll::config {
namespace {

Option Variable(std::string_view name, OptionType type, std::string_view meaning) {
  return {.name = name,
          .group = OptionGroup::kEnvironment,
          .level = OptionLevel::kGlobal,
          .type = type,
          .environment = EnvironmentVariable{.name = name},
          .meaning = meaning};
}

Option CollectPath() {
  Option row = Variable("NPU_COLLECT_PATH", OptionType::kText,
                        "A folder for files on a failing operator. Set: enable_exception_dump is 1 "
                        "whatever it says, and oom in the file of op_debug_config is refused.");
  return row;
}

Option CachePath() {
  Option row = Variable("ASCEND_CACHE_PATH", OptionType::kText,
                        "The folder in which kernel_cache_<host id> holds the cache of compiled "
                        "graphs, where op_compiler_cache_dir is not given.");
  return row;
}

Option CacheSize() {
  Option row = Variable("ASCEND_MAX_OP_CACHE_SIZE", OptionType::kNumber,
                        "MB that the cache may take before files age that nobody used for half an "
                        "hour; -1: none ages. Not set: 500. op_cache.ini is read first.");
  row.legal = {.least = -1};
  return row;
}

Option RemainRatio() {
  Option row = Variable("ASCEND_REMAIN_CACHE_SIZE_RATIO", OptionType::kNumber,
                        "Percent of the cache that stay when space runs short. Not set: 50. "
                        "op_cache.ini is read first.");
  row.legal = {.least = 1, .most = 100};
  return row;
}

}  // namespace

std::vector<Option> EnvironmentOptions() {
  Option work_path = Variable("ASCEND_WORK_PATH", OptionType::kText,
                              "The folder below which a session writes its files, external weights "
                              "for one. Not set: the current folder.");
  work_path.apply = [](const OptionValue& value, RunConfig& config) {
    config.work_path = std::get<std::string>(value);
  };
  Option no_reuse = Variable("OP_NO_REUSE_MEM", OptionType::kNameList,
                             "Names of nodes and of operator types whose outputs share memory with "
                             "nothing.");
  no_reuse.level = OptionLevel::kGraph;
  no_reuse.apply = [](const OptionValue& value, RunConfig& config) {
    config.no_reuse_nodes = std::get<std::vector<std::string>>(value);
  };
  return {work_path, no_reuse, CollectPath(), CachePath(), CacheSize(), RemainRatio()};
}

}  // namespace plimsoll::config
