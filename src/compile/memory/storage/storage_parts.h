#pragma once

#include <cstdint>
#include <vector>

#include "compile/memory/storage/storages.h"
#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

using StoragePartId = Id<struct StoragePartTag>;
using PartRowId = Id<struct PartRowTag>;

// Storages whose bytes need not all go at the same time (the outputs of a Split that lie in its
// input, inputs of a Concat that others read as well), divided into parts that do: bytes that the
// same values cover, of those that somebody reads.
struct StorageParts {
  struct Brought {
    StoragePartId part;
    Bytes bytes;  // that come when the value is written
  };
  struct Row {
    std::vector<StoragePartId> covered;
    std::vector<Brought> brought;
  };
  size_t count = 0;               // parts of all storages, numbered from 0
  std::vector<Row> rows;          // values of divided storages
  std::vector<PartRowId> row_of;  // by value; not valid: its storage goes as a whole

  const Row* Of(size_t value) const {
    return row_of[value].valid() ? &rows[row_of[value].index()] : nullptr;
  }
};

StorageParts DivideStorages(const graph::Graph& graph, const Storages& storages);

}  // namespace plimsoll::compile
