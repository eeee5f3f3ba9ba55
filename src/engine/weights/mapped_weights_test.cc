#include "engine/weights/mapped_weights.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/mapped_pages.h"
#include "engine/session_for_tests.h"

namespace plimsoll::engine {
namespace mapped_weights_test {

// Blocks of 4-bit weights, 1 MiB of them, in a file that is mapped.
class MappedFile {
 public:
  MappedFile() {
    std::FILE* const file = std::tmpfile();
    EXPECT_EQ(ftruncate(fileno(file), kBytes), 0);
    bytes_ = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    std::fclose(file);
  }
  ~MappedFile() { munmap(bytes_, kBytes); }

  std::span<const std::byte> bytes() const { return {static_cast<std::byte*>(bytes_), kBytes}; }

  static constexpr size_t kBytes = size_t{1} << 20;

 private:
  void* bytes_ = nullptr;
};

Bytes HeldAfterARun(int64_t rows) {
  const MappedFile file;
  graph::GraphBuilder builder;
  const int64_t depth = 1024;
  const int64_t columns = 2048;
  const auto x = builder.Input("x", compile::FloatTensor({rows, depth}));
  const auto weights = builder.Int64s("packed", {0});
  const auto scales = builder.Float32s("scales", {columns * depth / 32},
                                       std::vector<float>(columns * depth / 32, 0.5F));
  graph::Attributes attributes;
  for (const auto& [name, value] :
       {std::pair{"N", columns}, std::pair{"K", depth}, std::pair{"bits", int64_t{4}},
        std::pair{"block_size", int64_t{32}}}) {
    attributes.Set(name, value);
  }
  builder.Output(builder.Nodes("MatMulNBits", {x, weights, scales}, 1, attributes,
                               std::string(graph::kContributedDomain))[0]);
  graph::Graph graph = builder.Build();
  graph.nodes[0].version = 1;
  graph::ConstantTensor& packed = graph.constants[graph[weights].constant.index()];
  packed.type = graph::DataType::kUint8;
  packed.dims = {columns, depth / 32, 16};
  packed.bytes = file.bytes();
  graph[weights].type = graph::ValueType::Tensor(packed.type, graph::ShapeOf(packed.dims));
  graph[weights].content.reset();
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  const std::vector<kernels::HostTensor> inputs = {Random({rows, depth}, 3)};
  const auto first = MustRun(*session, id, inputs);
  const Bytes before = ResidentBytes();
  DropMappedPages(file.bytes());
  const Bytes held = before - ResidentBytes();
  const auto second = MustRun(*session, id, inputs);
  EXPECT_EQ(ElementsOf(first[0]), ElementsOf(second[0])) << "pages come back from the file";
  return held;
}

TEST(MappedWeightsTest, PagesOfWeightsThatAreWorkedOnLongAreGivenBackAndOthersStay) {
  if (!HostReachesDefaultDevice()) GTEST_SKIP() << "weights are copied to the device";
  EXPECT_GT(HeldAfterARun(1), Bytes(MappedFile::kBytes / 2)) << "a row reads weights in passing";
  EXPECT_LT(HeldAfterARun(128), Bytes(MappedFile::kBytes / 8));
}

// A table at an address that is not aligned, of which a run reads rows, and which nobody copies.
TEST(MappedWeightsTest, RowsOfATableAreReadWhereTheFileHasThem) {
  if (!HostReachesDefaultDevice()) GTEST_SKIP() << "weights are copied to the device";
  constexpr int64_t kRows = 512;
  constexpr int64_t kColumns = 256;
  graph::GraphBuilder builder;
  const auto rows =
      builder.Input("rows", graph::ValueType::Tensor(graph::DataType::kInt64, graph::ShapeOf({1})));
  const std::vector<float> elements = ElementsOf(Random({kRows, kColumns}, 7));
  const auto table = builder.Float32s("table", {kRows, kColumns}, elements);
  builder.Output(builder.Node("Gather", {table, rows}));
  graph::Graph graph = builder.Build();
  graph::ConstantTensor& constant = graph.constants[graph[table].constant.index()];
  const auto moved = std::make_shared<std::vector<std::byte>>(constant.bytes.size() + 1);
  std::ranges::copy(constant.bytes, moved->begin() + 1);
  constant.bytes = std::span(*moved).subspan(1);
  constant.storage = moved;
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  kernels::HostTensor row = *kernels::AllocateOnHeap(graph::DataType::kInt64, {1});
  kernels::StoreInteger(row.type, row.data.get(), 0, kRows - 1);
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {row})[0]),
            std::vector<float>(elements.end() - kColumns, elements.end()));
  std::ranges::fill(*moved, std::byte{0});
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {row})[0]), std::vector<float>(kColumns, 0.0F))
      << "it was a copy";
}

}  // namespace mapped_weights_test
}  // namespace plimsoll::engine
