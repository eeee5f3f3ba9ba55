#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace contributed_test {

using Named = std::vector<std::pair<std::string, Attribute>>;

Named Blocks(int64_t n, int64_t k, int64_t bits, int64_t block) {
  return {{"N", n}, {"K", k}, {"bits", bits}, {"block_size", block}};
}

TEST(ContributedOperatorsTest, WeightsOfFewBitsTellTheColumns) {
  CheckAll({
      {"com.microsoft:MatMulNBits",
       1,
       {"float32[b,s,64]", "uint8[24,2,16]", "float32[48]"},
       Blocks(24, 64, 4, 32),
       {"float32[b,s,24]"}},
      {"com.microsoft:MatMulNBits",
       1,
       {"float32[...]", "uint8[24,2,32]", "float32[48]"},
       Blocks(24, 64, 8, 32),
       {"float32[...]"}},
      {"com.microsoft:MatMulNBits",
       1,
       {"float32[1,65]", "uint8[24,2,16]", "float32[48]"},
       Blocks(24, 64, 4, 32),
       {"fails: K and the last axis of A"}},
      {"com.microsoft:MatMulNBits",
       1,
       {"float32[1,64]", "uint8[24,2,15]", "float32[48]"},
       Blocks(24, 64, 4, 32),
       {"fails: does not hold 24 columns"}},
      {"com.microsoft:MatMulNBits",
       1,
       {"float32[1,64]", "uint8[24,2,16]", "float32[48]"},
       Blocks(24, 64, 3, 32),
       {"fails: bits is 3"}},
      {"com.microsoft:MatMulNBits",
       1,
       {"float32[1,64]", "uint8[24,2,16]", "float32[48]"},
       Blocks(24, 64, 4, 24),
       {"fails: block_size is 24"}},
      {"com.microsoft:MatMulNBits",
       1,
       {"float32[1,64]", "uint8[24,2,16]", "float32[48]"},
       Blocks(0, -3, 4, 32),
       {"fails: N is 0 and K is -3"}},
  });
}

TEST(ContributedOperatorsTest, ACacheIsAsLongAsThePastOrAsTheTotal) {
  const Named heads{{"num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  Named shared = heads;
  shared.emplace_back("past_present_share_buffer", int64_t{1});
  CheckAll({
      {"com.microsoft:GroupQueryAttention",
       1,
       {"float32[b,s,64]", "float32[b,s,32]", "float32[b,s,32]", "float32[b,2,5,16]",
        "float32[b,2,5,16]", "int32[b]", "int32[]{9}"},
       heads,
       {"float32[b,s,64]", "float32[b,2,9,16]", "float32[b,2,9,16]"}},
      {"com.microsoft:GroupQueryAttention",
       1,
       {"float32[b,s,128]", "", "", "float32[b,2,p,16]", "float32[b,2,p,16]", "int32[b]",
        "int32[]"},
       shared,
       {"float32[b,s,64]", "float32[b,2,p,16]", "float32[b,2,p,16]"}},
      {"com.microsoft:GroupQueryAttention",
       1,
       {"float32[b,s,65]", "", "", "", "", "int32[b]", "int32[]"},
       heads,
       {"fails: does not split into 8 heads"}},
      {"com.microsoft:GroupQueryAttention",
       1,
       {"float32[b,s,64]", "float32[b,s,32]", "float32[b,s,32]"},
       heads,
       {"fails: input 5 is left out"}},
      {"com.microsoft:GroupQueryAttention",
       1,
       {"float32[b,s,64]", "", "", "", "", "int32[b]", "int32[]"},
       {{"num_heads", int64_t{4}}, {"kv_num_heads", int64_t{3}}},
       {"fails: 4 query heads cannot share 3"}},
  });
}

TEST(ContributedOperatorsTest, QuantisedOperandsBroadcastAndJoin) {
  CheckAll({
      {"com.microsoft:QLinearAdd",
       1,
       {"uint8[b,3,1]", "float32[]", "", "uint8[4]", "float32[]", "uint8[]", "float32[]"},
       {},
       {"uint8[b,3,4]"}},
      {"com.microsoft:QLinearMul",
       1,
       {"uint8[3]", "float32[]", "uint8[]", "uint8[4]", "float32[]", "uint8[]", "float32[]"},
       {},
       {"fails: do not broadcast"}},
      {"com.microsoft:QLinearConcat",
       1,
       {"float32[]", "int8[]", "int8[b,3]", "float32[]", "int8[]", "int8[b,n]", "float32[]",
        "int8[]"},
       {{"axis", int64_t{-1}}},
       {"int8[b,n + 3]"}},
      {"com.microsoft:QLinearConcat",
       1,
       {"float32[]", "int8[]", "int8[b,3]", "float32[]", "int8[]", "int8[b,n]"},
       {{"axis", int64_t{1}}},
       {"fails: no triples"}},
      {"com.microsoft:QGemm",
       1,
       {"uint8[m,8]", "float32[]", "uint8[]", "int8[4,8]", "float32[4]", "int8[4]", "", "float32[]",
        "uint8[]"},
       {{"transB", int64_t{1}}},
       {"uint8[m,4]"}},
      {"com.microsoft:QGemm",
       1,
       {"uint8[m,8]", "float32[]", "uint8[]", "int8[7,4]", "float32[4]", "int8[4]"},
       {},
       {"fails: inner dimensions"}},
      {"com.microsoft:GatherBlockQuantized",
       1,
       {"uint8[v,16]", "int64[b,s]", "float32[v,1]"},
       {{"block_size", int64_t{32}}},
       {"float32[b,s,32]"}},
      {"com.microsoft:GatherBlockQuantized",
       1,
       {"int4[8,v]", "int64[s]", "float32[1,v]"},
       {{"gather_axis", int64_t{-1}}, {"quantize_axis", int64_t{0}}},
       {"float32[8,s]"}},
      {"com.microsoft:GatherBlockQuantized",
       1,
       {"int4[8,v]", "int64[s]", "float32[1,v]"},
       {{"gather_axis", int64_t{2}}},
       {"fails: outside of the table"}},
      {"com.microsoft:QLinearGlobalAveragePool",
       1,
       {"uint8[n,h,w,c]", "float32[]", "uint8[]", "float32[]", "uint8[]"},
       {{"channels_last", int64_t{1}}},
       {"uint8[n,1,1,c]"}},
      {"com.microsoft:NhwcMaxPool",
       1,
       {"int8[n,8,8,c]"},
       {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
       {"int8[n,4,4,c]"}},
  });
}

TEST(ContributedOperatorsTest, MasksAndCropsTakeSizesFromOthers) {
  CheckAll({
      {"plimsoll:AttentionMask",
       1,
       {"int32[b]", "float32[b,q,8]", "float32[b,k,8]", "float32[b,2,p,4]"},
       {},
       {"float32[b,1,1,k + p]"}},
      {"plimsoll:AttentionMask",
       1,
       {"int32[b,q,k]", "float32[b,q,8]", "float32[b,2,k,4]"},
       {},
       {"float32[b,1,q,k]"}},
      {"plimsoll:AttentionMask",
       1,
       {"int32[b,1,m,m]", "float32[b,q,8]", "float32[b,k,8]"},
       {},
       {"fails: is not known"}},
      {"com.microsoft:CropAndResize",
       1,
       {"float32[n,c,h,w]", "float32[r,4]", "int32[r]", "int32[2]{3,5}"},
       {},
       {"float32[r,c,3,5]"}},
      {"com.microsoft:FusedMatMul",
       1,
       {"float32[3,b,4]", "float32[b,4,5]"},
       {{"transBatchA", int64_t{1}}},
       {"float32[b,3,5]"}},
      {"com.microsoft:Inverse", 1, {"float32[b,3,4]"}, {}, {"fails: the sides"}},
  });
}

}  // namespace contributed_test
}  // namespace plimsoll::graph::operators
