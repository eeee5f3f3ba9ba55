#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/plan/assigner.h"

namespace plimsoll::plan {

// What an assigner of the program's own sees of one region: items with sizes and lives. An item is
// one buffer, or several whose places relative to each other are settled (aliases, contiguous
// groups, clearing areas), so that they move as one.
class RegionItems {
 public:
  struct Item {
    Bytes size;
    int64_t alignment = 1;        // of its offset
    std::optional<Offset> fixed;  // its offset, where that is not the assigner's to choose
    int64_t begin = 0;            // it lives in moments [begin, end)
    int64_t end = 0;
  };

  RegionItems(const BlockProblem& problem, const BlockRegion& region);
  ~RegionItems();
  RegionItems(const RegionItems&) = delete;
  RegionItems& operator=(const RegionItems&) = delete;

  std::span<const Item> items() const { return items_; }
  // Whether two items must not share bytes. Lives that meet are necessary for it and mostly enough;
  // items of different batches and of ordered streams may share bytes all the same.
  bool Together(size_t a, size_t b) const;
  Bytes lower_bound() const;              // proven: no placement is lower
  std::optional<Bytes> capacity() const;  // of the region, where it has one

 private:
  friend class CustomMemAssigner;
  const BlockProblem& problem_;
  const BlockRegion& region_;
  std::vector<Item> items_;
  std::vector<uint32_t> blocks_;  // by item: its block of the region
};

// An assigner that is written outside the library: it gives each item of a region an offset.
//
//   class StackAssigner : public plan::CustomMemAssigner {
//    public:
//     std::string name() const override { return "stack"; }
//     std::vector<Offset> PlaceItems(const plan::RegionItems& region,
//                                    const plan::Effort&) const override {
//       std::vector<Offset> offsets;
//       Bytes top;
//       for (const auto& item : region.items()) {
//         top = top.RoundUp(item.alignment);
//         offsets.push_back(Offset(top.value()));
//         top += item.size;
//       }
//       return offsets;
//     }
//   };
//   RegisterAssigner("stack", [](auto&) { return std::make_unique<StackAssigner>(); });
//
// Any number of threads may call PlaceItems of one object at once. What it answers is verified
// before anybody uses it: a plan that breaks a rule is refused with the rule and the buffer.
class CustomMemAssigner : public RegionMemAssigner {
 public:
  // One offset for each item, in their order; that of a fixed item is not looked at. `effort` has
  // the steps that the caller grants; its deadline is what is left of it.
  virtual std::vector<Offset> PlaceItems(const RegionItems& region, const Effort& effort) const = 0;

 private:
  RegionPlacement PlaceRegion(const BlockProblem& blocks, const BlockRegion& region,
                              const Budget& budget) const final;
};

}  // namespace plimsoll::plan
