#pragma once

#include <string>
#include <string_view>

#include "config/mistakes.h"
#include "config/run_settings.h"

// Readers of the small JSON files that options name, as those in operator_files.h.
namespace plimsoll::config {

// fusion_switch_file: {"Switch": {"GraphFusion": {"ALL": "off", "SoftmaxFusionPass": "on"},
// "UBFusion": {...}}}. "ALL" stands for the patterns of its group that are not named.
FusionSwitches ReadFusionSwitches(std::string_view text, const std::string& name,
                                  Mistakes& mistakes);

// modify_mixlist: {"black-list": {"to-remove": [...], "to-add": [...]}, "white-list": {...}}, lists
// of operator types; // comments are allowed.
MixList ReadMixList(std::string_view text, const std::string& name, Mistakes& mistakes);

// aoe_config_file: {"tune_ops_name": [...], "tune_ops_type": [...], "tune_optimization_level":
// "O1", "feature": ["deeper_opat"]}. Fills what the file says and leaves the rest as it is by
// default.
AoeSettings ReadAoeTuning(std::string_view text, const std::string& name, Mistakes& mistakes);

}  // namespace plimsoll::config
