#include "kernels/cpu/convolution/rows/row_choice.h"

#include <algorithm>

#include "kernels/blocking.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int kBlockOfAvx512 = 16;

// Picoseconds that the parts of a convolution take on one core of an AMD EPYC with AVX-512, or held
// to AVX2, fitted to drawn shapes (bench/convolution_choices.cc draws others); what blocks add to
// rows is estimated from some forty chains of convolutions.
struct ConvolutionPrices {
  // In blocks of channels, by oneDNN.
  double block_product;  // a multiplication, those that fill blocks up among them
  double lone_block;     // more for it, where one block of filters has too few sums
  double into_block;     // an element of the data that comes plain
  double out_of_block;   // an element of the result that is to be plain
  double block_call;     // a convolution
  // As sums of shifted rows.
  double row_product;     // a multiplication, those that fill up vectors among them
  double into_row;        // an element of the data
  double from_block;      // more for it, where it comes in blocks
  double apart;           // more for it, where rows go apart by stride
  double out_of_row;      // an element of the result
  double to_block;        // more for it, where it is to be in blocks
  double row_of_data;     // a row that is brought
  double row_of_results;  // a row that is put down
};

constexpr ConvolutionPrices kAvx512Prices{.block_product = 8.4,
                                          .lone_block = 0,
                                          .into_block = 230,
                                          .out_of_block = 335,
                                          .block_call = 280e3,
                                          .row_product = 8.9,
                                          .into_row = 70,
                                          .from_block = 150,
                                          .apart = 140,
                                          .out_of_row = 62,
                                          .to_block = 400,
                                          .row_of_data = 3500,
                                          .row_of_results = 1600};
constexpr ConvolutionPrices kAvx2Prices{.block_product = 15.5,
                                        .lone_block = 17.5,
                                        .into_block = 255,
                                        .out_of_block = 113,
                                        .block_call = 1000e3,
                                        .row_product = 15.5,
                                        .into_row = 76,
                                        .from_block = 150,
                                        .apart = 250,
                                        .out_of_row = 89,
                                        .to_block = 400,
                                        .row_of_data = 2100,
                                        .row_of_results = 4100};

}  // namespace

bool RowsAreFaster(const FloatConvolution& wanted, double idle) {
  constexpr double kClearly = 0.9;
  const ConvolutionShape& shape = wanted.shape;
  const Window& window = shape.window;
  const bool wide = BlockSize() == kBlockOfAvx512;
  const ConvolutionPrices& prices = wide ? kAvx512Prices : kAvx2Prices;
  const auto rounded = [](int64_t channels) {
    return (channels + BlockSize() - 1) / BlockSize() * BlockSize();
  };
  const auto batch = static_cast<double>(shape.batch);
  const auto groups = static_cast<double>(shape.groups);
  const double data = batch * static_cast<double>(shape.channels * window.InputSize());
  const double results = batch * static_cast<double>(shape.filters * window.OutputSize());

  const bool reads_plain = !wanted.source_blocked && shape.channels <= 3;
  // With AVX-512 oneDNN leaves out what is behind the last channel of the data.
  const int64_t summed =
      reads_plain || wide ? shape.GroupChannels() : rounded(shape.GroupChannels());
  const double block_products = batch * groups *
                                static_cast<double>(window.OutputSize() * window.KernelSize()) *
                                static_cast<double>(summed * rounded(shape.GroupFilters()));
  const bool lone = shape.GroupFilters() <= BlockSize();
  const double blocks = block_products * (prices.block_product + (lone ? prices.lone_block : 0)) +
                        (wanted.source_blocked || reads_plain ? 0 : data * prices.into_block) +
                        (wanted.destination_blocked ? 0 : results * prices.out_of_block) +
                        prices.block_call;

  const bool one_row = window.KernelSize() == 1 && window.input == window.output;
  const bool strides = window.strides[1] > 1 || window.strides[2] > 1;
  const int64_t columns = one_row ? window.OutputSize() : window.output[2];
  const int64_t rows_out = shape.batch * window.OutputSize() / columns;
  // Short rows run on into each other, over the padding between them.
  const int64_t pitch =
      one_row ? rounded(columns) : columns + (window.Extent(2) - 1) / window.strides[2];
  const int64_t summed_columns = std::min(rounded(columns), pitch);
  const double row_products = static_cast<double>(rows_out * summed_columns) *
                              static_cast<double>(window.KernelSize() * shape.GroupChannels()) *
                              static_cast<double>(shape.filters);
  const double rows =
      row_products * prices.row_product +
      data * (prices.into_row + (wanted.source_blocked ? prices.from_block : 0) +
              (strides ? prices.apart : 0)) +
      results * (prices.out_of_row + (wanted.destination_blocked ? prices.to_block : 0)) +
      static_cast<double>(rows_out * window.kernel[0] * window.kernel[1] * shape.channels) *
          prices.row_of_data +
      static_cast<double>(rows_out * shape.filters) * prices.row_of_results;
  return rows * idle < kClearly * blocks;
}

}  // namespace plimsoll::kernels::cpu
