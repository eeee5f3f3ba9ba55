#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/standin_for_tests.h"
#include "plimsoll/base/log.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/cuda_device.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/far_device.h"
#include "plimsoll/memory/caching_mem_allocator.h"
#include "plimsoll/memory/guarding_allocator.h"
#include "plimsoll/memory/limiting_allocator.h"
#include "plimsoll/memory/observing_allocator.h"
#include "plimsoll/memory/scalable_allocator.h"
#include "plimsoll/memory/stream_ordered_allocator.h"

namespace plimsoll::memory {

inline constexpr device::DeviceId kDevice{0};

// A device with one stream and physical memory, released in the right order.
class Machine {
 public:
  explicit Machine(std::shared_ptr<device::Device> device, PhysicalMemoryOptions options = {},
                   ExpandableOptions expandable = {})
      : device_(std::move(device)),
        physical_(std::make_shared<PhysicalMemoryAllocator>(device_, kDevice, options)),
        stream_(*device_->CreateStream(kDevice)),
        expandable_(expandable) {}

  static Machine Fake(device::FakeOptions options = {}) {
    return Machine(std::make_shared<device::FakeDevice>(options));
  }

  const std::shared_ptr<device::Device>& device() const { return device_; }
  device::FakeDevice& fake() const { return dynamic_cast<device::FakeDevice&>(*device_); }
  const std::shared_ptr<PhysicalMemoryAllocator>& physical() const { return physical_; }
  device::StreamId stream() const { return stream_; }
  std::unique_ptr<ScalableAllocator> Scalable(ScalableOptions options = {}) const {
    return std::make_unique<ScalableAllocator>(
        std::make_unique<DeviceAllocator>(physical_, stream_, expandable_), std::move(options));
  }
  std::unique_ptr<StreamOrderedAllocator> StreamOrdered() const {
    return std::make_unique<StreamOrderedAllocator>(
        physical_, StreamOrderedOptions{.expandable = expandable_});
  }

 private:
  std::shared_ptr<device::Device> device_;
  std::shared_ptr<PhysicalMemoryAllocator> physical_;
  device::StreamId stream_;
  ExpandableOptions expandable_;
};

// An allocator under the conformance suite. To put another one under it, add a row.
struct Subject {
  std::string name;
  std::function<std::unique_ptr<Allocator>(const Machine&)> make;
};

inline std::vector<Subject> AllSubjects() {
  const auto scalable = [](const Machine& m) -> std::unique_ptr<Allocator> { return m.Scalable(); };
  const auto caching = [](Keep keep) {
    return [keep](const Machine& m) -> std::unique_ptr<Allocator> {
      return std::make_unique<CachingMemAllocator>(m.physical(), nullptr, keep);
    };
  };
  return {
      {"Scalable", scalable},
      {"StreamOrdered",
       [](const Machine& m) -> std::unique_ptr<Allocator> { return m.StreamOrdered(); }},
      {"Caching", caching(Keep::kAll)},
      {"CachingUntilLarger", caching(Keep::kUntilLarger)},
      {"CachingNothing", caching(Keep::kNothing)},
      {"Limiting",
       [=](const Machine& m) -> std::unique_ptr<Allocator> {
         return std::make_unique<LimitingAllocator>(scalable(m), GiB(4));
       }},
      {"Observing",
       [=](const Machine& m) -> std::unique_ptr<Allocator> {
         return std::make_unique<ObservingAllocator>(scalable(m), kDevice, nullptr);
       }},
      {"Guarding",
       [=](const Machine& m) -> std::unique_ptr<Allocator> {
         return std::make_unique<GuardingAllocator>(scalable(m), m.device(), kDevice, m.stream(),
                                                    GuardOptions{.quarantine = MiB(1)});
       }},
  };
}

// A kind of device under the suite.
struct Ground {
  std::string name;
  std::function<std::shared_ptr<device::Device>()> make;
};

inline std::vector<Ground> AllGrounds() {
  const auto fake = [](bool reserves) {
    return [reserves]() -> std::shared_ptr<device::Device> {
      device::FakeOptions options;
      options.capacity = MiB(256);
      options.reserves_addresses = reserves;
      return std::make_shared<device::FakeDevice>(options);
    };
  };
  const auto cpu = [](bool reserves) {
    return [reserves]() -> std::shared_ptr<device::Device> {
      return std::make_shared<device::CpuDevice>(
          device::CpuOptions{.capacity = MiB(256), .reserves_addresses = reserves});
    };
  };
  const auto far = [](bool reserves) {
    return [reserves]() -> std::shared_ptr<device::Device> {
      return std::make_shared<device::FarDevice>(device::CpuOptions{
          .capacity = MiB(256), .reserves_addresses = reserves, .huge_by_default = false});
    };
  };
  const auto cuda = [](bool reserves) {
    return [reserves]() -> std::shared_ptr<device::Device> {
      return device::CudaDeviceForTests({.capacity = MiB(256), .reserves_addresses = reserves});
    };
  };
  return {{"Fake", fake(true)},     {"FakePlain", fake(false)}, {"Cpu", cpu(true)},
          {"CpuPlain", cpu(false)}, {"Far", far(true)},         {"FarPlain", far(false)},
          {"Cuda", cuda(true)},     {"CudaPlain", cuda(false)}};
}

inline testing::AssertionResult RefusedAs(const Status& status, const std::string& code) {
  if (status.ok()) return testing::AssertionFailure() << "succeeded";
  if (status.error().code == code) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.error().Text();
}

}  // namespace plimsoll::memory
