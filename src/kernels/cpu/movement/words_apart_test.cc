#include "kernels/cpu/movement/words_apart.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace words_apart_test {

// The source ends with the last word that is taken, so that the sanitizers see what is read.
TEST(WordsApartTest, EveryLengthAndStep) {
  for (const int64_t step : {1, 2, 3, 7}) {
    for (int64_t count = 1; count < 70; ++count) {
      std::vector<uint32_t> from(static_cast<size_t>((count - 1) * step + 1));
      std::iota(from.begin(), from.end(), 5u);
      std::vector<uint32_t> to(static_cast<size_t>(count + 1), 1u);
      TakeWordsApart(from.data(), step, count, to.data());
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(to[static_cast<size_t>(i)], static_cast<uint32_t>(5 + i * step))
            << "word " << i << " of " << count << ", step " << step;
      }
      ASSERT_EQ(to.back(), 1u);
    }
  }
}

}  // namespace words_apart_test
}  // namespace plimsoll::kernels::cpu
