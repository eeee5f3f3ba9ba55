#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "plimsoll/base/data_type.h"

namespace plimsoll::engine {

// What a tensor's elements are like. Of complex ones, both parts count as elements.
struct TensorStatistics {
  int64_t elements = 0;
  int64_t nan = 0;
  int64_t infinite = 0;
  int64_t zeros = 0;
  // Of the finite elements; nothing where there is none.
  std::optional<double> least;
  std::optional<double> most;
  std::optional<double> mean;

  bool finite() const { return nan == 0 && infinite == 0; }
};

// Of any type but strings.
TensorStatistics StatisticsOf(DataType type, int64_t elements, std::span<const std::byte> bytes);

}  // namespace plimsoll::engine
