#include <algorithm>
#include <chrono>

#include "config/options/option_rows.h"
#include "plimsoll/base/text.h"

// Several processes, and how long things may take.
namespace plimsoll::config {
namespace {

constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();

// The collective timeout is kept in steps of 68 seconds.
int64_t RoundedToSteps(int64_t seconds) {
  constexpr int64_t kStep = 68;
  return std::max(kStep, seconds / kStep * kStep);
}

// Whether the configuration is one of several processes.
bool IsCluster(const EffectiveConfig& in_force) {
  return in_force.Given("distribute") || in_force.Given("local_rank_id");
}

bool StreamsGiveUpFirst(const EffectiveConfig& in_force) {
  const auto& stream = in_force.config.timeouts.stream_sync;
  const EffectiveValue& hccl = in_force.of("hccl_timeout");
  const auto seconds = ParseInteger(hccl.given.empty() ? hccl.value : hccl.given);
  return IsCluster(in_force) && stream && seconds && *stream <= std::chrono::seconds(*seconds);
}

std::optional<std::chrono::milliseconds> Milliseconds(const OptionValue& value) {
  const int64_t count = std::get<int64_t>(value);
  return count == -1 ? std::nullopt : std::optional(std::chrono::milliseconds(count));
}

Option HcclTimeoutRow() {
  return {
      .name = "hccl_timeout",
      .level = OptionLevel::kGlobal,
      .type = OptionType::kNumber,
      .default_value = "1836",
      .legal = {.least = 1, .most = 17340},
      .environment = EnvironmentVariable{.name = "HCCL_EXEC_TIMEOUT"},
      .standing = NoEffect(kOneDevice),
      .meaning =
          "Seconds that processes wait for each other, rounded down to a multiple of 68 and 68 "
          "at least. It wins over HCCL_EXEC_TIMEOUT.",
      .in_force = RoundedToSteps,
      .apply =
          [](const OptionValue& value, RunConfig& config) {
            config.timeouts.hccl = std::chrono::seconds(std::get<int64_t>(value));
          },
  };
}

Option StreamSyncTimeoutRow() {
  return {
      .name = "stream_sync_timeout",
      .type = OptionType::kNumber,
      .default_value = "-1",
      .legal = {.least = -1, .most = kLongest},
      .conflicts = {{.other = "hccl_timeout",
                     .holds = StreamsGiveUpFirst,
                     .why = "among several processes streams must wait longer than the collective "
                            "timeout; this one is in milliseconds, that one in seconds",
                     .remedy = "raise stream_sync_timeout, or use -1"}},
      .meaning =
          "Milliseconds that a run waits for a stream before it fails; -1: no limit. Among "
          "several processes (distribute or local_rank_id given) it must be longer than "
          "hccl_timeout.",
      .apply = [](const OptionValue& value,
                  RunConfig& config) { config.timeouts.stream_sync = Milliseconds(value); },
  };
}

}  // namespace

std::vector<Option> DataAugmentationOptions() {
  return {
      {
          .name = "local_rank_id",
          .level = OptionLevel::kGlobal,
          .type = OptionType::kNumber,
          .legal = {.least = 0, .most = kLongest},
          .standing = NoEffect(kOneDevice),
          .meaning =
              "The rank of this process on its host, from get_local_rank_id(). The main process "
              "alone removes duplicates from the data and sends it on; the others receive.",
      },
      {
          .name = "local_device_list",
          .level = OptionLevel::kGlobal,
          .type = OptionType::kNumberList,
          .conflicts = {{.other = "local_rank_id",
                         .holds =
                             [](const EffectiveConfig& in_force) {
                               return in_force.Given("local_device_list") &&
                                      !in_force.Given("local_rank_id");
                             },
                         .why = "the list says nothing without the rank of this process",
                         .remedy = "set local_rank_id too, or leave local_device_list out"}},
          .standing = NoEffect(kOneDevice),
          .meaning = "The devices that the main process sends data to.",
      },
  };
}

std::vector<Option> TimeoutOptions() {
  return {
      HcclTimeoutRow(),
      {
          .name = "op_wait_timeout",
          .type = OptionType::kNumber,
          .default_value = "120",
          .legal = {.least = 1, .most = kLongest},
          .meaning = "Seconds that an operator may wait for other streams before the run fails.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.timeouts.op_wait = std::chrono::seconds(std::get<int64_t>(value));
              },
      },
      {
          .name = "op_execute_timeout",
          .type = OptionType::kNumber,
          .legal = {.least = 1, .most = kLongest},
          .meaning = "Seconds that an operator may run before the run fails. Not set: no limit.",
          .apply =
              [](const OptionValue& value, RunConfig& config) {
                config.timeouts.op_execute = std::chrono::seconds(std::get<int64_t>(value));
              },
      },
      StreamSyncTimeoutRow(),
      {
          .name = "event_sync_timeout",
          .type = OptionType::kNumber,
          .default_value = "-1",
          .legal = {.least = -1, .most = kLongest},
          .meaning = "Milliseconds that a run waits for an event before it fails; -1: no limit.",
          .apply = [](const OptionValue& value,
                      RunConfig& config) { config.timeouts.event_sync = Milliseconds(value); },
      },
  };
}

}  // namespace plimsoll::config
