#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/options/option.h"
#include "plimsoll/base/status.h"

// Values that are more than a word and less than a file. The errors' `why` says what is wrong.
namespace plimsoll::config {

// "4096" or a product, "26*1024*1024*1024", with blanks around the stars or without.
Result<int64_t> ParseSizeProduct(std::string_view text);

// "DNN_VM_AICPU:10,AIcoreEngine:1": the numbers are from 1, that of AIcoreEngine at most `cores`.
// An engine that is not named has 1.
Result<EngineCounts> ParseEngineCounts(std::string_view text, int64_t cores);
std::string Text(const EngineCounts& counts);

// "0|5-10": steps from 0 and ranges of them with both ends.
Result<std::vector<DumpSettings::Steps>> ParseSteps(std::string_view text);
std::string Text(const std::vector<DumpSettings::Steps>& steps);

}  // namespace plimsoll::config
