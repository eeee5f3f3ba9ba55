#include "engine/memory/memory_ledger.h"

#include <gtest/gtest.h>

namespace plimsoll::engine {
namespace memory_ledger_test {

MemoryEvent Reserved(int64_t bytes) {
  MemoryEvent event;
  event.kind = MemoryEvent::Kind::kReserve;
  event.reserved = Bytes(bytes);
  return event;
}

TEST(MemoryLedgerTest, ThePeakIsOfMapsAndAreasTogether) {
  MemoryLedger ledger;
  ledger.OnMemoryEvent(Reserved(100));
  ledger.OnMemoryEvent(Reserved(10));
  ledger.CountArea(false, Bytes(30), Bytes(64));
  EXPECT_EQ(ledger.reserved(), Bytes(74));
  EXPECT_EQ(ledger.peak_reserved(), Bytes(100)) << "the area came when the maps were few";
  ledger.OnMemoryEvent(Reserved(90));
  EXPECT_EQ(ledger.peak_reserved(), Bytes(154));
  ledger.CountArea(false, Bytes(-30), Bytes(-64));
  EXPECT_EQ(ledger.reserved(), Bytes(90));
  EXPECT_EQ(ledger.peak_reserved(), Bytes(154));
}

TEST(MemoryLedgerTest, KeptMapsAddUpAndLentOnesCountOnce) {
  MemoryLedger ledger;
  ledger.CountKept(Bytes(10));
  ledger.CountKept(Bytes(20));
  ledger.CountLent(false, Bytes(5));
  ledger.CountLent(false, Bytes(3));
  ledger.CountLent(true, Bytes(7));
  ledger.CountArea(false, Bytes(1), Bytes(64));
  EXPECT_EQ(ledger.asked(), Bytes(10 + 20 + 5 + 7 + 1));
  ledger.CountKept(Bytes(-20));
  ledger.Trimmed();
  EXPECT_EQ(ledger.asked(), Bytes(10 + 1));
}

TEST(MemoryLedgerTest, MemoryOfTheHostIsNotTheDevices) {
  MemoryLedger ledger;
  ledger.CountArea(true, Bytes(30), Bytes(30));
  EXPECT_EQ(ledger.host(), Bytes(30));
  EXPECT_EQ(ledger.peak_reserved(), Bytes(0));
  EXPECT_EQ(ledger.asked(), Bytes(0));
}

TEST(MemoryLedgerTest, TensorsCountAsMuchAsLivedTogether) {
  MemoryLedger ledger;
  ledger.CountTensor(true, Bytes(30));
  ledger.CountTensor(true, Bytes(-30));
  ledger.CountTensor(true, Bytes(20));
  EXPECT_EQ(ledger.heap(), Bytes(30));
  ledger.CountTensor(false, Bytes(8));
  ledger.CountTensor(false, Bytes(8));
  EXPECT_EQ(ledger.asked(), Bytes(16));
}

TEST(MemoryLedgerTest, TensorsThatOutliveATrimStillCount) {
  MemoryLedger ledger;
  ledger.CountLent(false, Bytes(50));
  ledger.CountTensor(false, Bytes(12));
  ledger.CountTensor(false, Bytes(8));
  ledger.CountTensor(false, Bytes(-8));
  EXPECT_EQ(ledger.asked(), Bytes(50));
  ledger.Trimmed();
  EXPECT_EQ(ledger.asked(), Bytes(12)) << "what lives now, and no more";
  ledger.CountTensor(false, Bytes(-12));
  ledger.Trimmed();
  EXPECT_EQ(ledger.asked(), Bytes(0));
}

TEST(MemoryLedgerTest, HostMemoryGoesBackAndHeapTensorsNeedNoTrim) {
  MemoryLedger ledger;
  ledger.CountArea(true, Bytes(30), Bytes(64));
  ledger.CountArea(true, Bytes(-30), Bytes(-64));
  EXPECT_EQ(ledger.host(), Bytes(0));
  ledger.CountTensor(true, Bytes(40));
  ledger.Trimmed();
  EXPECT_EQ(ledger.heap(), Bytes(40));
  EXPECT_EQ(ledger.asked(), Bytes(0)) << "the heap is not the device";
  ledger.SetMapsReserved(Bytes(7));
  ledger.SetMapsReserved(Bytes(3));
  EXPECT_EQ(ledger.reserved(), Bytes(3));
  EXPECT_EQ(ledger.peak_reserved(), Bytes(7));
}

}  // namespace memory_ledger_test
}  // namespace plimsoll::engine
