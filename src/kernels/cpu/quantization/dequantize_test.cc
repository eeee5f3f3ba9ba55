#include <gtest/gtest.h>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace dequantize_test {

using graph::DataType;

// Whole numbers that a type holds, of every sign and size.
HostTensor Integers(DataType type, Dims dims, int64_t seed) {
  HostTensor tensor = *AllocateOnHeap(type, std::move(dims));
  const bool four_bits = type == DataType::kInt4 || type == DataType::kUint4;
  const bool is_signed =
      type == DataType::kInt4 || type == DataType::kInt8 || type == DataType::kInt16;
  const bool two_bytes = type == DataType::kInt16 || type == DataType::kUint16;
  const int64_t count = four_bits ? 16 : two_bytes ? 65536 : 256;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const int64_t number = (i * 7919 + seed * 31 + i / 5) % count;
    StoreInteger(type, tensor.data.get(), i, is_signed ? number - count / 2 : number);
  }
  return tensor;
}

struct DequantizeCase {
  Dims data;
  Dims scales;
  int64_t axis = 1;
  int64_t block = 0;
};

// Where the scale of element `i` lies.
int64_t ScaleOf(const DequantizeCase& one, int64_t i) {
  if (ElementCount(one.scales) == 1) return 0;
  const auto axis = static_cast<size_t>(one.axis);
  const int64_t inner = ElementCount(std::span(one.data).subspan(axis + 1));
  const int64_t along = i / inner % one.data[axis];
  if (one.block == 0) return along;
  return (i / inner / one.data[axis] * one.scales[axis] + along / one.block) * inner + i % inner;
}

// Rows that are no whole vectors, that begin in the middle of a byte, and that are cut in pieces.
TEST(DequantizeTest, EveryTypeAndEveryPlaceOfScalesGivesTheDefinition) {
  const DequantizeCase cases[] = {
      {{3, 1001}, {}},
      {{3, 77}, {3}, 0},
      {{5, 77}, {77}, 1},
      {{1, 70001}, {70001}, 1},
      {{70, 33}, {5, 33}, 0, 16},
      {{7, 70}, {7, 5}, 1, 16},
      {{2, 9, 35}, {2, 3, 35}, 1, 4},
  };
  for (const DataType type : {DataType::kInt8, DataType::kUint8, DataType::kInt16,
                              DataType::kUint16, DataType::kInt4, DataType::kUint4}) {
    for (const DequantizeCase& one : cases) {
      for (const bool has_zero : {false, true}) {
        std::vector<HostTensor> inputs = {Integers(type, one.data, 1)};
        std::vector<float> scales;
        for (int64_t i = 0; i < ElementCount(one.scales); ++i) {
          scales.push_back(0.01F * static_cast<float>(i % 97 + 1));
        }
        inputs.push_back(Numbers<float>(one.scales, scales));
        if (has_zero) inputs.push_back(Integers(type, one.scales, 2));
        const OneNode node{
            "DequantizeLinear", {{"axis", one.axis}, {"block_size", one.block}}, 1, "", 24};
        const auto made = node.Run(inputs);
        ASSERT_TRUE(made.ok()) << made.error().Text();
        const std::vector<float> floats = ElementsOf<float>((*made)[0]);
        for (size_t i = 0; i < floats.size(); ++i) {
          const auto at = static_cast<int64_t>(i);
          const int64_t scale = ScaleOf(one, at);
          const int64_t zero = has_zero ? LoadInteger(type, inputs[2].data.get(), scale) : 0;
          const auto moved = static_cast<float>(LoadInteger(type, inputs[0].data.get(), at) - zero);
          ASSERT_EQ(floats[i], moved * scales[static_cast<size_t>(scale)])
              << graph::Name(type) << " " << graph::Text(graph::ShapeOf(one.data)) << " scales "
              << graph::Text(graph::ShapeOf(one.scales)) << " element " << i;
        }
      }
    }
  }
}

}  // namespace dequantize_test
}  // namespace plimsoll::kernels::cpu
