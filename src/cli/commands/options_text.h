#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/answer.h"
#include "config/effective_config.h"

// The option table as people and programs read it. All of it is made from the rows alone.
namespace plimsoll::cli {

// Whether lines may be so long that the legal values of an option fit in: on a wide terminal, and
// where there is none.
bool RoomForLegalValues();
inline constexpr std::string_view kLegalValuesHint =
    "\nplimsoll options NAME tells the legal values of an option and its meaning\n";

// A line for each option: name, default, legal values, standing in a word or two.
std::string OptionListText();

// One option in full; with what is in force where that is known.
std::string OptionText(const config::Option& option, const config::EffectiveConfig* effective);

// {"options": rows}, of all or of one; `effective` may be null, and then nothing is in force.
Json OptionListJson(const config::EffectiveConfig* effective);
Json OptionJson(const config::Option& option, const config::EffectiveConfig* effective);

// docs/options.md.
std::string OptionMarkdown();

// "1; 2 inside an explicit NPURunConfig", "not set".
std::string DefaultText(const config::Option& option);

}  // namespace plimsoll::cli
