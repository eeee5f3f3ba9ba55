#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::kernels::cpu {

enum class Branch : uint8_t {
  kLessEqual,
  kLess,
  kGreaterEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember
};

// What a leaf adds to the score of one target.
struct Vote {
  int64_t target = 0;
  double weight = 0;
};

enum class Aggregate { kAverage, kSum, kMin, kMax };

// Decision trees over rows of doubles. Filled in by whoever reads the attributes, then checked: a
// checked ensemble reads nothing out of bounds and comes to a leaf in every tree, whatever the row.
// TreeWalk takes rows through it.
struct TreeEnsemble {
  struct Child {
    bool is_leaf = false;
    int64_t at = 0;  // in `nodes` or in `leaves`
  };
  struct Node {
    Branch branch = Branch::kLessEqual;
    bool missing_is_true = false;  // where a NaN goes
    int64_t feature = 0;
    double split = 0;
    int64_t members_begin = 0;  // of kMember: a part of `members`
    int64_t members_end = 0;
    Child when_true;
    Child when_false;
  };
  struct Leaf {  // a part of `votes`
    int64_t begin = 0;
    int64_t end = 0;
  };

  std::vector<Node> nodes;
  std::vector<Leaf> leaves;
  std::vector<Vote> votes;
  std::vector<double> members;
  std::vector<Child> roots;
  std::vector<double> base;  // added to each target; may be empty
  int64_t targets = 0;
  Aggregate aggregate = Aggregate::kSum;

  // What is wrong with it for rows of `features`, or nothing.
  std::optional<std::string> Fault(int64_t features) const;

 private:
  bool HasCycle() const;
};

}  // namespace plimsoll::kernels::cpu
