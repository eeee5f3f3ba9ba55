#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>

#include "kernels/cpu/one_node.h"
#include "kernels/kernel_table.h"

// Edges that the standard's cases leave out: nothing at all, indices outside, memory shared with
// the input, numbers that are none.
namespace plimsoll::kernels::cpu {
namespace element_moves_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string ErrorOf(const Result<std::vector<HostTensor>>& made) {
  return made.ok() ? "" : made.error().Text();
}

TEST(ConcatTest, EmptyPartsAreNoPartOfTheWhole) {
  const auto made = OneNode{"Concat", {{"axis", int64_t{-1}}}}.Run(
      {Numbers<float>({2, 1}, {1, 3}), Numbers<float>({2, 0}, {}), Numbers<float>({2, 1}, {2, 4})});
  ASSERT_TRUE(made.ok()) << ErrorOf(made);
  EXPECT_THAT(ElementsOf<float>((*made)[0]), ElementsAre(1, 2, 3, 4));
}

// Prepares a node and runs it, its outputs being where `written` says (null: left out).
Status RunInto(const OneNode& node, const HostTensor& input, std::vector<TensorInfo> outputs,
               const std::vector<void*>& written) {
  graph::Graph graph = node.Build({input});
  KernelSite site{.graph = graph, .id = graph::NodeId(0), .inputs = {}, .outputs = {}};
  site.inputs.push_back({.type = input.type, .dims = input.dims, .data = input.data.get()});
  site.outputs = std::move(outputs);
  PLIMSOLL_ASSIGN(const KernelPointer kernel, PrepareKernel(site));
  const void* const read[] = {input.data.get()};
  return kernel->Run({.inputs = read, .outputs = written, .workspace = nullptr});
}

TEST(SplitTest, AnOutputLeftOutStillTakesItsShare) {
  const TensorInfo pair{.type = graph::DataType::kFloat32, .dims = {2}};
  float first[2] = {};
  float last[2] = {};
  ASSERT_TRUE(RunInto({"Split", {{"num_outputs", int64_t{3}}}, 3},
                      Numbers<float>({6}, {1, 2, 3, 4, 5, 6}), {pair, TensorInfo(), pair},
                      {first, nullptr, last})
                  .ok());
  EXPECT_THAT(first, ElementsAre(1, 2));
  EXPECT_THAT(last, ElementsAre(5, 6));
}

TEST(SliceTest, BoundsFarOutsideAreCutToTheAxis) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto made = OneNode{.op = "Slice",
                            .attributes = {{"starts", std::vector<int64_t>{-kMost, 1}},
                                           {"ends", std::vector<int64_t>{kMost, kMost}}},
                            .version = 9}
                        .Run({Numbers<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(made.ok()) << ErrorOf(made);
  EXPECT_THAT(ElementsOf<int32_t>((*made)[0]), ElementsAre(2, 3, 5, 6));
}

TEST(PadTest, NegativePadsCutAndPositiveOnesFillInEveryMode) {
  struct Case {
    std::string mode;
    std::vector<float> elements;
  };
  for (const Case& c : {Case{"constant", {2, 3, 9, 9}}, Case{"edge", {2, 3, 3, 3}},
                        Case{"reflect", {2, 3, 2, 1}}}) {
    const auto made =
        OneNode{
            .op = "Pad",
            .attributes = {{"mode", c.mode}, {"pads", std::vector<int64_t>{-1, 2}}, {"value", 9.0}},
            .version = 2}
            .Run({Numbers<float>({3}, {1, 2, 3})});
    ASSERT_TRUE(made.ok()) << ErrorOf(made);
    EXPECT_EQ(ElementsOf<float>((*made)[0]), c.elements) << c.mode;
  }
  EXPECT_THAT(ErrorOf(OneNode{.op = "Pad",
                              .attributes = {{"mode", std::string("edge")},
                                             {"pads", std::vector<int64_t>{1, 0}}},
                              .version = 2}
                          .Run({Numbers<float>({0}, {})})),
              HasSubstr("nothing to pad it with"));
}

TEST(GatherTest, IndicesOutsideAreToldNotRead) {
  const HostTensor data = Numbers<float>({2, 2}, {1, 2, 3, 4});
  for (const int64_t index : {int64_t{2}, int64_t{-3}, std::numeric_limits<int64_t>::min()}) {
    const std::string expected = "index " + std::to_string(index) + " is outside an axis of 2";
    EXPECT_THAT(ErrorOf(OneNode{"Gather", {}}.Run({data, Numbers<int64_t>({1}, {index})})),
                HasSubstr(expected));
    EXPECT_THAT(
        ErrorOf(OneNode{"GatherElements", {}}.Run({data, Numbers<int64_t>({1, 1}, {index})})),
        HasSubstr(expected));
    EXPECT_THAT(ErrorOf(OneNode{"GatherND", {}}.Run({data, Numbers<int64_t>({1, 1}, {index})})),
                HasSubstr(expected));
    EXPECT_THAT(ErrorOf(OneNode{"ScatterND", {}}.Run(
                    {data, Numbers<int64_t>({1, 1}, {index}), Numbers<float>({1, 2}, {0, 0})})),
                HasSubstr(expected));
    EXPECT_THAT(ErrorOf(OneNode{"ScatterElements", {}}.Run(
                    {data, Numbers<int64_t>({1, 1}, {index}), Numbers<float>({1, 1}, {0})})),
                HasSubstr(expected));
  }
  EXPECT_THAT(
      ElementsOf<float>((*OneNode{"Gather", {}}.Run({data, Numbers<int32_t>({1}, {-1})}))[0]),
      ElementsAre(3, 4));
}

TEST(GatherTest, SingleElementsOfEveryRowAreFetchedByEitherIndexType) {
  const HostTensor data = Numbers<float>({2, 3}, {0, 1, 2, 10, 11, 12});
  const OneNode node{"Gather", {{"axis", int64_t{1}}}};
  for (const HostTensor& index :
       {Numbers<int32_t>({2, 2}, {2, -3, 1, 1}), Numbers<int64_t>({2, 2}, {2, -3, 1, 1})}) {
    EXPECT_THAT(ElementsOf<float>((*node.Run({data, index}))[0]),
                ElementsAre(2, 0, 1, 1, 12, 10, 11, 11));
  }
}

TEST(GatherTest, RowsAreReadWhereTheyLieAndShortOnesNeedAligning) {
  constexpr int64_t kColumns = 16;
  std::vector<float> elements(3 * kColumns);
  std::iota(elements.begin(), elements.end(), 0.0f);
  const HostTensor data = Numbers<float>({3, kColumns}, elements);
  const HostTensor rows = Numbers<int64_t>({2}, {2, -3});
  std::vector<std::byte> moved(data.size().value() + 1);
  std::memcpy(moved.data() + 1, data.data.get(), moved.size() - 1);
  const graph::Graph graph = OneNode{"Gather", {}}.Build({data, rows});
  KernelSite site{.graph = graph, .id = graph::NodeId(0), .inputs = {}, .outputs = {}};
  site.inputs = {{.type = data.type, .dims = data.dims}, {.type = rows.type, .dims = rows.dims}};
  site.outputs = {{.type = data.type, .dims = {2, kColumns}}};
  const auto kernel = PrepareKernel(site);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*kernel)->rows_read(0), 2);
  EXPECT_EQ((*kernel)->rows_read(1), 0);
  std::vector<float> made(2 * kColumns);
  const void* const inputs[] = {moved.data() + 1, rows.data.get()};
  void* const outputs[] = {made.data()};
  ASSERT_TRUE((*kernel)->Run({.inputs = inputs, .outputs = outputs}).ok());
  EXPECT_EQ(made[0], 2.0f * kColumns);
  EXPECT_EQ(made[2 * kColumns - 1], kColumns - 1.0f);

  site.inputs[0].dims = {3 * kColumns, 1};
  site.outputs[0].dims = {2, 1};
  const auto short_rows = PrepareKernel(site);
  ASSERT_TRUE(short_rows.ok());
  EXPECT_EQ((*short_rows)->rows_read(0), 0);
}

TEST(GatherTest, NoIndicesGatherNothingFromNothing) {
  const auto made =
      OneNode{"Gather", {}}.Run({Numbers<float>({0, 3}, {}), Numbers<int64_t>({0}, {})});
  ASSERT_TRUE(made.ok()) << ErrorOf(made);
  EXPECT_THAT((*made)[0].dims, ElementsAre(0, 3));
}

// Rows of one index, as Expand makes them, beside rows of several, and both signs.
TEST(GatherTest, RowsThatShareAnIndexMoveAsOne) {
  const HostTensor data = Numbers<float>({3, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
  const HostTensor rows = Numbers<int64_t>({3, 3}, {2, 2, 2, 1, 0, 1, -3, -3, -3});
  EXPECT_THAT(ElementsOf<float>((*OneNode{"GatherElements", {}}.Run({data, rows}))[0]),
              ElementsAre(20, 21, 22, 10, 1, 12, 0, 1, 2));
  const auto added = OneNode{"ScatterElements", {{"reduction", std::string("add")}}, 1, "", 18}.Run(
      {data, rows, Numbers<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})});
  EXPECT_THAT(ElementsOf<float>((*added)[0]),
              ElementsAre(7, 14, 11, 3, 14, 11, 18, 13, 21, 23, 25, 23));
  const HostTensor columns = Numbers<int32_t>({3, 2}, {3, 3, 1, -1, 0, 2});
  EXPECT_THAT(ElementsOf<float>(
                  (*OneNode{"GatherElements", {{"axis", int64_t{1}}}}.Run({data, columns}))[0]),
              ElementsAre(3, 3, 11, 13, 20, 22));
}

// Prepares the node for its inputs and runs it with the output in the memory of input 0.
Status RunInPlace(const OneNode& node, const std::vector<HostTensor>& inputs) {
  graph::Graph graph = node.Build(inputs);
  KernelSite site{.graph = graph, .id = graph::NodeId(0), .inputs = {}, .outputs = {}};
  std::vector<const void*> read;
  for (const HostTensor& input : inputs) {
    site.inputs.push_back({.type = input.type, .dims = input.dims, .data = input.data.get()});
    read.push_back(input.data.get());
  }
  site.outputs.push_back({.type = inputs[0].type, .dims = inputs[0].dims});
  PLIMSOLL_ASSIGN(const KernelPointer kernel, PrepareKernel(site));
  void* const written[] = {inputs[0].data.get()};
  return kernel->Run({.inputs = read, .outputs = written, .workspace = nullptr});
}

TEST(InPlaceTest, WhatTheCatalogueAllowsHolds) {
  const HostTensor sums = Numbers<float>({4}, {1, 2, 3, 4});
  const HostTensor axis = Numbers<int64_t>({}, {0});
  ASSERT_TRUE(RunInPlace({"CumSum", {{"exclusive", int64_t{1}}}}, {sums, axis}).ok());
  EXPECT_THAT(ElementsOf<float>(sums), ElementsAre(0, 1, 3, 6));
  const HostTensor back = Numbers<float>({4}, {1, 2, 3, 4});
  ASSERT_TRUE(RunInPlace({"CumSum", {{"reverse", int64_t{1}}}}, {back, axis}).ok());
  EXPECT_THAT(ElementsOf<float>(back), ElementsAre(10, 9, 7, 4));
  const HostTensor matrix = Numbers<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(RunInPlace({"Trilu", {{"upper", int64_t{0}}}}, {matrix}).ok());
  EXPECT_THAT(ElementsOf<float>(matrix), ElementsAre(1, 0, 3, 4));
  const HostTensor table = Numbers<float>({3}, {1, 2, 3});
  ASSERT_TRUE(RunInPlace({"ScatterElements", {{"reduction", std::string("max")}}, 1, "", 18},
                         {table, Numbers<int64_t>({2}, {0, 2}), Numbers<float>({2}, {5, kNan})})
                  .ok());
  EXPECT_THAT(ElementsOf<float>(table), ElementsAre(5, 2, testing::IsNan()));
}

// Six floats that nobody may write to.
class ReadOnlyFloats {
 public:
  ReadOnlyFloats()
      : page_(static_cast<float*>(
            mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::iota(page_, page_ + 6, 0.0F);
    mprotect(page_, kSize, PROT_READ);
  }
  ReadOnlyFloats(const ReadOnlyFloats&) = delete;
  ReadOnlyFloats& operator=(const ReadOnlyFloats&) = delete;
  ~ReadOnlyFloats() { munmap(page_, kSize); }

  const float* data() const { return page_; }

 private:
  static constexpr size_t kSize = 4096;
  float* page_;
};

TEST(InPlaceTest, APartThatIsReadWhereItLiesIsNotWrittenTo) {
  const ReadOnlyFloats floats;
  const auto run = [&](const OneNode& node, const std::vector<HostTensor>& inputs, Dims dims,
                       int64_t first) {
    const graph::Graph graph = node.Build(inputs);
    KernelSite site{.graph = graph, .id = graph::NodeId(0), .inputs = {}, .outputs = {}};
    std::vector<const void*> read;
    for (const HostTensor& input : inputs) {
      read.push_back(read.empty() ? floats.data() : input.data.get());
      site.inputs.push_back({.type = input.type, .dims = input.dims, .data = read.back()});
    }
    site.outputs = {{.type = graph::DataType::kFloat32, .dims = std::move(dims)}};
    void* const written[] = {const_cast<float*>(floats.data()) + first};
    const Result<KernelPointer> kernel = PrepareKernel(site);
    return kernel.ok() ? (*kernel)->Run({.inputs = read, .outputs = written, .workspace = nullptr})
                       : Status(kernel.error());
  };
  const HostTensor row = Numbers<float>({6}, std::vector<float>(6));
  const HostTensor rows = Numbers<float>({2, 3}, std::vector<float>(6));
  EXPECT_TRUE(run({"Gather", {}}, {row, Numbers<int64_t>({1}, {4})}, {1}, 4).ok());
  EXPECT_TRUE(run({"Gather", {}}, {row, Numbers<int32_t>({2}, {-3, 4})}, {2}, 3).ok());
  EXPECT_TRUE(run({"Gather", {}}, {rows, Numbers<int64_t>({1}, {1})}, {1, 3}, 3).ok());
  const auto slice = [](int64_t start, int64_t end) {
    return OneNode{.op = "Slice",
                   .attributes = {{"starts", std::vector<int64_t>{start}},
                                  {"ends", std::vector<int64_t>{end}}},
                   .version = 9};
  };
  EXPECT_TRUE(run(slice(4, 5), {row}, {1}, 4).ok());
  EXPECT_TRUE(run(slice(2, 5), {row}, {3}, 2).ok());
  EXPECT_TRUE(run(slice(1, 2), {rows}, {1, 3}, 3).ok());
}

TEST(TopKTest, NotANumberIsTheLargestAndEqualsKeepTheirOrder) {
  const HostTensor data = Numbers<float>({5}, {2, kNan, 1, 2, kNan});
  const auto largest =
      OneNode{.op = "TopK", .attributes = {{"k", int64_t{3}}}, .outputs = 2, .version = 9}.Run(
          {data});
  ASSERT_TRUE(largest.ok()) << ErrorOf(largest);
  EXPECT_THAT(ElementsOf<int64_t>((*largest)[1]), ElementsAre(1, 4, 0));
  const auto none =
      OneNode{.op = "TopK", .attributes = {{"k", int64_t{0}}}, .outputs = 2, .version = 9}.Run(
          {data});
  ASSERT_TRUE(none.ok()) << ErrorOf(none);
  EXPECT_THAT(ElementsOf<float>((*none)[0]), IsEmpty());
}

TEST(ArgMaxTest, TheFirstNotANumberWinsAndAnEmptyAxisHasNoWinner) {
  const HostTensor data = Numbers<float>({4}, {3, kNan, 5, kNan});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    const auto made = OneNode{op, {{"axis", int64_t{0}}}}.Run({data});
    ASSERT_TRUE(made.ok()) << ErrorOf(made);
    EXPECT_THAT(ElementsOf<int64_t>((*made)[0]), ElementsAre(1));
    EXPECT_THAT(ErrorOf(OneNode{op, {{"axis", int64_t{0}}}}.Run({Numbers<float>({0, 2}, {})})),
                HasSubstr("the axis is empty"));
  }
}

TEST(UniqueTest, StringsAndNotANumbersAreOneEach) {
  const auto numbers = OneNode{"Unique", {}, 4}.Run({Numbers<float>({4}, {kNan, 2, kNan, 1})});
  ASSERT_TRUE(numbers.ok()) << ErrorOf(numbers);
  EXPECT_THAT(ElementsOf<float>((*numbers)[0]), ElementsAre(1, 2, testing::IsNan()));
  EXPECT_THAT(ElementsOf<int64_t>((*numbers)[3]), ElementsAre(1, 1, 2));
  const auto words =
      OneNode{"Unique", {{"sorted", int64_t{0}}}, 4}.Run({Strings({3}, {"b", "a", "b"})});
  ASSERT_TRUE(words.ok()) << ErrorOf(words);
  EXPECT_THAT(ElementsOf<std::string>((*words)[0]), ElementsAre("b", "a"));
  EXPECT_THAT(ElementsOf<int64_t>((*words)[2]), ElementsAre(0, 1, 0));
}

// Single elements go through a table, slices of two by a sort.
template <typename T>
void ExpectGroupsOfSlices(int64_t count, uint32_t different) {
  std::mt19937 random(static_cast<uint32_t>(count));
  std::vector<T> x(static_cast<size_t>(count));
  for (T& element : x) element = static_cast<T>(static_cast<int>(random() % different) - 5);
  if constexpr (std::is_floating_point_v<T>) {
    x[0] = -0.0F;
    x.back() = kNan;
  }
  std::vector<T> twice = x;
  twice.insert(twice.end(), x.begin(), x.end());
  for (const int64_t sorted : {0, 1}) {
    const auto elements = OneNode{"Unique", {{"sorted", sorted}}, 4}.Run({Numbers({count}, x)});
    const auto slices = OneNode{"Unique", {{"sorted", sorted}, {"axis", int64_t{1}}}, 4}.Run(
        {Numbers({2, count}, twice)});
    ASSERT_TRUE(elements.ok() && slices.ok());
    for (const size_t output : {1, 2, 3}) {
      EXPECT_EQ(ElementsOf<int64_t>((*elements)[output]), ElementsOf<int64_t>((*slices)[output]))
          << "output " << output << " of " << count << ", sorted: " << sorted;
    }
  }
}

TEST(UniqueTest, ElementsAreGroupedAsSlicesAre) {
  for (const int64_t count : {1, 2, 3, 4, 63, 64, 255, 1000}) {
    for (const uint32_t different : {1, 7, 100000}) {
      ExpectGroupsOfSlices<float>(count, different);
      ExpectGroupsOfSlices<int64_t>(count, different);
      ExpectGroupsOfSlices<int8_t>(count, different);
    }
  }
}

TEST(NonZeroTest, SizesFollowTheDataDownToNothing) {
  const auto made = OneNode{"NonZero", {}}.Run({Numbers<float>({2, 2}, {0, kNan, -0.0f, 2})});
  ASSERT_TRUE(made.ok()) << ErrorOf(made);
  EXPECT_THAT((*made)[0].dims, ElementsAre(2, 2));
  EXPECT_THAT(ElementsOf<int64_t>((*made)[0]), ElementsAre(0, 1, 1, 1));
  const auto none = OneNode{"NonZero", {}}.Run({Numbers<bool>({0}, {})});
  ASSERT_TRUE(none.ok()) << ErrorOf(none);
  EXPECT_THAT((*none)[0].dims, ElementsAre(1, 0));
}

TEST(ReverseSequenceTest, ALengthBeyondTheTimesIsAnError) {
  EXPECT_THAT(ErrorOf(OneNode{"ReverseSequence", {}}.Run(
                  {Numbers<float>({2, 1}, {1, 2}), Numbers<int64_t>({1}, {3})})),
              HasSubstr("index 3 is outside an axis of 2"));
}

TEST(UpsampleTest, IntegersAreRoundedNotCut) {
  const auto made =
      OneNode{.op = "Upsample",
              .attributes = {{"mode", std::string("linear")}, {"scales", std::vector<double>{4}}},
              .version = 7}
          .Run({Numbers<uint8_t>({2}, {0, 255})});
  ASSERT_TRUE(made.ok()) << ErrorOf(made);
  EXPECT_THAT(ElementsOf<uint8_t>((*made)[0]), ElementsAre(0, 64, 128, 191, 255, 255, 255, 255));
}

}  // namespace element_moves_test
}  // namespace plimsoll::kernels::cpu
