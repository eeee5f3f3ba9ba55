#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "core/torch_memory.h"
#include "device/cuda/standin_for_tests.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/log.h"
#include "plimsoll_torch.h"

namespace plimsoll::pytorch {
namespace plugin_test {

using device::Standin;

constexpr int kOperatingSystem = 304;

// The entry points as PyTorch calls them, over the stand-in of NVIDIA's driver. The library's state
// is the process's, so the stand-in is set up once and each test frees what it took.
class PluginTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static Standin& standin = *new Standin;
    standin_ = &standin;
    static const std::string driver = device::StandinLibrary();
    plimsoll_torch_options options{driver.c_str(), 0, MiB(8).value(), 0, 0};
    ASSERT_EQ(plimsoll_torch_configure(&options), 0);
    plimsoll_torch_init(2);
    void* context = nullptr;
    ASSERT_EQ(Standin::Find<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), 0);
    ASSERT_EQ(Standin::Find<int(void*)>("cuCtxPushCurrent_v2")(context), 0);
    for (CUstream_st*& stream : streams_) {
      ASSERT_EQ(Standin::Find<int(CUstream_st**, unsigned)>("cuStreamCreate")(&stream, 1), 0);
    }
  }
  void TearDown() override {
    int64_t given_back = 0;
    EXPECT_EQ(plimsoll_torch_trim(&given_back), 0) << plimsoll_torch_error();
    EXPECT_EQ(Statistics().allocated_bytes[0].current, 0);
    EXPECT_EQ(Statistics().reserved_bytes.current, 0);
  }
  static plimsoll_torch_statistics Statistics() {
    plimsoll_torch_statistics statistics{};
    plimsoll_torch_get_statistics(0, &statistics);
    return statistics;
  }
  static void* Take(Bytes size, CUstream_st* stream = nullptr) {
    return plimsoll_torch_malloc(size.value(), 0, stream);
  }
  static void Free(void* block) { plimsoll_torch_free(block, 0, 0, nullptr); }
  static std::string Refused(Bytes size) {
    try {
      Free(Take(size));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  // Work that ends when `go` is set.
  static void LaunchWork(CUstream_st* stream, std::atomic<bool>& go) {
    const auto wait = [](void* flag) {
      while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
    };
    ASSERT_EQ(Standin::Find<int(CUstream_st*, void (*)(void*), void*)>("cuLaunchHostFunc")(
                  stream, +wait, &go),
              0);
  }

  static Standin* standin_;
  // Streams live as long as the process: the library keeps their ids.
  static CUstream_st* streams_[2];
};

Standin* PluginTest::standin_ = nullptr;
CUstream_st* PluginTest::streams_[2] = {};

TEST_F(PluginTest, HandsOutAndTakesBack) {
  void* block = Take(MiB(5));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(Take(Bytes(0)), nullptr);
  Free(nullptr);
  size_t size = 0;
  EXPECT_EQ(plimsoll_torch_base_allocation(block, &size), block);
  EXPECT_EQ(size, static_cast<size_t>(MiB(5).value()));
  Free(block);
  EXPECT_EQ(plimsoll_torch_base_allocation(block, &size), nullptr);
  const int64_t calls = standin_->calls(nullptr);
  Free(Take(MiB(5)));
  EXPECT_EQ(standin_->calls(nullptr), calls) << "a cached pair called the driver";
}

TEST_F(PluginTest, RefusalsCarryTheReport) {
  void* held = Take(MiB(600));
  plimsoll_torch_set_tag("the optimizer");
  void* tagged = Take(MiB(50));
  plimsoll_torch_set_tag(nullptr);
  const std::string text = Refused(MiB(600));
  for (const char* part : {"CUDA out of memory", "600 MiB", "'the optimizer' 50 MiB",
                           "memory.out_of_memory", "CUDA_ERROR_OUT_OF_MEMORY"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
  }
  void* block = nullptr;
  EXPECT_EQ(plimsoll_torch_try_malloc(MiB(600).value(), 0, nullptr, &block), 1);
  EXPECT_NE(std::string(plimsoll_torch_error()).find("out of memory"), std::string::npos);
  Free(held);
  Free(tagged);
  Free(Take(MiB(600)));
}

TEST_F(PluginTest, ADriverThatFailsIsNamed) {
  for (const char* call : {"cuMemCreate", "cuMemMap", "cuMemSetAccess"}) {
    standin_->fail(call, 1, 1, kOperatingSystem);
    const std::string text = Refused(MiB(8));
    EXPECT_NE(text.find(call), std::string::npos) << text;
    EXPECT_EQ(text.find("out of memory"), std::string::npos) << text;
  }
  Free(Take(MiB(8)));
}

TEST_F(PluginTest, ABlockOfTwoStreamsWaitsForBoth) {
  std::atomic<bool> go = false;
  void* block = Take(MiB(4), streams_[0]);
  plimsoll_torch_record_stream(block, streams_[1]);
  LaunchWork(streams_[1], go);
  Free(block);
  void* other = Take(MiB(4), streams_[0]);
  EXPECT_NE(other, block) << "the second stream still uses it";
  go = true;
  ASSERT_EQ(Standin::Find<int(CUstream_st*)>("cuStreamSynchronize")(streams_[1]), 0);
  void* third = Take(MiB(4), streams_[0]);
  EXPECT_EQ(third, block);
  Free(other);
  Free(third);
}

TEST_F(PluginTest, PoolsAreKeptApart) {
  const std::pair<unsigned long long, unsigned long long> pool{0, 5};
  CUstream_st* own = streams_[0];
  plimsoll_torch_begin_pool(0, pool, [own](CUstream_st* stream) { return stream == own; });
  void* inside = Take(MiB(4), own);
  void* outside = Take(MiB(4), streams_[1]);
  EXPECT_GT(Statistics().pool_bytes, 0);
  Free(inside);
  plimsoll_torch_end_pool(0, pool);
  void* after = Take(MiB(4), own);
  EXPECT_NE(after, inside) << "the pool was ended";
  Free(after);
  plimsoll_torch_empty_cache();
  EXPECT_GT(Statistics().pool_bytes, 0) << "a graph may use it again";
  plimsoll_torch_release_pool(0, pool);
  plimsoll_torch_empty_cache();
  EXPECT_EQ(Statistics().pool_bytes, 0);
  Free(outside);
}

TEST_F(PluginTest, FractionsAndLimitsHold) {
  plimsoll_torch_memory_fraction(0.25, 0);
  EXPECT_NE(Refused(MiB(300)).find("limit of 256 MiB"), std::string::npos) << Refused(MiB(300));
  plimsoll_torch_memory_fraction(1, 0);
  EXPECT_THROW(plimsoll_torch_memory_fraction(1.5, 0), std::runtime_error);
  EXPECT_EQ(plimsoll_torch_set_limit(0, MiB(100).value()), 0);
  EXPECT_NE(Refused(MiB(300)), "");
  EXPECT_EQ(plimsoll_torch_set_limit(0, -1), 2);
  EXPECT_NE(std::string(plimsoll_torch_error()).find("torch.limit"), std::string::npos);
  EXPECT_NE(Refused(MiB(300)), "") << "the limit before holds";
  EXPECT_EQ(plimsoll_torch_set_limit(0, 0), 0);
  Free(Take(MiB(300)));
}

TEST_F(PluginTest, TheFractionIsToldAsItWasSet) {
  for (const double fraction : {0.0, 0.25, 1.0}) {
    plimsoll_torch_memory_fraction(fraction, 0);
    EXPECT_EQ(TorchMemory::Get().fraction(0), fraction);
  }
  EXPECT_EQ(TorchMemory::Get().fraction(1), 1) << "nobody has set it";
}

TEST_F(PluginTest, TwoThreadsAndTwoDevices) {
  std::vector<std::thread> threads;
  for (int device = 0; device < 2; ++device) {
    for (int twice = 0; twice < 2; ++twice) {
      threads.emplace_back([device] {
        for (int i = 0; i < 300; ++i) {
          void* block = plimsoll_torch_malloc(KiB(1 + i).value(), device, nullptr);
          // PyTorch's deleter may know another device than the block's.
          plimsoll_torch_free(block, 0, i % 2, nullptr);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THROW(plimsoll_torch_malloc(512, 2, nullptr), std::runtime_error);
}

TEST_F(PluginTest, ABlockThatIsNotOursIsToldAndLeftAlone) {
  std::string told;
  const LogCapture capture([&](LogLevel, std::string_view line) { told = line; });
  int mine = 0;
  Free(&mine);
  EXPECT_NE(told.find("memory.unknown_block"), std::string::npos) << told;
  EXPECT_THROW(plimsoll_torch_record_stream(&mine, streams_[0]), std::runtime_error);
}

TEST_F(PluginTest, SettingsComeTooLateOnceMemoryWasHandedOut) {
  plimsoll_torch_options options{nullptr, 0, 0, 0, 0};
  EXPECT_EQ(plimsoll_torch_configure(&options), 2);
  EXPECT_NE(std::string(plimsoll_torch_error()).find("before the first CUDA tensor"),
            std::string::npos);
}

TEST_F(PluginTest, WhatIsRecordedComesAsTableAndPage) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string table = folder / "plimsoll_torch_test.csv";
  const std::string page = folder / "plimsoll_torch_test.html";
  plimsoll_torch_record(0);
  EXPECT_EQ(plimsoll_torch_write_report(page.c_str()), 2);
  void* before = Take(MiB(2));
  plimsoll_torch_record(1);
  plimsoll_torch_set_tag("layer1");
  Free(Take(MiB(3)));
  plimsoll_torch_set_tag(nullptr);
  Free(before);
  ASSERT_EQ(plimsoll_torch_write_operator_memory(table.c_str()), 0) << plimsoll_torch_error();
  std::stringstream rows;
  rows << std::ifstream(table).rdbuf();
  EXPECT_NE(rows.str().find("0,layer1,3072.000,"), std::string::npos) << rows.str();
  EXPECT_NE(rows.str().find(",-2048.000,"), std::string::npos) << rows.str();
  EXPECT_NE(rows.str().find("CUDA:0"), std::string::npos);
  plimsoll_torch_set_tag("layer2");
  Free(Take(MiB(3)));
  plimsoll_torch_set_tag(nullptr);
  ASSERT_EQ(plimsoll_torch_write_report(page.c_str()), 0) << plimsoll_torch_error();
  std::stringstream html;
  html << std::ifstream(page).rdbuf();
  EXPECT_NE(html.str().find("layer2"), std::string::npos);
  EXPECT_EQ(html.str().find("layer1"), std::string::npos) << "told by the table before";
  std::filesystem::remove(table);
  std::filesystem::remove(page);
}

TEST_F(PluginTest, TheSummaryIsCutWhereThereIsNoRoom) {
  Free(Take(MiB(1)));
  const int64_t length = plimsoll_torch_summary(nullptr, 0);
  ASSERT_GT(length, 20);
  std::string text(10, 'x');
  EXPECT_GT(plimsoll_torch_summary(text.data(), 10), 9);
  EXPECT_EQ(std::string(text.c_str()), "device 0:");
}

TEST_F(PluginTest, AChildMadeByForkFreesNothingAndIsRefused) {
  void* block = Take(MiB(4));
  const pid_t child = fork();
  if (child == 0) {
    Free(block);
    const auto is_refused = [](const auto& call) {
      try {
        call();
      } catch (const std::runtime_error& error) {
        return std::string(error.what()).find("fork") != std::string::npos;
      }
      return false;
    };
    if (!is_refused([] { Take(MiB(4)); })) _exit(1);
    if (!is_refused([] { plimsoll_torch_init(2); })) _exit(2);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  Free(block);
}

}  // namespace plugin_test
}  // namespace plimsoll::pytorch
