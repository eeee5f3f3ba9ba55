#pragma once

#include <string>
#include <string_view>

#include "config/mistakes.h"
#include "config/run_settings.h"

// Readers of the small files that options name. Each takes the text of a file called `name`, adds
// all that is wrong with it to the mistakes, with line and column, and gives what is left. All are
// linear in the text but for sorting, and take text from anybody.
namespace plimsoll::config {

// op_debug_config:
//
//   op_debug_config = ccec_g,oom
//   op_debug_list = GatherV2,OpType::ReduceSum
//
// A bare item of the list is the name of an operator, OpType:: or opType:: leads a type. Without a
// list all operators are meant. ccec_O0 and oom exclude each other.
OpDebugConfig ReadOpDebugConfig(std::string_view text, const std::string& name, Mistakes& mistakes);

// customize_dtypes: an operator a line, by name or by type; a comma may stand before OutputDtype.
//
//   block1/Relu::InputDtype:float16,int8,OutputDtype:float16,int8
//   OpType::Relu:InputDtype:float16,OutputDtype:float16
CustomDtypes ReadCustomDtypes(std::string_view text, const std::string& name, Mistakes& mistakes);

// op_precision_mode: sections [ByOpType] and [ByNodeName] with lines operator = mode.
OpPrecision ReadOpPrecision(std::string_view text, const std::string& name, Mistakes& mistakes);

// The word of a mode as op_precision.ini writes it.
std::string_view ImplModeName(ImplMode mode);

// op_cache.ini: section [op_compiler_cache] with max_op_cache_size and remain_cache_size_ratio. It
// counts only when both are there and valid, that is, when there is no mistake.
CacheLimits ReadOpCacheIni(std::string_view text, const std::string& name, Mistakes& mistakes);

// What op_cache.ini holds for these limits.
std::string OpCacheIniText(const CacheLimits& limits);

// max_op_cache_size: from -1; remain_cache_size_ratio: 1 to 100.
bool IsCacheSize(int64_t megabytes);
bool IsRemainRatio(int64_t percent);

}  // namespace plimsoll::config
