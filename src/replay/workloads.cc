#include "replay/workloads.h"

#include <string>

#include "plimsoll/base/text.h"
#include "replay/workload_families.h"

namespace plimsoll::replay {
namespace {

struct Family {
  std::string_view name;
  Trace (*make)(uint64_t seed);
};

constexpr Family kFamilies[] = {
    {"train", TrainWorkload},
    {"checkpoint", CheckpointWorkload},
    {"mixture", MixtureWorkload},
    {"lora", LoraWorkload},
    {"serving_concat", ServingConcatWorkload},
    {"serving_paged", ServingPagedWorkload},
    {"cnn", CnnWorkload},
    {"unet", UnetWorkload},
    {"recommender", RecommenderWorkload},
    {"streams", StreamsWorkload},
};

}  // namespace

std::vector<std::string_view> WorkloadFamilies() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  return names;
}

Result<Trace> GenerateWorkload(std::string_view family, uint64_t seed) {
  for (const Family& one : kFamilies) {
    if (one.name == family) return one.make(seed);
  }
  std::string names;
  for (const Family& one : kFamilies) names += StrCat(names.empty() ? "" : ", ", one.name);
  return Error{ErrorKind::kUsage,
               "replay.usage",
               StrCat("unknown family '", family, "'"),
               "",
               "no workload has this name",
               StrCat("use one of ", names)};
}

}  // namespace plimsoll::replay
