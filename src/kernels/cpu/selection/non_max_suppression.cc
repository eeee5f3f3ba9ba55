#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise/element_order.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/selection/kept_boxes.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

Box ReadBox(const float* numbers, bool by_center) {
  if (by_center) {
    const float half_width = numbers[2] / 2;
    const float half_height = numbers[3] / 2;
    return {numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height,
            numbers[0] + half_width};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3])};
}

struct Suppression {
  int64_t batches;
  int64_t classes;
  int64_t boxes;
  bool by_center;

  // Places of boxes in order, and those kept.
  Bytes workspace() const {
    return Bytes(boxes) * int64_t{sizeof(int64_t)} + KeptBoxes::Size(boxes);
  }
};

// What the optional inputs 2 to 4 say.
struct Limits {
  int64_t per_class = 0;
  float overlap = 0;
  bool has_score = false;
  float score = 0;
};

Limits ReadLimits(std::span<const void* const> inputs) {
  const auto given = [&](size_t i) { return i < inputs.size() && inputs[i] != nullptr; };
  Limits limits;
  if (given(2)) limits.per_class = LoadInteger(graph::DataType::kInt64, inputs[2], 0);
  if (given(3)) {
    limits.overlap = static_cast<float>(LoadDouble(graph::DataType::kFloat32, inputs[3], 0));
  }
  limits.has_score = given(4);
  if (given(4)) {
    limits.score = static_cast<float>(LoadDouble(graph::DataType::kFloat32, inputs[4], 0));
  }
  return limits;
}

// Keeps boxes by falling score, equal scores by place, unless a box kept before overlaps too much.
// Writes a row (batch, class, box) for each of the first `most` that are kept and gives how many
// there are.
int64_t Select(const Suppression& what, const Limits& limits, const float* boxes,
               const float* scores, void* workspace, int64_t most, int64_t* rows) {
  auto* const order = static_cast<int64_t*>(workspace);
  KeptBoxes kept_boxes(reinterpret_cast<float*>(order + what.boxes), what.boxes);
  int64_t found = 0;
  for (int64_t image = 0; image < what.batches * what.classes; ++image) {
    const int64_t batch = image / what.classes;
    const float* score = scores + image * what.boxes;
    const auto box_at = [&](int64_t box) {
      return ReadBox(boxes + (batch * what.boxes + box) * 4, what.by_center);
    };
    int64_t candidates = 0;
    for (int64_t box = 0; box < what.boxes; ++box) {
      if (!limits.has_score || score[box] > limits.score) order[candidates++] = box;
    }
    std::sort(order, order + candidates, [&](int64_t a, int64_t b) {
      if (ComesBefore(score[b], score[a])) return true;
      return !ComesBefore(score[a], score[b]) && a < b;
    });
    kept_boxes.Begin(candidates, [&](int64_t i) { return box_at(order[i]); });
    int64_t kept = 0;
    for (int64_t i = 0; i < candidates && kept < limits.per_class; ++i) {
      const Box box = box_at(order[i]);
      if (kept_boxes.Overlaps(box, limits.overlap)) continue;
      kept_boxes.Add(box);
      ++kept;
      if (found < most) {
        rows[found * 3] = batch;
        rows[found * 3 + 1] = image % what.classes;
        rows[found * 3 + 2] = order[i];
      }
      ++found;
    }
  }
  return found;
}

// The rows that inputs whose data is known give; the data may be unaligned.
std::vector<int64_t> SelectKnown(const KernelSite& site, const Suppression& what) {
  std::vector<float> numbers[2];
  for (const size_t i : {0, 1}) {
    numbers[i].resize(static_cast<size_t>(site.inputs[i].elements()));
    if (numbers[i].empty()) continue;
    std::memcpy(numbers[i].data(), site.inputs[i].data, numbers[i].size() * sizeof(float));
  }
  std::vector<const void*> inputs;
  for (const TensorInfo& input : site.inputs) inputs.push_back(input.data);
  const Limits limits = ReadLimits(inputs);
  const int64_t most =
      what.batches * what.classes * std::clamp<int64_t>(limits.per_class, 0, what.boxes);
  std::vector<int64_t> workspace(static_cast<size_t>(what.workspace().value()) / sizeof(int64_t));
  std::vector<int64_t> rows(static_cast<size_t>(3 * most));
  const int64_t found = Select(what, limits, numbers[0].data(), numbers[1].data(), workspace.data(),
                               most, rows.data());
  rows.resize(static_cast<size_t>(3 * found));
  return rows;
}

Result<KernelPointer> MakeNonMaxSuppression(KernelSite& site) {
  const Dims& boxes = site.inputs[0].dims;
  const Dims& scores = site.inputs[1].dims;
  for (const size_t i : {0, 1}) {
    if (site.inputs[i].type != graph::DataType::kFloat32) {
      return site.Unsupported("boxes and scores must be float32");
    }
  }
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2]) {
    return site.BadInput(
        StrCat("boxes [", Join(boxes, ","), "] and scores [", Join(scores, ","), "] do not fit"));
  }
  const Suppression what{scores[0], scores[1], scores[2],
                         site.attributes().Int("center_point_box", 0) != 0};
  if (!site.outputs[0].sized) {
    std::vector<int64_t> rows = SelectKnown(site, what);
    site.outputs[0].dims = {std::ssize(rows) / 3, 3};
    site.outputs[0].sized = true;
    return MakeKernel([rows = std::move(rows)](const KernelCall& call) {
      std::copy(rows.begin(), rows.end(), static_cast<int64_t*>(call.outputs[0]));
    });
  }
  return MakeKernel(
      [what, most = site.outputs[0].dims[0]](const KernelCall& call) {
        Select(what, ReadLimits(call.inputs), static_cast<const float*>(call.inputs[0]),
               static_cast<const float*>(call.inputs[1]), call.workspace, most,
               static_cast<int64_t*>(call.outputs[0]));
      },
      what.workspace(), "boxes in order, and those kept");
}

constexpr KernelRow kNonMaxSuppressionRows[] = {
    {"", "NonMaxSuppression", 10, graph::kNewest, MakeNonMaxSuppression},
};

}  // namespace

std::span<const KernelRow> NonMaxSuppressionKernels() { return kNonMaxSuppressionRows; }

}  // namespace plimsoll::kernels::cpu
