#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::graph {

// What the planner must know of a node's memory. The operator's row gives the usual answer; node
// metadata `plimsoll.<attribute>` overrides it:
//
//   plimsoll.memory_type        device | p2p | host
//   plimsoll.continuous_input   none | padded | unpadded   inputs lie side by side, in order
//   plimsoll.continuous_output  none | padded | unpadded   outputs lie side by side, in order
//   plimsoll.reference_output   "0:0,1:2"    output:input, the output is the input's memory
//   plimsoll.needs_clearing     "0,1"        outputs that must be zero before the node runs
//   plimsoll.fixed_address      0 | 1        addresses of the outputs never change between runs
//   plimsoll.no_address_refresh 0 | 1        the node cannot take new addresses: no zero copy
//   plimsoll.batch_label        text         the batch (gear) that the node belongs to
//   plimsoll.stream             0, 1, ...    the stream that the node runs on
//   plimsoll.group              "NAME,index" the outputs lie side by side with those of the other
//                                            nodes of group NAME, in the order of the indices
struct MemoryAttributes {
  enum class Type { kDevice, kP2P, kHost };
  enum class Continuous { kNone, kPadded, kUnpadded };
  struct Reference {
    int output = 0;
    int input = 0;
    bool operator==(const Reference&) const = default;
  };
  // A place in a row of outputs of several nodes.
  struct Group {
    std::string name;  // empty: in none
    int index = 0;
    bool operator==(const Group&) const = default;
  };

  Type memory_type = Type::kDevice;
  Continuous continuous_input = Continuous::kNone;
  Continuous continuous_output = Continuous::kNone;
  std::vector<Reference> reference_outputs;
  std::vector<int> needs_clearing;  // output indices
  bool fixed_address = false;
  bool no_address_refresh = false;
  std::string batch_label;
  int stream = 0;
  Group group;

  bool operator==(const MemoryAttributes&) const = default;
};

// Applies one metadata entry. `key` has lost its prefix "plimsoll."; the error names the legal
// values, or for an unknown key the nearest one. Nothing changes on an error.
Status Apply(MemoryAttributes& attributes, std::string_view key, std::string_view value);

// Nothing special asked for; the stream does not count.
bool IsOrdinary(const MemoryAttributes& attributes);

// "memory_type=p2p needs_clearing=0"; only what differs from the default, in a fixed order.
std::string Text(const MemoryAttributes& attributes);

}  // namespace plimsoll::graph
