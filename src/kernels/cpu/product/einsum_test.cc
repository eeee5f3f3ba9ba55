#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/one_node.h"
#include "kernels/cpu/prepared_node_for_tests.h"

namespace plimsoll::kernels::cpu {
namespace einsum_test {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

HostTensor Waves(Dims dims, float step) {
  std::vector<float> x;
  for (int64_t i = 0; i < ElementCount(dims); ++i)
    x.push_back(std::sin(static_cast<float>(i) * step));
  return Numbers<float>(std::move(dims), x);
}

HostTensor AsDouble(const HostTensor& x) {
  std::vector<double> wide;
  for (const float element : ElementsOf<float>(x)) wide.push_back(element);
  return Numbers<double>(x.dims, wide);
}

template <typename T>
std::vector<T> Made(const std::string& equation, const std::vector<HostTensor>& inputs) {
  const auto made = OneNode{.op = "Einsum", .attributes = {{"equation", equation}}}.Run(inputs);
  if (!made.ok()) {
    ADD_FAILURE() << equation << ": " << made.error().Text();
    return {};
  }
  return ElementsOf<T>((*made)[0]);
}

// float32 goes through products of matrices, double element by element: they must agree.
TEST(EinsumKernelTest, ProductsOfMatricesAgreeWithTheDefinition) {
  struct Case {
    std::string equation;
    std::vector<Dims> inputs;
  };
  for (const Case& c : std::vector<Case>{
           {"ij,jk->ik", {{20, 30}, {30, 17}}},
           {"ij,kj->ki", {{20, 30}, {17, 30}}},
           {"bij,bjk->bik", {{3, 20, 30}, {3, 30, 17}}},
           {"bhts,hg->bgts", {{2, 4, 9, 11}, {4, 5}}},
           {"gh,bhs->bgs", {{3, 7}, {2, 7, 1100}}},
           {"bhts,hg->bgts", {{1, 6, 16, 8}, {6, 16}}},
           {"bhqd,bkhd->bqhk", {{2, 3, 9, 8}, {2, 11, 3, 8}}},
           {"...ij,...jk->...ik", {{3, 20, 30}, {30, 17}}},
           {"abc,cd,de->abe", {{4, 5, 16}, {16, 18}, {18, 7}}},
           {"i,j->ij", {{70}, {80}}},
           {"aij,bij->ab", {{4, 20, 30}, {5, 20, 30}}},
           {"abcd,bd->ac", {{6, 8, 10, 12}, {8, 12}}},
           {"td,edh->teh", {{9, 10}, {4, 10, 33}}},
           {"td,edh->het", {{9, 10}, {4, 10, 33}}},
           {"td,tkdh->tkh", {{5, 30}, {5, 2, 30, 40}}},
           {"rtd,tkhd->trkh", {{2, 5, 30}, {5, 2, 40, 30}}},
           {"td,tkhd->tkh", {{5, 30}, {5, 2, 7, 30}}},
           {"dts,bds->bdt", {{6, 40, 40}, {1, 6, 40}}},
           {"dst,bds->bdt", {{6, 40, 40}, {1, 6, 40}}},
           {"bni,knio->bkno", {{1, 90, 8}, {5, 90, 8, 9}}},
           {"bldn,bln->bld", {{1, 20, 30, 16}, {1, 20, 16}}},
           {"bldn,bld->bldn", {{1, 20, 30, 16}, {1, 20, 30}}},
           {"bld,bln->bldn", {{1, 20, 30}, {1, 20, 16}}},
           {"bld,bln,bld->bldn", {{1, 20, 30}, {1, 20, 16}, {1, 20, 30}}},
           {"ij,ji->ij", {{70, 80}, {80, 70}}},
       }) {
    std::vector<HostTensor> narrow;
    std::vector<HostTensor> wide;
    for (const Dims& dims : c.inputs) {
      narrow.push_back(Waves(dims, 0.3f + static_cast<float>(narrow.size())));
      wide.push_back(AsDouble(narrow.back()));
    }
    const std::vector<double> expected = Made<double>(c.equation, wide);
    EXPECT_THAT(Made<float>(c.equation, narrow),
                Pointwise(FloatNear(2e-4f), std::vector<float>(expected.begin(), expected.end())))
        << c.equation;
  }
}

// One column packed as a panel takes sixteen times its bytes.
TEST(EinsumKernelTest, AColumnIsNotPackedWhereMemoryIsShort) {
  const OneNode node{.op = "Einsum",
                     .attributes = {{"equation", std::string("ac,eca,dcb,bdc->e")}}};
  const std::vector<HostTensor> inputs = {Waves({5, 16}, 0.7f), Waves({24, 16, 5}, 0.3f),
                                          Waves({24, 16, 3}, 0.2f), Waves({3, 24, 16}, 0.9f)};
  const auto fast = Prepare(node, inputs);
  const auto small = Prepare(node, inputs, {}, nullptr, KiB(8));
  ASSERT_TRUE(fast.ok() && small.ok());
  EXPECT_GT(fast->kernel->workspace(), KiB(64));
  EXPECT_LE(small->kernel->workspace(), KiB(8));
  EXPECT_THAT(*small->Run(), Pointwise(FloatNear(1e-3f), *fast->Run()));
}

TEST(EinsumKernelTest, DiagonalsTracesSumsAndBroadcasts) {
  const HostTensor square = Numbers<int32_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Made<int32_t>("ii->i", {square}), ElementsAre(1, 4));
  EXPECT_THAT(Made<int32_t>("ii", {square}), ElementsAre(5));
  EXPECT_THAT(Made<int32_t>("ij->j", {square}), ElementsAre(4, 6));
  EXPECT_THAT(Made<int32_t>("ij->ji", {square}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(Made<int32_t>("ij,ij->", {square, Numbers<int32_t>({1, 2}, {10, 20})}),
              ElementsAre(160));
  EXPECT_THAT(Made<int32_t>("ij,k->i", {square, Numbers<int32_t>({2}, {1, 2})}),
              ElementsAre(9, 21));
}

TEST(EinsumKernelTest, NothingSumsToZero) {
  EXPECT_THAT(Made<float>("ij,jk->ik", {Waves({1, 0}, 1), Waves({0, 2}, 1)}), ElementsAre(0, 0));
}

TEST(EinsumKernelTest, AnOutputThatNamesALetterTwiceIsAnError) {
  const auto made = OneNode{.op = "Einsum", .attributes = {{"equation", std::string("i->ii")}}}.Run(
      {Waves({2}, 1)});
  EXPECT_FALSE(made.ok());
}

}  // namespace einsum_test
}  // namespace plimsoll::kernels::cpu
