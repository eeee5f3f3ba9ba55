#include "kernels/cpu/convolution_loops.h"

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

Result<ConvolutionShape> ReadConvolution(const KernelSite& site, size_t data, size_t weights) {
  const Dims& x = site.inputs[data].dims;
  const Dims& w = site.inputs[weights].dims;
  ConvolutionShape shape;
  shape.batch = x[0];
  shape.channels = x[1];
  shape.filters = w[0];
  shape.groups = site.attributes().Int("group", 1);
  if (shape.groups < 1 || shape.filters % shape.groups != 0) {
    return site.BadInput(
        StrCat(shape.filters, " filters cannot be split into ", shape.groups, " groups"));
  }
  PLIMSOLL_ASSIGN(shape.window,
                  ReadWindow(site, x, Dims(w.begin() + 2, w.end()), site.outputs[0].dims));
  return shape;
}

}  // namespace plimsoll::kernels::cpu
