#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compile/passes/fuse/fusion_patterns.h"

namespace plimsoll::compile {

// What a switch file says of one group.
struct GroupSwitches {
  bool all_off = false;
  std::map<std::string, bool, std::less<>> patterns = {};  // by name: on, whatever all_off says
};

// Which patterns passes look for; all of them where nothing was said.
class FusionSwitches {
 public:
  FusionSwitches() = default;
  // Patterns that cannot be switched off stay on. `notes` gets lines about what was asked for and
  // is not done: those, and names that stand for nothing here, which is no error, since files for
  // other devices name other patterns.
  FusionSwitches(const GroupSwitches& graph_fusion, const GroupSwitches& ub_fusion,
                 std::vector<std::string>& notes);

  bool IsOn(FusionPattern pattern) const { return !off_[static_cast<size_t>(pattern)]; }
  void SwitchOff(FusionPattern pattern) { off_[static_cast<size_t>(pattern)] = true; }
  bool operator==(const FusionSwitches&) const = default;

 private:
  void Read(FusionGroup group, const GroupSwitches& asked, std::vector<std::string>& notes);
  std::array<bool, kFusionPatterns> off_ = {};
};

}  // namespace plimsoll::compile
