#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/pack.h"

namespace plimsoll::bindings {

// Buffers as columns, which is how other languages hold them. `alignments` and `fixed_offsets` may
// be empty; the others have one element for each buffer.
struct BufferColumns {
  std::span<const int64_t> sizes;
  std::span<const int64_t> begins;
  std::span<const int64_t> ends;
  std::span<const int64_t> alignments = {};     // none: 1
  std::span<const int64_t> fixed_offsets = {};  // negative: not fixed
};

struct PackRequest {
  std::optional<Bytes> capacity = {};
  std::optional<int64_t> steps = {};       // none: as the problem calls for
  std::optional<double> deadline_ms = {};  // likewise
  std::string assigner = "hybrid";
  int threads = 1;
};

// Places the buffers in one region and verifies the answer. Fails (pack.columns) where columns are
// of different lengths or hold what no buffer can be, and as plan::Pack does.
Result<plan::PackAnswer> PackColumns(const BufferColumns& columns, const PackRequest& request);

}  // namespace plimsoll::bindings
