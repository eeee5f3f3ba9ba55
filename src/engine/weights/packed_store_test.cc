#include "engine/weights/packed_store.h"

#include <atomic>
#include <cstring>
#include <thread>

#include "engine/weights/weight_files_for_tests.h"

namespace plimsoll::engine {
namespace packed_store_test {

std::shared_ptr<SessionWeights> External(const TemporaryFolder& work,
                                         std::shared_ptr<SharedForms> forms = nullptr) {
  return std::make_shared<SessionWeights>(WithWeightsIn(work.path()).config, nullptr,
                                          device::DeviceId{0}, std::move(forms));
}

std::shared_ptr<SessionWeights> Plain() {
  return std::make_shared<SessionWeights>(config::RunConfig(), nullptr, device::DeviceId{0});
}

// Packs a graph's first constant as it is, and counts how often that was done.
const void* PackFirst(PackedStore& store, const graph::Graph& graph, int& made,
                      std::string_view layout = "same") {
  const auto bytes = graph.constants[0].bytes;
  const Bytes size(static_cast<int64_t>(bytes.size()));
  const auto form = store.Pack(bytes.data(), size, layout, size, [&](void* memory) {
    std::memcpy(memory, bytes.data(), bytes.size());
    ++made;
    return Status();
  });
  EXPECT_TRUE(form.ok());
  return form.ok() ? *form : nullptr;
}

TEST(PackedStoreTest, SessionsShareFormsOfTheSameWeightAndLayoutOnRequest) {
  const TemporaryFolder work;
  const auto forms = std::make_shared<SharedForms>();
  graph::Graph one = Product(1);
  graph::Graph two = Product(1);
  graph::Graph other = Product(2);
  PackedStore first(External(work, forms));
  PackedStore second(External(work, forms));
  PackedStore separate(External(work));
  ASSERT_TRUE(first.Externalise(one).ok());
  ASSERT_TRUE(second.Externalise(two).ok());
  ASSERT_TRUE(second.Externalise(other).ok());
  int made = 0;
  const void* const form = PackFirst(first, one, made);
  EXPECT_EQ(PackFirst(second, two, made), form);
  EXPECT_EQ(made, 1);
  EXPECT_NE(PackFirst(second, other, made), form);
  EXPECT_NE(PackFirst(second, two, made, "another layout"), form);
  EXPECT_EQ(made, 3);
  ASSERT_TRUE(separate.Externalise(two).ok());
  EXPECT_NE(PackFirst(separate, two, made), form) << "a session without the others' forms";
  EXPECT_EQ(made, 4);
}

TEST(PackedStoreTest, AFormGoesWithItsLastUser) {
  const TemporaryFolder work;
  graph::Graph graph = Product(1);
  int made = 0;
  const auto forms = std::make_shared<SharedForms>();
  auto first = std::make_unique<PackedStore>(External(work, forms));
  auto second = std::make_unique<PackedStore>(External(work, forms));
  ASSERT_TRUE(first->Externalise(graph).ok());
  ASSERT_TRUE(second->Externalise(graph).ok());
  PackFirst(*first, graph, made);
  PackFirst(*second, graph, made);
  first.reset();
  PackFirst(*second, graph, made);
  EXPECT_EQ(made, 1);
  second.reset();
  PackedStore third(External(work, forms));
  ASSERT_TRUE(third.Externalise(graph).ok());
  PackFirst(third, graph, made);
  EXPECT_EQ(made, 2);
}

TEST(PackedStoreTest, R114_WithoutFilesOnlyConstantsThatMustBeHashedAnywayAreShared) {
  const graph::Graph one = Product(1);
  const graph::Graph two = Product(1);
  const auto session = Plain();
  PackedStore first(session);
  PackedStore second(session);
  PackedStore elsewhere(Plain());
  int made = 0;
  const void* const form = PackFirst(first, one, made);
  EXPECT_EQ(PackFirst(second, two, made), form);
  EXPECT_EQ(made, 1);
  EXPECT_NE(PackFirst(elsewhere, two, made), form);
  first.AddLasting(one.constants[0].bytes.data());
  second.AddLasting(two.constants[0].bytes.data());
  EXPECT_NE(PackFirst(first, one, made), PackFirst(second, two, made));
  EXPECT_EQ(made, 4);
}

TEST(PackedStoreTest, AWeightOfTwoFormsIsOneWeight) {
  const graph::Graph graph = Product(1);
  PackedStore store(Plain());
  int made = 0;
  PackFirst(store, graph, made);
  PackFirst(store, graph, made, "another layout");
  PackFirst(store, graph, made);
  EXPECT_EQ(made, 2);
  const auto& constant = graph.constants[0].bytes;
  const Bytes size(static_cast<int64_t>(constant.size()));
  PackedStore::Packed packed = store.packed({});
  EXPECT_EQ(packed.weights, 1U);
  EXPECT_EQ(packed.packed, size * 2) << "both forms";
  EXPECT_EQ(packed.plain, size);
  EXPECT_EQ(packed.kept_plain, Bytes(0));
  EXPECT_EQ(packed.more(), size);
  packed = store.packed({{constant.data(), {size, "w"}}});
  EXPECT_EQ(packed.kept_plain, size) << "others read it plain";
  EXPECT_EQ(packed.more(), size * 2);
  HeldWeights held;
  store.AddTo(held);
  EXPECT_EQ(SumOf(held), size * 2);
}

TEST(PackedStoreTest, AFailureToPackIsPassedOnAndCanBeTriedAgain) {
  const graph::Graph graph = Product(1);
  PackedStore store(Plain());
  const auto bytes = graph.constants[0].bytes;
  const Bytes size(static_cast<int64_t>(bytes.size()));
  const auto failed = store.Pack(bytes.data(), size, "same", size, [](void*) {
    return Status(Error{ErrorKind::kRunFailed, "test.failed", "", "", "", ""});
  });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, "test.failed");
  HeldWeights held;
  store.AddTo(held);
  EXPECT_EQ(SumOf(held), Bytes(0));
  int made = 0;
  PackFirst(store, graph, made);
  store.AddTo(held);
  EXPECT_EQ(SumOf(held), size);
}

// x W + W: the product reads W packed, the sum reads it as it is.
TEST(PackedStoreTest, AWeightThatIsAddedTooIsThereInBothForms) {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({16, 16}));
  const std::vector<float> weights = ElementsOf(Random({16, 16}, 5));
  const graph::ValueId w = builder.Float32s("w", {16, 16}, weights);
  builder.Output(builder.Node("Add", {builder.Node("MatMul", {x, w}), w}));
  const graph::Graph graph = builder.Build();
  SessionOptions plain;
  plain.load.optimise = false;
  const auto expected = MakeSession(plain);
  const auto session = MakeSession();
  const std::vector<kernels::HostTensor> inputs = {Random({16, 16}, 6)};
  const auto made = MustRun(*session, MustAdd(*session, graph), inputs);
  ASSERT_EQ(made.size(), 1U);
  ExpectClose(made[0], MustRun(*expected, MustAdd(*expected, graph), inputs)[0]);
}

TEST(PackedStoreTest, PlansShareTheCopyOfAConstantThatCannotBeReadInPlace) {
  graph::Graph graph = Product(1);
  graph::ConstantTensor& constant = graph.constants[0];
  const auto moved = std::make_shared<std::vector<std::byte>>(constant.bytes.size() + 1);
  std::copy(constant.bytes.begin(), constant.bytes.end(), moved->begin() + 1);
  const std::vector<std::byte> elements(constant.bytes.begin(), constant.bytes.end());
  constant.bytes = std::span(*moved).subspan(1);
  constant.storage = moved;
  PackedStore store(Plain());
  const auto first = store.Hold(constant, kernels::ReadAs::kElements);
  const auto second = store.Hold(constant, kernels::ReadAs::kElements);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->data, second->data);
  EXPECT_EQ(std::memcmp(first->data.get(), elements.data(), elements.size()), 0);
  const auto rows = store.Hold(constant, kernels::ReadAs::kRows);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->data.get(), constant.bytes.data()) << "rows are read wherever they lie";
}

TEST(SharedFormsTest, OneMakesAndTheOthersWait) {
  SharedForms forms;
  std::atomic<int> made = 0;
  std::vector<SharedForms::Form> got(8);
  std::vector<std::thread> threads;
  for (auto& form : got) {
    threads.emplace_back([&] {
      form = *forms.FindOrMake("key", [&]() -> Result<SharedForms::Form> {
        ++made;
        return std::make_shared<const SharedForms::Held>();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  for (const auto& form : got) EXPECT_EQ(form, got[0]);
}

TEST(SharedFormsTest, KeysWhoseFormHasGoneDoNotPileUp) {
  SharedForms forms;
  const auto make = []() -> Result<SharedForms::Form> {
    return std::make_shared<const SharedForms::Held>();
  };
  const auto kept = forms.FindOrMake("kept", make);
  for (int i = 0; i < 10000; ++i) EXPECT_TRUE(forms.FindOrMake(std::to_string(i), make).ok());
  EXPECT_LE(forms.size(), 100U);
  EXPECT_EQ(*forms.FindOrMake("kept", make), *kept);
}

}  // namespace packed_store_test
}  // namespace plimsoll::engine
