#pragma once

#include <vector>

#include "graph/dims/dim_bounds.h"
#include "graph/dims/polynomial.h"
#include "plimsoll/graph/dim.h"

namespace plimsoll::graph {

// Puts quotients, remainders, maxima and minima into the form in which equal ones look alike, as
// far as symbols of at least `from` allow:
//
// * `(n + 5)//4` is `(n + 1)//4 + 1`, `((n + 1)//2 + 1)//2` is `(n + 3)//4`, `-(-n//4)` is
//   `(n + 3)//4`;
// * `max(n - 1, 0)` is `max(1, n) - 1`; operands that never count are gone, the others are sorted.
class NormalForm {
 public:
  explicit NormalForm(SymbolsFrom from) : from_(from) {}

  Dim FloorDiv(const Dim& dividend, const Dim& divisor) const;
  Dim Mod(const Dim& dividend, const Dim& divisor) const;
  Dim Extreme(Atom::Kind kind, const Dim& a, const Dim& b) const;  // kMax or kMin

  // The expression made anew with symbols replaced by what `lookup` gives.
  Dim Rebuilt(const Dim& dim, const Dim::Lookup& lookup) const;

 private:
  Dim FloorDivByNumber(const Dim& dividend, int64_t divisor) const;
  void AppendOperands(Atom::Kind kind, const Dim& dim, std::vector<Dim>& operands) const;
  void DropOutdone(Atom::Kind kind, std::vector<Dim>& operands) const;

  SymbolsFrom from_;
};

}  // namespace plimsoll::graph
