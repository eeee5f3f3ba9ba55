#include "pack_families.h"

#include <cstdio>

#include "pack_generator.h"

namespace plimsoll::bench {
namespace {

using plan::Packing;

Packing Cut(const PackFamily& family, uint64_t seed) {
  CutShape shape;
  shape.items = family.items;
  shape.sections = family.items / 2;
  shape.cut_time = family.cut_time;
  shape.largest = 0.8;
  shape.shrink = family.shrink;
  return CutPacking(shape, seed);
}

// Numbers of pieces that differ from seed to seed.
int Spread(uint64_t seed, int low, int high) {
  return low + static_cast<int>(seed * 7919 % static_cast<uint64_t>(high - low + 1));
}

Packing Pieces(const PackFamily&, uint64_t seed) {
  CutShape shape;
  shape.items = Spread(seed, 150, 450);
  shape.sections = 1024;
  shape.removed = 0.02 * static_cast<double>(seed % 6);
  return CutPacking(shape, seed);
}

Packing EvenPieces(const PackFamily&, uint64_t seed) {
  CutShape shape;
  shape.items = Spread(seed, 350, 550);
  shape.sections = 1024;
  shape.largest = 0.98;
  shape.middle = 0.35;
  shape.removed = 0.3 + 0.05 * static_cast<double>(seed % 4);
  return CutPacking(shape, seed);
}

Packing Pinwheels(const PackFamily&, uint64_t seed) {
  CutShape shape;
  shape.items = Spread(seed, 150, 350);
  shape.sections = 1024;
  shape.pinwheel = 0.3;
  shape.removed = 0.04;
  return CutPacking(shape, seed);
}

Packing EqualSizes(const PackFamily&, uint64_t seed) {
  CutShape shape;
  shape.items = Spread(seed, 150, 350);
  shape.sections = 1024;
  shape.size_step = 32;
  shape.time_step = 16;
  shape.removed = 0.04;
  return CutPacking(shape, seed);
}

Packing Scratchpad(const PackFamily&, uint64_t seed) {
  ScratchpadShape shape;
  shape.items = Spread(seed, 150, 450);
  return ScratchpadPacking(shape, seed);
}

}  // namespace

std::vector<PackFamily> CutFamilies() {
  std::vector<PackFamily> families;
  for (const int items : {100, 200, 400}) {
    for (const double cut_time : {0.4, 0.6, 0.8}) {
      for (const double shrink : {0.0, 0.3}) {
        char name[64];
        std::snprintf(name, sizeof name, "cut %d time %.1f shrink %.1f", items, cut_time, shrink);
        families.push_back({name, items, Cut, cut_time, shrink});
      }
    }
  }
  return families;
}

std::vector<PackFamily> AcceleratorFamilies() {
  return {{"pieces", 0, Pieces},
          {"even pieces", 0, EvenPieces},
          {"pinwheels", 0, Pinwheels},
          {"equal sizes", 0, EqualSizes},
          {"scratchpad", 0, Scratchpad}};
}

}  // namespace plimsoll::bench
