#include "allocator_costs.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/base/text.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/registry.h"
#include "plimsoll/device/watched_device.h"
#include "plimsoll/memory/guarding_allocator.h"
#include "plimsoll/memory/scalable_allocator.h"

namespace plimsoll::bench {
namespace {

using memory::Allocator;
using memory::Block;

constexpr device::DeviceId kDevice{0};

using Clock = std::chrono::steady_clock;

double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// A device with one stream and an allocator on it.
struct Ground {
  std::shared_ptr<device::Device> device;
  device::StreamId stream;
  std::unique_ptr<Allocator> allocator;
};

Result<Ground> Scalable(std::shared_ptr<device::Device> device, device::DeviceId id = kDevice) {
  PLIMSOLL_ASSIGN(const device::StreamId stream, device->CreateStream(id));
  auto physical = std::make_shared<memory::PhysicalMemoryAllocator>(device, id);
  auto bridge = std::make_unique<memory::DeviceAllocator>(std::move(physical), stream);
  auto allocator = std::make_unique<memory::ScalableAllocator>(std::move(bridge));
  return Ground{std::move(device), stream, std::move(allocator)};
}

// The median over the pairs; the first ones, which fill the cache and the quarantine, do not count.
Result<double> PairNanoseconds(Allocator& allocator, Bytes size, int pairs) {
  std::vector<double> times;
  for (int i = 0; i < pairs * 2; ++i) {
    const Clock::time_point start = Clock::now();
    PLIMSOLL_ASSIGN(const Block block, allocator.Allocate({.size = size}));
    PLIMSOLL_TRY(allocator.Free(block));
    if (i >= pairs) times.push_back(NanosecondsSince(start));
  }
  std::nth_element(times.begin(), times.begin() + pairs / 2, times.end());
  return times[static_cast<size_t>(pairs / 2)];
}

// Takes blocks of one size until their sum is reached, tells, and frees them.
template <typename Tell>
Status GrowAndFree(Allocator& allocator, Bytes size, Bytes step, const Tell& tell) {
  std::vector<Block> blocks;
  for (Bytes taken; taken < size; taken += step) {
    PLIMSOLL_ASSIGN(const Block block, allocator.Allocate({.size = step}));
    blocks.push_back(block);
  }
  tell();
  for (const Block& block : blocks) PLIMSOLL_TRY(allocator.Free(block));
  return Status();
}

}  // namespace

Status GrowthCost() {
  const auto device = std::make_shared<device::FakeDevice>();
  PLIMSOLL_ASSIGN(const Ground ground, Scalable(device));
  PLIMSOLL_TRY(GrowAndFree(*ground.allocator, GiB(64), GiB(1), [&] {
    std::cout << StrCat("64 GiB: ", device->statistics().modelled_driver_us / 1000,
                        " ms of driver\n");
  }));
  return Status();
}

Status GrowthCostOn(const std::string& name, Bytes size) {
  PLIMSOLL_ASSIGN(const device::DeviceName named, device::ParseDeviceName(name));
  std::cout << "| grown to | by requests of | time in device calls, ms | calls | wall time, ms |\n"
               "|---|---|---|---|---|\n";
  for (const Bytes step : {GiB(1), MiB(256), MiB(20), MiB(2)}) {
    PLIMSOLL_ASSIGN(std::unique_ptr<device::Device> made,
                    device::MakeDevice(named.kind, {.devices = named.id.ordinal + 1}));
    const auto device = std::make_shared<device::WatchedDevice>(std::move(made));
    PLIMSOLL_ASSIGN(const Ground ground, Scalable(device, named.id));
    const double before = static_cast<double>(device->TimeWithoutWaits().count());
    const int64_t calls = device->total();
    const Clock::time_point start = Clock::now();
    PLIMSOLL_TRY(GrowAndFree(*ground.allocator, size, step, [&] {
      const double wall = NanosecondsSince(start);
      const double inside = static_cast<double>(device->TimeWithoutWaits().count()) - before;
      std::cout << StrCat("| ", size, " | ", step, " | ", inside / 1e6, " | ",
                          device->total() - calls, " | ", wall / 1e6, " |\n");
    }));
  }
  return Status();
}

Status DebugCost() {
  constexpr int kPairs = 400;
  PLIMSOLL_ASSIGN(const Ground plain, Scalable(std::make_shared<device::CpuDevice>()));
  PLIMSOLL_ASSIGN(Ground under, Scalable(std::make_shared<device::CpuDevice>()));
  memory::GuardingAllocator guarded(std::move(under.allocator), under.device, kDevice,
                                    under.stream);
  std::cout << "| block | plain pair, ns | guarded pair, us |\n|---|---|---|\n";
  for (Bytes size : {Bytes(512), KiB(64), MiB(1), MiB(16)}) {
    PLIMSOLL_ASSIGN(const double without, PairNanoseconds(*plain.allocator, size, kPairs));
    PLIMSOLL_ASSIGN(const double with, PairNanoseconds(guarded, size, kPairs));
    std::cout << StrCat("| ", size, " | ", static_cast<int64_t>(without), " | ",
                        static_cast<int64_t>(with / 1000), " |\n");
  }
  return Status();
}

Status OutOfMemoryCost() {
  constexpr int kBlocks = 200'000;
  constexpr int kTags = 1000;
  device::FakeOptions options;
  options.capacity = GiB(64);
  PLIMSOLL_ASSIGN(const Ground ground, Scalable(std::make_shared<device::FakeDevice>(options)));
  Allocator& allocator = *ground.allocator;
  std::vector<Block> blocks;
  for (int i = 0; i < kBlocks; ++i) {
    const std::string tag = StrCat("layer ", i % kTags);
    const Bytes size = i % 16 == 0 ? MiB(3) : KiB(i % 200 + 1);
    PLIMSOLL_ASSIGN(const Block block, allocator.Allocate({.size = size, .tag = tag}));
    blocks.push_back(block);
  }
  // Neighbours stay: every hole is one block wide.
  for (int i = 1; i < kBlocks; i += 2) PLIMSOLL_TRY(allocator.Free(blocks[i]));
  const Clock::time_point start = Clock::now();
  const Status refused = allocator.Allocate({.size = GiB(60)}).status();
  const double milliseconds = NanosecondsSince(start) / 1e6;
  std::cout << StrCat(allocator.statistics().live_blocks, " live blocks, ", kTags,
                      " tags: ", milliseconds, " ms to refuse and report\n");
  if (!refused.ok()) std::cout << refused.error().Text() << "\n";
  for (int i = 0; i < kBlocks; i += 2) PLIMSOLL_TRY(allocator.Free(blocks[i]));
  return Status();
}

}  // namespace plimsoll::bench
