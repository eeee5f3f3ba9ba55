#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/backend.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/ids.h"

namespace plimsoll::compile {

// Whose memory a storage is.
enum class Home {
  kFeatureMap,  // ours, to be planned
  kInput,       // the caller's input
  kOutput,      // the caller's output
  kVariable,    // an input that the run leaves with a new value
  kStaged,      // ours, and held until the run ends: the new value of such an input, to be copied
};

// Values that are the same bytes, whatever the order of execution: a view and what it views, a
// concatenation and what is written straight into it.
struct Storage {
  Home home = Home::kFeatureMap;
  Bytes bytes;
};

using StorageId = Id<struct StorageTag>;

// Where a value lies; no valid storage for constants and for values without bytes.
struct ValuePlace {
  StorageId storage;
  Bytes offset;
  Bytes bytes;
};

enum class ViewRules {
  kPlain,  // only operators that are views whatever the shapes (IsPlainView)
  kAll,    // every window that moves no byte
};

struct Storages {
  std::vector<ValuePlace> places;  // by value
  // By value: bytes of its storage that nobody holds before the value is written. 0 for views; less
  // than the value's own bytes for a concatenation into which inputs were written before.
  std::vector<Bytes> fresh;
  std::vector<Storage> storages;
  // Nodes that were to be views but must copy, since an output of the model would otherwise be
  // memory that is not its own, or somebody overwrites the view or what it views.
  std::vector<graph::NodeId> copies;
  // By value: written over a variable's old value (JoinUpdates). Empty: none is.
  std::vector<bool> overwrites;

  const ValuePlace& Of(graph::ValueId value) const { return places[value.index()]; }
  Storage& operator[](StorageId id) { return storages[id.index()]; }
  const Storage& operator[](StorageId id) const { return storages[id.index()]; }
};

// What must not be joined; empty lists name nothing.
struct StorageRules {
  ViewRules views = ViewRules::kAll;
  // By node: what it makes is not written over on its way into an output.
  std::vector<bool> kept = {};
  // By value: an output into whose memory nothing else is written.
  std::vector<bool> exclusive = {};
  // By value: is no part of another, except by reference_output, since where it starts in that one
  // would change with the shapes.
  std::vector<bool> standalone = {};
  std::vector<bool> copied = {};  // by node: Concat, Split and the like that move their bytes
  // Whose kernels work in place.
  const kernels::Backend* backend = &kernels::HostBackend();
};

Storages FindStorages(const graph::Graph& graph, const std::vector<bool>& constant,
                      const StorageRules& rules = {});

// Nodes of which some value is a part of a larger one that holds others too: those that
// StorageRules::copied may keep from it.
std::vector<graph::NodeId> JoiningNodes(const graph::Graph& graph, const Storages& storages);

}  // namespace plimsoll::compile
