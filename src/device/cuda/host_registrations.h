#pragma once

#include <functional>
#include <map>
#include <vector>

#include "device/address_range.h"

namespace plimsoll::device {

// Host memory that is registered with the driver. The driver pins whole pages and refuses a page
// that it has pinned already, while callers register pieces of any size side by side: pieces that
// meet in a page share its registration. Not thread-safe. Costs the number of runs of pages that
// a piece touches.
class HostRegistrations {
 public:
  static constexpr Bytes kPage = KiB(4);

  // The runs of pages that must be registered so that all of [at, at + size) is.
  std::vector<AddressRange> Missing(Address at, Bytes size) const;
  // The runs have been registered, for the sake of this piece.
  void Add(Address at, Bytes size, const std::vector<AddressRange>& runs);
  // Takes the piece's leave, and gives the runs that nobody uses any more.
  std::vector<AddressRange> Remove(Address at, Bytes size);
  // The pieces of [at, at + size) that lie in one run, or in none, each: the driver copies no
  // memory that is half registered.
  std::vector<AddressRange> Pieces(Address at, Bytes size) const;
  std::vector<AddressRange> Runs() const;

 private:
  struct Run {
    Bytes size;
    int users = 0;
  };
  std::map<Address, Run>::const_iterator FirstOverlap(Address at) const;

  std::map<Address, Run> runs_;
};

}  // namespace plimsoll::device
