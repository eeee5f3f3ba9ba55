#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace slice_test {

TEST(SliceTest, ArgumentsAreAttributesThenInputs) {
  CheckAll({
      {"Slice", 1, {"float32[5,n]"}, {{"starts", Ints{1}}, {"ends", Ints{-1}}}, {"float32[3,n]"}},
      {"Slice",
       9,
       {"float32[5,7]"},
       {{"starts", Ints{2}}, {"ends", Ints{100}}, {"axes", Ints{1}}},
       {"float32[5,5]"}},
      {"Slice", 9, {"float32[5]"}, {}, {"fails: lacks starts or ends"}},
      {"Slice",
       10,
       {"float32[5,7]", "int64[1]{2}", "int64[1]{9}", "int64[1]{-1}"},
       {},
       {"float32[5,5]"}},
      {"Slice",
       13,
       {"float32[9]", "int64[1]{0}", "int64[1]{9}", "", "int64[1]{4}"},
       {},
       {"float32[3]"}},
      {"Slice", 13, {"float32[...]", "int64[1]{0}", "int64[1]{9}"}, {}, {"float32[...]"}},
  });
}

TEST(SliceTest, BoundsAreClampedAsInNumpy) {
  struct Case {
    const char *start, *end, *step, *length;
  };
  for (const Case& c :
       {Case{"-3", "9", "1", "3"}, Case{"7", "9", "1", "0"}, Case{"3", "1", "1", "0"},
        Case{"-1", "-9223372036854775807", "-1", "5"}, Case{"4", "1", "-2", "2"},
        Case{"9", "-9", "-2", "3"}, Case{"0", "5", "9223372036854775807", "1"},
        Case{"4", "-9", "-9223372036854775807", "1"}}) {
    const auto list = [](const char* element) { return "int64[1]{" + std::string(element) + "}"; };
    Check({"Slice",
           13,
           {"float32[5]", list(c.start), list(c.end), "int64[1]{0}", list(c.step)},
           {},
           {"float32[" + std::string(c.length) + "]"}});
  }
}

TEST(SliceTest, SymbolicAxesAreCut) {
  const auto slice = [](const std::string& start, const std::string& end,
                        const std::string& result) {
    Check({"Slice",
           13,
           {"float32[s + 4]", "int64[1]{" + start + "}", "int64[1]{" + end + "}"},
           {},
           {"float32[" + result + "]"}});
  };
  slice("0", "9223372036854775807", "s + 4");
  slice("1", "2147483647", "s + 3");
  slice("-1", "9223372036854775807", "1");
  slice("0", "-1", "s + 3");
  slice("0", "s", "s");
  slice("s", "s + 4", "4");
  slice("0", "8", "min(4, s) + 4");
  CheckAll({
      {"Slice",
       13,
       {"float32[s]", "int64[1]{-1}", "int64[1]{-9223372036854775807}", "int64[1]{0}",
        "int64[1]{-1}"},
       {},
       {"float32[s]"}},
      {"Slice", 13, {"float32[512]", "int64[1]{p}", "int64[1]{p + s}"}, {}, {"float32[s]"}},
      {"Slice", 13, {"float32[s]", "int64[1]{a - b}", "int64[1]{s}"}, {}, {"float32[?]"}},
  });
}

TEST(SliceTest, WhatIsNotKnownLeavesTheOtherAxes) {
  CheckAll({
      {"Slice",
       13,
       {"float32[5,n]", "int64[1]", "int64[1]{3}", "int64[1]{0}"},
       {},
       {"float32[?,n]"}},
      {"Slice", 13, {"float32[5,n]", "int64[1]", "int64[1]"}, {}, {"float32[?,?]"}},
  });
}

TEST(SliceTest, KnownElementsArePicked) {
  CheckAll({
      {"Slice", 13, {"int64[4]{1,n,3,4}", "int64[1]{1}", "int64[1]{3}"}, {}, {"int64[2]{n,3}"}},
      {"Slice",
       13,
       {"int64[4]{1,n,3,4}", "int64[1]{-1}", "int64[1]{-9}", "int64[1]{0}", "int64[1]{-1}"},
       {},
       {"int64[4]{4,3,n,1}"}},
      {"Slice",
       13,
       {"int64[2,3]{1,2,3,4,5,6}", "int64[2]{1,0}", "int64[2]{2,3}", "", "int64[2]{1,2}"},
       {},
       {"int64[1,2]{4,6}"}},
      {"Slice", 13, {"int64[2]{1,2}", "int64[1]{2}", "int64[1]{2}"}, {}, {"int64[0]{}"}},
  });
}

TEST(SliceTest, ArgumentsThatCannotBeAreRefused) {
  CheckAll({
      {"Slice",
       13,
       {"float32[5]", "int64[1]{0}", "int64[1]{3}", "int64[1]{1}"},
       {},
       {"fails: axis 1 is outside"}},
      {"Slice",
       13,
       {"float32[5]", "int64[1]{0}", "int64[1]{3}", "int64[1]{0}", "int64[1]{0}"},
       {},
       {"fails: step on axis 0 is 0"}},
      {"Slice",
       13,
       {"float32[5]", "int64[1]{0}", "int64[2]{3,3}"},
       {},
       {"fails: must each have the 1 elements"}},
      {"Slice",
       13,
       {"float32[5,5]", "int64[2]{0,0}", "int64[2]{3,3}", "int64[2]{0,-2}"},
       {},
       {"fails: is named twice"}},
  });
}

}  // namespace slice_test
}  // namespace plimsoll::graph::operators
