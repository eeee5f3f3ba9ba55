#include "plimsoll/base/tensor.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace tensor_test {
namespace {

TEST(Tensor, AllocatesWhatItsTypeAndShapeSay) {
  const auto tensor = Tensor::Allocate(DataType::kFloat32, {2, 3});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->elements(), 6);
  EXPECT_EQ(tensor->size(), Bytes(24));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data.get()) % 64, 0U);
  EXPECT_EQ(tensor->Elements<float>().size(), 6U);
  EXPECT_TRUE(tensor->Elements<int32_t>().empty()) << "its elements are of another type";
  EXPECT_EQ(Tensor::Allocate(DataType::kInt4, {3})->size(), Bytes(2));
  EXPECT_EQ(Tensor::Allocate(DataType::kString, {2})->Elements<std::string>()[1], "");
}

TEST(Tensor, RefusesWhatNoMemoryHolds) {
  const auto tensor = Tensor::Allocate(DataType::kFloat64, {int64_t{1} << 40, int64_t{1} << 40});
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, "run.memory");
  EXPECT_EQ(tensor.error().kind, ErrorKind::kDoesNotFit);
}

TEST(Tensor, ViewsLookAtTheCallersElements) {
  std::vector<int64_t> elements = {1, 2, 3, 4};
  const TensorView view = TensorView::Of(std::span(elements), {2, 2});
  view.Elements<int64_t>()[3] = 9;
  EXPECT_EQ(elements[3], 9);
  const ConstTensorView read = view;
  EXPECT_EQ(read.Elements<int64_t>()[3], 9);
  EXPECT_EQ(read.type, DataType::kInt64);
  EXPECT_EQ(read.size(), Bytes(32));
  const std::vector<int64_t>& constant = elements;
  EXPECT_EQ(ConstTensorView::Of(std::span(constant), {4}).elements(), 4);
}

TEST(Tensor, CopiesShareTheElements) {
  const Tensor tensor = *Tensor::Allocate(DataType::kInt32, {1});
  const Tensor copy = tensor;
  tensor.Elements<int32_t>()[0] = 7;
  EXPECT_EQ(copy.Elements<int32_t>()[0], 7);
  EXPECT_EQ(ViewsOf(std::vector{tensor})[0].data, ConstViewsOf(std::vector{copy})[0].data);
}

}  // namespace
}  // namespace tensor_test
}  // namespace plimsoll
