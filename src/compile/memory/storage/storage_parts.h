#pragma once

#include <cstdint>
#include <vector>

#include "compile/memory/storage/storages.h"
#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Storages whose bytes need not all go at the same time (the outputs of a Split that lie in its
// input, inputs of a Concat that others read as well), divided into parts that do: bytes that the
// same values cover, of those that somebody reads.
struct StorageParts {
  struct Brought {
    int32_t part = 0;
    Bytes bytes;  // that come when the value is written
  };
  struct Row {
    std::vector<int32_t> covered;
    std::vector<Brought> brought;
  };
  int32_t count = 0;            // parts of all storages, numbered from 0
  std::vector<Row> rows;        // values of divided storages
  std::vector<int32_t> row_of;  // by value; -1: its storage goes as a whole

  const Row* Of(size_t value) const {
    return row_of[value] < 0 ? nullptr : &rows[static_cast<size_t>(row_of[value])];
  }
};

StorageParts DivideStorages(const graph::Graph& graph, const Storages& storages);

}  // namespace plimsoll::compile
