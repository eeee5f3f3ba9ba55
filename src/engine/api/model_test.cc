#include "plimsoll/engine/model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "plimsoll/engine/session.h"

namespace plimsoll {
namespace api_model_test {
namespace {

const char kTinyCnn[] = PLIMSOLL_SOURCE_DIR "/examples/tiny_cnn.onnx";

TEST(ApiModel, TellsWhatIsInTheFile) {
  const auto model = Model::Open(kTinyCnn);
  ASSERT_TRUE(model.ok()) << model.error().Text();
  const ModelInfo& info = model->info();
  ASSERT_EQ(info.inputs.size(), 1U);
  EXPECT_EQ(info.inputs[0].kind, ValueKind::kTensor);
  EXPECT_EQ(info.inputs[0].type, DataType::kFloat32);
  ASSERT_TRUE(info.inputs[0].shape.has_value());
  EXPECT_EQ(info.inputs[0].shape->at(0), Dim::Symbol("batch"));
  EXPECT_EQ(info.symbols, std::vector<std::string>{"batch"});
  size_t nodes = 0;
  for (const auto& [name, count] : info.operators) nodes += static_cast<size_t>(count);
  EXPECT_EQ(nodes, info.nodes);
  EXPECT_GT(info.weights, 0U);
  EXPECT_GT(info.weight_bytes, Bytes(0));
  EXPECT_TRUE(info.unsupported.empty());
  EXPECT_TRUE(info.missing_files.empty());
  EXPECT_TRUE(info.opsets.contains(""));
}

TEST(ApiModel, NamesOperatorsWithoutAKernel) {
  const auto model =
      Model::Open(PLIMSOLL_SOURCE_DIR "/tests/consumer_extension/scaled_square.onnx");
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(model->info().unsupported, std::vector<std::string>{"com.example::ScaledSquare"});
}

TEST(ApiModel, IsReadFromBytesToo) {
  std::ifstream file(kTinyCnn, std::ios::binary);
  const auto text = std::make_shared<std::string>(std::istreambuf_iterator<char>(file),
                                                  std::istreambuf_iterator<char>());
  auto model = Model::FromBytes(std::as_bytes(std::span(*text)), text);
  ASSERT_TRUE(model.ok()) << model.error().Text();
  EXPECT_EQ(model->info().nodes, Model::Open(kTinyCnn)->info().nodes);
  const auto broken = Model::FromBytes(std::as_bytes(std::span(*text)).first(40), text);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().kind, ErrorKind::kBadFile);
  EXPECT_EQ(Model::Open("/no/such/file").error().kind, ErrorKind::kBadFile);
}

}  // namespace
}  // namespace api_model_test
}  // namespace plimsoll
