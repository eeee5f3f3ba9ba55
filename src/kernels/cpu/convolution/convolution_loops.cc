#include "kernels/cpu/convolution/convolution_loops.h"

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

Result<ConvolutionShape> ReadConvolution(const KernelSite& site, const Dims& data,
                                         const Dims& weights, const Dims& output) {
  ConvolutionShape shape;
  shape.batch = data[0];
  shape.channels = data[1];
  shape.filters = weights[0];
  shape.groups = site.attributes().Int("group", 1);
  if (shape.groups < 1 || shape.filters % shape.groups != 0) {
    return site.BadInput(
        StrCat(shape.filters, " filters cannot be split into ", shape.groups, " groups"));
  }
  PLIMSOLL_ASSIGN(shape.window,
                  ReadWindow(site, data, Dims(weights.begin() + 2, weights.end()), output));
  return shape;
}

}  // namespace plimsoll::kernels::cpu
