#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace recurrent_test {

TEST(RecurrentTest, GivesEveryStepAndTheLast) {
  CheckAll({
      {"RNN",
       7,
       {"float32[s,b,3]", "float32[1,4,3]", "float32[1,4,4]"},
       {{"hidden_size", int64_t{4}}},
       {"float32[s,1,b,4]", "float32[1,b,4]"}},
      {"GRU",
       14,
       {"float32[b,s,3]", "float32[2,12,3]", "float32[2,12,4]"},
       {{"direction", "bidirectional"}, {"layout", int64_t{1}}},
       {"float32[b,s,2,4]", "float32[b,2,4]"}},
      {"LSTM",
       22,
       {"float32[s,b,3]", "float32[1,16,3]", "float32[...]"},
       {{"hidden_size", int64_t{4}}},
       {"float32[s,1,b,4]", "float32[1,b,4]", "float32[1,b,4]"}},
      {"LSTM",
       22,
       {"float32[s,b,3]", "float32[1,12,3]", "float32[1,16,4]"},
       {},
       {"fails: 12 and 16"}},
      {"RNN",
       7,
       {"float32[s,b,3]", "float32[1,4,3]", "float32[1,4,4]"},
       {{"direction", "sideways"}},
       {"fails: 'sideways'"}},
      {"RNN",
       7,
       {"float32[s,b,3]", "float32[1,4,3]", "float32[1,4,4]"},
       {{"direction", "bidirectional"}},
       {"fails: directions"}},
  });
}

}  // namespace recurrent_test
}  // namespace plimsoll::graph::operators
