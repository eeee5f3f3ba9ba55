#pragma once

#include <cstdint>

#include "plimsoll/replay/trace.h"

// One function a family; workloads.h tells what they are.
namespace plimsoll::replay {

Trace TrainWorkload(uint64_t seed);
Trace CheckpointWorkload(uint64_t seed);
Trace MixtureWorkload(uint64_t seed);
Trace LoraWorkload(uint64_t seed);
Trace ServingConcatWorkload(uint64_t seed);
Trace ServingPagedWorkload(uint64_t seed);
Trace CnnWorkload(uint64_t seed);
Trace UnetWorkload(uint64_t seed);
Trace RecommenderWorkload(uint64_t seed);
Trace StreamsWorkload(uint64_t seed);

}  // namespace plimsoll::replay
