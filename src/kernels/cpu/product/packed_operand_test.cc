#include "kernels/cpu/product/packed_operand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/blocking.h"
#include "kernels/cpu/prepared_node_for_tests.h"

namespace plimsoll::kernels::cpu {
namespace packed_operand_test {

using testing::FloatNear;
using testing::Pointwise;

// Notes what is read no more, and that it comes in the order of the constant.
class NotedWeights final : public PackedWeights {
 public:
  explicit NotedWeights(const void* data) : next_(static_cast<const std::byte*>(data)) {}
  Result<const void*> Pack(const void* data, Bytes plain, std::string_view layout, Bytes packed,
                           const Fill& fill) override {
    return held_.Pack(data, plain, layout, packed, fill);
  }
  void Forget(const void* data, Bytes size) override {
    EXPECT_EQ(data, next_);
    next_ += size.value();
    largest = std::max(largest, size);
    forgotten += size;
  }
  Bytes forgotten;
  Bytes largest;

 private:
  HeapPackedWeights held_;
  const std::byte* next_;
};

// Filters that fill no blocks at the end, in more than one slice; large ones in slices of few.
TEST(PackedOperandTest, ALargeConstantIsPackedSliceBySlice) {
  struct SliceCase {
    Dims image;
    Dims weights;
  };
  const SliceCase cases[] = {{{1, 184, 12, 13}, {250, 184, 5, 5}},
                             {{1, 1024, 6, 6}, {72, 1024, 5, 5}}};
  for (const SliceCase& one : cases) {
    const HostTensor x = Wavy(one.image);
    const HostTensor w = Wavy(one.weights, 1);
    const OneNode block{.op = "BlockChannels",
                        .attributes = {{"block", int64_t{BlockSize()}}},
                        .outputs = 1,
                        .domain = "plimsoll",
                        .version = 1};
    OneNode convolution = block;
    convolution.op = "FusedConv";
    convolution.attributes = {{"channels", one.image[1]},
                              {"block", int64_t{BlockSize()}},
                              {"input_blocked", int64_t{1}},
                              {"output_blocked", int64_t{1}}};
    NotedWeights weights(w.data.get());
    const auto prepared = Prepare(convolution, {(*block.Run({x}))[0], w}, {1}, &weights);
    ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
    EXPECT_EQ(weights.forgotten, w.size());
    EXPECT_LE(weights.largest, MiB(2));
    const HostTensor expected = (*OneNode{.op = "Conv", .attributes = {}}.Run({x, w}))[0];
    const auto made = prepared->Run();
    ASSERT_TRUE(made.ok());
    EXPECT_THAT(*made, Pointwise(FloatNear(5e-3f), ElementsOf<float>((*block.Run({expected}))[0])));
  }
}

}  // namespace packed_operand_test
}  // namespace plimsoll::kernels::cpu
