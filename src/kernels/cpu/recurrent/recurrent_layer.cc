#include "kernels/cpu/recurrent/recurrent_layer.h"

#include <string>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

Result<RecurrentShape> ReadRecurrentShape(const KernelSite& site, int64_t gates, bool quantized) {
  using Ports = RecurrentPorts;
  RecurrentShape shape;
  const std::string direction = site.attributes().String("direction", "forward");
  shape.gates = gates;
  shape.batch_first = site.node().version >= 14 && site.attributes().Int("layout", 0) != 0;
  const Dims& data = site.inputs[Ports::kData].dims;
  shape.sequence = data[shape.batch_first ? 1 : 0];
  shape.batch = data[shape.batch_first ? 0 : 1];
  shape.features = data[2];
  // Quantised weights are transposed.
  const size_t rows = quantized ? 2 : 1;
  shape.hidden = site.inputs[Ports::kRecurrence].dims[3 - rows];
  shape.directions = direction == "bidirectional" ? 2 : 1;
  shape.reversed = direction == "reverse";
  shape.clip = site.attributes().Float("clip", 0);
  for (const size_t input : {Ports::kWeights, Ports::kRecurrence}) {
    const Dims& weights = site.inputs[input].dims;
    if (weights[0] != shape.directions || weights[rows] != gates * shape.hidden) {
      return site.BadInput(StrCat("weights ", graph::Text(graph::ShapeOf(weights)), " are not for ",
                                  shape.directions, " directions and ", gates, " gates of ",
                                  shape.hidden));
    }
  }
  return shape;
}

Status CheckLengths(const RecurrentShape& shape, const int32_t* lengths) {
  for (int64_t item = 0; lengths != nullptr && item < shape.batch; ++item) {
    const int64_t length = lengths[item];
    if (length >= 0 && length <= shape.sequence) continue;
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "kernel.input",
                 .what = "cannot run a recurrent layer",
                 .where = "",
                 .why = StrCat("item ", item, " has ", length, " places where the data has ",
                               shape.sequence),
                 .remedy = ""};
  }
  return {};
}

}  // namespace plimsoll::kernels::cpu
