#pragma once

#include <vector>

#include "config/effective_config.h"
#include "config/options/option.h"

namespace plimsoll::config {

// The rows of the option table by section; option_table.cc puts them together. Those of the
// documents stand in the documents' order.
std::vector<Option> BasicOptions();
std::vector<Option> MemoryOptions();
std::vector<Option> DynamicShapeOptions();
std::vector<Option> MixedComputingOptions();
std::vector<Option> DebuggingOptions();
std::vector<Option> AccuracyTuningOptions();
std::vector<Option> AccuracyComparisonOptions();
std::vector<Option> PerformanceOptions();
std::vector<Option> ProfilingOptions();
std::vector<Option> AoeOptions();
std::vector<Option> CompilationOptions();
std::vector<Option> DataAugmentationOptions();
std::vector<Option> TimeoutOptions();
std::vector<Option> ExperimentOptions();
std::vector<Option> DeprecatedOptions();
std::vector<Option> MemoryConfigFields();
std::vector<Option> DumpConfigFields();
std::vector<Option> ProfilingConfigFields();
std::vector<Option> FurtherOptions();
std::vector<Option> ReuseOptions();
std::vector<Option> PlanningOptions();
std::vector<Option> EnvironmentOptions();

// Why many options have no effect.
inline constexpr std::string_view kPrecompiled =
    "kernels are precompiled here, so none is compiled, kept or written";
inline constexpr std::string_view kOneDevice = "a session is one process with one device";
inline constexpr std::string_view kNo16BitProducts =
    "no 16-bit products on this processor, float32 kept";

// What deprecated options without a successor say.
inline constexpr std::string_view kNoReplacement = "the option will go, nothing replaces it";

// Whether the configuration asks for shapes that change, as far as it alone can tell.
bool AsksForDynamicShapes(const EffectiveConfig& in_force);

}  // namespace plimsoll::config
