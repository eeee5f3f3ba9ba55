#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace signal_test {

TEST(SignalTest, TransformsOneAxis) {
  const int64_t yes = 1;
  CheckAll({
      {"DFT", 17, {"float32[b,10,n,1]"}, {}, {"float32[b,10,n,2]"}},
      {"DFT",
       17,
       {"float32[b,10,n,1]"},
       {{"axis", int64_t{2}}, {"onesided", yes}},
       {"float32[b,10,n//2 + 1,2]"}},
      {"DFT",
       20,
       {"float32[b,10,n,1]", "int64[]{16}", "int64[]{1}"},
       {{"onesided", yes}},
       {"float32[b,9,n,2]"}},
      {"DFT", 20, {"float32[b,9,2]"}, {{"onesided", yes}, {"inverse", yes}}, {"float32[b,16,1]"}},
      {"DFT", 20, {"float32[b,9,2]", "", "int64[]"}, {}, {"float32[?,?,2]"}},
      {"DFT", 20, {"float32[b,9,2]", "", "int64[]{-1}"}, {}, {"fails: no signal axis"}},
      {"DFT", 20, {"float32[b,9,2]", "int64[]{0}"}, {}, {"fails: dft_length is 0"}},
      {"STFT", 17, {"float32[b,128,1]", "int64[]{8}", "float32[16]"}, {}, {"float32[b,15,9,2]"}},
      {"STFT",
       17,
       {"float32[b,128,1]", "int64[]{8}", "", "int64[]{16}"},
       {{"onesided", int64_t{0}}},
       {"float32[b,15,16,2]"}},
      {"STFT", 17, {"float32[b,128,1]", "int64[]", "float32[16]"}, {}, {"float32[b,?,9,2]"}},
      {"STFT", 17, {"float32[b,128,1]", "int64[]{0}", "float32[16]"}, {}, {"fails: at least 1"}},
      {"STFT",
       17,
       {"float32[b,128,1]", "int64[]{8}", "float32[16]", "int64[]{12}"},
       {},
       {"fails: 12 and 16"}},
  });
}

}  // namespace signal_test
}  // namespace plimsoll::graph::operators
