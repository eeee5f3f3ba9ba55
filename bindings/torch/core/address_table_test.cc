#include "core/address_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plimsoll::pytorch {
namespace address_table_test {

struct Entry {
  device::Address address = 0;
  int value = 0;
};

TEST(AddressTable, HoldsWhatAMapHoldsWhateverComesAndGoes) {
  AddressTable<Entry> table;
  std::map<device::Address, int> model;
  std::mt19937_64 draw(7);
  for (int step = 0; step < 60'000; ++step) {
    // Few addresses far apart and many that are neighbours, as a device hands them out.
    const device::Address address = (draw() % 2 == 0 ? 0x7f0000000000 + 512 * (draw() % 3000)
                                                     : 0x300000000 * (1 + draw() % 50));
    Entry* found = table.Find(address);
    const auto known = model.find(address);
    ASSERT_EQ(found != nullptr, known != model.end());
    if (found != nullptr) {
      ASSERT_EQ(found->value, known->second);
      table.Remove(found);
      model.erase(known);
    } else {
      table.Insert({address, step});
      model[address] = step;
    }
    ASSERT_EQ(table.size(), model.size());
  }
  for (const auto& [address, value] : model) {
    ASSERT_NE(table.Find(address), nullptr);
    EXPECT_EQ(table.Find(address)->value, value);
  }
  size_t seen = 0;
  table.ForEach([&](const Entry& entry) { seen += model.count(entry.address); });
  EXPECT_EQ(seen, model.size());
}

}  // namespace address_table_test
}  // namespace plimsoll::pytorch
