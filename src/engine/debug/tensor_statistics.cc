#include "engine/debug/tensor_statistics.h"

#include <algorithm>
#include <cmath>

#include "kernels/element_types.h"

namespace plimsoll::engine {

TensorStatistics StatisticsOf(DataType type, int64_t elements, std::span<const std::byte> bytes) {
  if (type == DataType::kComplex64 || type == DataType::kComplex128) {
    elements *= 2;
    type = type == DataType::kComplex64 ? DataType::kFloat32 : DataType::kFloat64;
  }
  TensorStatistics statistics;
  statistics.elements = elements;
  int64_t finite = 0;
  double mean = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const double element = kernels::LoadDouble(type, bytes.data(), i);
    if (std::isnan(element)) {
      ++statistics.nan;
    } else if (std::isinf(element)) {
      ++statistics.infinite;
    } else {
      ++finite;
      if (element == 0) ++statistics.zeros;
      // A running mean does not overflow where a sum would.
      mean += element / static_cast<double>(finite) - mean / static_cast<double>(finite);
      statistics.least = std::min(statistics.least.value_or(element), element);
      statistics.most = std::max(statistics.most.value_or(element), element);
    }
  }
  if (finite > 0) statistics.mean = mean;
  return statistics;
}

}  // namespace plimsoll::engine
