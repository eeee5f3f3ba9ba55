#include "base/code_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "base/mapped_pages.h"

namespace plimsoll {
namespace code_pages_test {

// Read-only data of this program, some pages long.
constexpr size_t kSize = 1 << 20;
alignas(4096) const unsigned char kTable[kSize] = {1, 2, 3};

const volatile unsigned char* Table() { return kTable; }

size_t Sum() {
  size_t sum = 0;
  for (size_t i = 0; i < kSize; i += 512) sum += Table()[i];
  return sum;
}

bool IsResident(const volatile void* at) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  FILE* const table = std::fopen("/proc/self/pagemap", "rb");
  uint64_t entry = 0;
  const bool read = table != nullptr &&
                    std::fseek(table, static_cast<long>(reinterpret_cast<uintptr_t>(at) / page * 8),
                               SEEK_SET) == 0 &&
                    std::fread(&entry, sizeof(entry), 1, table) == 1;
  if (table != nullptr) std::fclose(table);
  return read && (entry >> 63) != 0;
}

TEST(CodePagesTest, WhatWasReadIsGivenBackAndComesAgain) {
  const size_t sum = Sum();
  ASSERT_TRUE(IsResident(Table() + kSize / 2));
  const Bytes before = ResidentBytes();
  GiveBackCode("");
  EXPECT_FALSE(IsResident(Table() + kSize / 2));
  EXPECT_LT(ResidentBytes(), before);
  EXPECT_EQ(Sum(), sum);
}

TEST(CodePagesTest, APageThatSomebodyHasChangedStays) {
  auto* const page = const_cast<volatile unsigned char*>(&Table()[kSize / 2]);
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  ASSERT_EQ(mprotect(const_cast<unsigned char*>(page), size, PROT_READ | PROT_WRITE), 0);
  page[7] = 99;
  ASSERT_EQ(mprotect(const_cast<unsigned char*>(page), size, PROT_READ), 0);
  GiveBackCode("");
  EXPECT_EQ(page[7], 99);
  EXPECT_TRUE(IsResident(page));
}

}  // namespace code_pages_test
}  // namespace plimsoll
