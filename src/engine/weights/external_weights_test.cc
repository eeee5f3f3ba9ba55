#include "engine/weights/external_weights.h"

#include <sys/stat.h>

#include "engine/session.h"
#include "engine/weights/weight_files_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace external_weights_test {

using graph::GraphBuilder;
using graph::ValueId;
namespace fs = std::filesystem;

nlink_t NamesOfFile(const fs::path& file) {
  struct stat about {};
  return ::stat(file.c_str(), &about) == 0 ? about.st_nlink : 0;
}

// What a graph gives for one input, run in a session of its own without files.
std::vector<float> Expected(graph::Graph graph, const kernels::HostTensor& x) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  return ElementsOf(MustRun(*session, id, {x})[0]);
}

TEST(ExternalWeightsTest, R114_WithoutItWeightsStayInTheGraphAndNothingIsWritten) {
  const TemporaryFolder work;
  SessionOptions options;
  options.config.work_path = work.path().string();
  const auto session = MakeSession(options);
  MustRun(*session, MustAdd(*session, Product(1)), {Random({4, 32}, 1)});
  EXPECT_TRUE(NamesIn(work.path()).empty());
}

TEST(ExternalWeightsTest, R115_EveryConstantLargeOrSmallBecomesAFileNamedAfterItsBytes) {
  const TemporaryFolder work;
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({2, 3}));
  const std::vector<float> stored = {4, 5, 6};
  const std::vector<float> large(3 * 70000, 0.25F);
  graph::ConstantTensor tensor;
  tensor.type = graph::DataType::kFloat32;
  tensor.dims = {3};
  tensor.bytes = std::as_bytes(std::span(stored));
  const ValueId node = builder.Node("Constant", {}, compile::With("value", tensor));
  const ValueId sum =
      builder.Node("Add", {builder.Node("Mul", {x, node}), builder.Float32s("one", {}, {1})});
  builder.Output(builder.Node("MatMul", {sum, builder.Float32s("large", {3, 70000}, large)}));
  graph::Graph graph = builder.Build();
  for (const bool optimise : {true, false}) {
    SessionOptions options = WithWeightsIn(work.path());
    options.load.optimise = optimise;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, graph);
    const auto y = MustRun(*session, id, {Floats({2, 3}, {1, 1, 1, 2, 2, 2})});
    EXPECT_EQ(ElementsOf(y[0])[0], 0.25F * (4 + 5 + 6 + 3));
    const fs::path folder = OnlyFolderIn(work.path());
    for (const std::string& bytes :
         {BytesOf(stored), BytesOf(large), BytesOf(std::vector<float>{1})}) {
      EXPECT_EQ(ContentOf(folder / NameOf(bytes)), bytes) << optimise;
    }
    EXPECT_EQ(WeightsIn(folder).size(), 3U) << optimise;
  }
}

TEST(ExternalWeightsTest, R115_StringsAndTensorsWithoutElementsAreWeightsToo) {
  const TemporaryFolder work;
  const std::string text = "onetwo";
  graph::Graph graph;
  graph::ConstantTensor strings;
  strings.type = graph::DataType::kString;
  strings.dims = {3};
  strings.strings = {std::string_view(text).substr(0, 3), "", std::string_view(text).substr(3)};
  graph::ConstantTensor nothing;
  nothing.type = graph::DataType::kFloat32;
  nothing.dims = {0, 4};
  graph.constants = {strings, nothing};
  ExternalWeights weights(work.path(), 0);
  WeightLease lease;
  ASSERT_TRUE(weights.Hold(graph, lease).ok());
  EXPECT_EQ(WeightsIn(OnlyFolderIn(work.path())).size(), 2U);
  EXPECT_EQ(graph.constants[0].strings, strings.strings);
  EXPECT_NE(graph.constants[0].strings[0].data(), text.data());
  EXPECT_TRUE(graph.constants[1].bytes.empty());
}

TEST(ExternalWeightsTest, R115_TheGraphViewsTheFileAndLetsGoOfWhatHeldItsBytes) {
  const TemporaryFolder work;
  graph::Graph graph = Product(1);
  const std::weak_ptr<const void> before = graph.constants[0].storage;
  ASSERT_FALSE(before.expired());
  ExternalWeights weights(work.path(), 0);
  WeightLease lease;
  ASSERT_TRUE(weights.Hold(graph, lease).ok());
  EXPECT_TRUE(before.expired());
  const auto hash = lease.HashAt(graph.constants[0].bytes);
  ASSERT_TRUE(hash.has_value());
  EXPECT_EQ(*hash, HashOf(graph.constants[0].bytes));
  EXPECT_FALSE(lease.HashAt(graph.constants[0].bytes.first(4)).has_value());
}

TEST(ExternalWeightsTest, R116_EqualWeightsOfSeveralModelsAreHeldOnce) {
  const TemporaryFolder work;
  const kernels::HostTensor four = Random({4, 32}, 7);
  const kernels::HostTensor nine = Random({9, 32}, 8);
  for (const bool external : {true, false}) {
    SessionOptions options = WithWeightsIn(work.path());
    options.config.external_weight = external;
    const auto session = MakeSession(options);
    const GraphId first = MustAdd(*session, Product(1));
    EXPECT_EQ(ElementsOf(MustRun(*session, first, {four})[0]), Expected(Product(1), four));
    const Bytes one = session->Memory().weights;
    EXPECT_EQ(one, session->Memory(first)->weights);
    const GraphId second = MustAdd(*session, Product(1, 9));
    EXPECT_EQ(ElementsOf(MustRun(*session, second, {nine})[0]), Expected(Product(1, 9), nine));
    EXPECT_EQ(session->Memory(second)->weights, one);
    EXPECT_EQ(session->Memory().weights, external ? one : one + one);
    EXPECT_EQ(NamesIn(work.path()).size(), external ? 1U : 0U);
    if (external) {
      EXPECT_EQ(WeightsIn(OnlyFolderIn(work.path())).size(), 2U);
    }
  }
}

TEST(ExternalWeightsTest, R117_WithoutAWorkPathTheFolderIsBelowTheCurrentOne) {
  const TemporaryFolder work;
  const fs::path before = fs::current_path();
  fs::current_path(work.path());
  const auto session = MakeSession(WithWeightsIn(""));
  const GraphId id = MustAdd(*session, Product(1));
  fs::current_path(before);
  const std::string name = OnlyFolderIn(work.path()).filename();
  EXPECT_TRUE(name.starts_with(StrCat("tmp_weight_", getpid(), "_"))) << name;
  // It goes even though the process has changed its folder since.
  EXPECT_TRUE(session->Unload(id).ok());
  EXPECT_TRUE(NamesIn(work.path()).empty());
}

TEST(ExternalWeightsTest, R105_R118_WithAWorkPathTheFolderIsBelowItOneForEachSession) {
  const TemporaryFolder work;
  const auto one = MakeSession(WithWeightsIn(work.path()));
  const auto two = MakeSession(WithWeightsIn(work.path()));
  MustAdd(*one, Product(1));
  MustAdd(*two, Product(2));
  const std::vector<std::string> names = NamesIn(work.path());
  ASSERT_EQ(names.size(), 2U);
  for (const std::string& name : names) {
    EXPECT_TRUE(IsWeightFolderName(name)) << name;
    EXPECT_TRUE(name.starts_with(StrCat("tmp_weight_", getpid(), "_"))) << name;
    EXPECT_EQ(fs::status(work.path() / name).permissions(), fs::perms::owner_all);
  }
}

TEST(ExternalWeightsTest, R119_AFileGoesWithTheLastModelThatUsesItAndTheFolderWithTheLastFile) {
  const TemporaryFolder work;
  const auto session = MakeSession(WithWeightsIn(work.path()));
  const GraphId first = MustAdd(*session, Product(1));
  const GraphId same = MustAdd(*session, Product(1));
  const GraphId other = MustAdd(*session, Product(5));
  const fs::path folder = OnlyFolderIn(work.path());
  EXPECT_EQ(WeightsIn(folder).size(), 4U);
  EXPECT_TRUE(session->Unload(first).ok());
  EXPECT_EQ(WeightsIn(folder).size(), 4U);
  EXPECT_TRUE(session->Unload(same).ok());
  EXPECT_EQ(WeightsIn(folder).size(), 2U);
  MustRun(*session, other, {Random({4, 32}, 1)});
  EXPECT_TRUE(session->Unload(other).ok());
  EXPECT_TRUE(NamesIn(work.path()).empty());
  MustAdd(*session, Product(1));
  EXPECT_EQ(OnlyFolderIn(work.path()), folder);
}

TEST(ExternalWeightsTest, R119_TheFolderGoesWithTheSessionAlthoughACompiledModelLivesOn) {
  const TemporaryFolder work;
  auto session = MakeSession(WithWeightsIn(work.path()));
  const GraphId id = MustAdd(*session, Product(1, graph::Dim::Symbol("rows")));
  const kernels::HostTensor x = Random({4, 32}, 1);
  const auto compiled = session->Compile(id, Views({x}));
  ASSERT_TRUE(compiled.ok());
  session.reset();
  EXPECT_TRUE(NamesIn(work.path()).empty());
}

TEST(ExternalWeightsTest, SessionsOfAProcessLinkWhatTheyShare) {
  const TemporaryFolder work;
  auto one = MakeSession(WithWeightsIn(work.path() / "."));
  MustAdd(*one, Product(1));
  const fs::path first = OnlyFolderIn(work.path());
  const std::string weight = WeightsIn(first)[0];
  EXPECT_EQ(NamesOfFile(first / weight), 1U);
  const auto two = MakeSession(WithWeightsIn(work.path()));
  const GraphId id = MustAdd(*two, Product(1));
  EXPECT_EQ(NamesOfFile(first / weight), 2U);
  one.reset();
  const fs::path second = OnlyFolderIn(work.path());
  EXPECT_NE(second, first);
  EXPECT_EQ(NamesOfFile(second / weight), 1U);
  const kernels::HostTensor x = Random({4, 32}, 1);
  EXPECT_EQ(ElementsOf(MustRun(*two, id, {x})[0]), Expected(Product(1), x));
}

TEST(ExternalWeightsTest, WhereLinksAreRefusedTheFileIsACopyAndTheMemoryIsShared) {
  const TemporaryFolder work;
  std::string elsewhere = "/dev/shm/plimsoll_weights_XXXXXX";
  if (mkdtemp(elsewhere.data()) == nullptr) GTEST_SKIP() << "no second file system here";
  graph::Graph graph = Product(1);
  graph::Graph same = Product(1);
  {
    ExternalWeights one(work.path(), 0);
    ExternalWeights two(elsewhere, 1);
    WeightLease first;
    WeightLease second;
    EXPECT_TRUE(one.Hold(graph, first).ok());
    EXPECT_TRUE(two.Hold(same, second).ok());
    EXPECT_EQ(graph.constants[0].bytes.data(), same.constants[0].bytes.data());
    const std::string name = WeightFileName(*second.HashAt(same.constants[0].bytes));
    EXPECT_EQ(ContentOf(OnlyFolderIn(work.path()) / name),
              ContentOf(OnlyFolderIn(elsewhere) / name));
  }
  EXPECT_TRUE(NamesIn(elsewhere).empty());
  fs::remove(elsewhere);
}

TEST(ExternalWeightsTest, AGraphThatRunsNodeByNodeReadsItsWeightsFromTheFilesToo) {
  const TemporaryFolder work;
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId kept = builder.Node("NonZero", {x});  // as many as data tells
  const ValueId count = builder.Node("Shape", {kept});
  const ValueId sum = builder.Node("Add", {count, builder.Int64s("offset", {10, 20})});
  builder.Output(sum);
  graph::Graph graph = builder.Build();
  const auto session = MakeSession(WithWeightsIn(work.path()));
  const GraphId id = MustAdd(*session, std::move(graph));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({4}, {1, 0, 2, 3})})[0]),
            (std::vector<float>{11, 23}));
  EXPECT_EQ(ContentOf(OnlyFolderIn(work.path()) / NameOf(BytesOf(std::vector<int64_t>{10, 20}))),
            BytesOf(std::vector<int64_t>{10, 20}));
}

}  // namespace external_weights_test
}  // namespace plimsoll::engine
