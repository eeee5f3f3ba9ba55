#include <gtest/gtest.h>
#include <lzma.h>

#include "cli/commands/config_arguments.h"
#include "cli/inputs/compressed_file.h"
#include "cli/inputs/folder_for_tests.h"
#include "cli/inputs/initial_variables.h"
#include "cli/inputs/model_inputs.h"
#include "cli/inputs/text_file.h"
#include "cli/inputs/training_inputs.h"
#include "compile/graph_for_tests.h"
#include "engine/api/port_tensors.h"
#include "engine/session.h"
#include "kernels/element_types.h"

// What a command makes of its arguments: options, inputs, first values of variables, files.
namespace plimsoll::cli {
namespace arguments_test {

using compile::FloatTensor;
using config::StaticMemoryPolicy;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

HostTensor Counting(kernels::Dims dims, float first = 0) {
  HostTensor tensor = *kernels::AllocateOnHeap(DataType::kFloat32, std::move(dims));
  auto* const elements = static_cast<float*>(tensor.data.get());
  for (int64_t i = 0; i < tensor.elements(); ++i) elements[i] = first + static_cast<float>(i);
  return tensor;
}

float FirstOf(const TensorView& tensor) { return *static_cast<const float*>(tensor.data); }

std::string CodeOf(const Status& status) { return status.ok() ? "" : status.error().code; }

ConfigArguments Arguments(std::vector<std::string> files, std::vector<std::string> settings,
                          std::vector<std::string> policies = {}) {
  ConfigArguments arguments;
  arguments.files = std::move(files);
  arguments.settings = std::move(settings);
  arguments.shorts.push_back({"--policy", "static_memory_policy", std::move(policies)});
  return arguments;
}

TEST(ConfigArgumentsTest, TheCommandLineWinsOverFilesAndSaysWhereValuesComeFrom) {
  const TestFolder folder;
  const std::string one = folder.Write("one.json", R"({"static_memory_policy": 3})");
  const std::string two = folder.Write("two.toml", "deterministic = 1\n");
  const auto from_files = ResolveArguments(Arguments({one, two}, {}));
  ASSERT_TRUE(from_files.ok());
  EXPECT_EQ(from_files->config.memory_config.static_memory_policy,
            StaticMemoryPolicy::kExpandableDynamic);
  EXPECT_TRUE(from_files->config.deterministic) << "of the second file";
  const auto with_set = ResolveArguments(Arguments({one, two}, {"static_memory_policy=2"}));
  ASSERT_TRUE(with_set.ok());
  EXPECT_EQ(with_set->config.memory_config.static_memory_policy, StaticMemoryPolicy::kSharedStatic);
  EXPECT_EQ(with_set->of("static_memory_policy").origin, "--set");
  EXPECT_EQ(with_set->of("deterministic").origin, two + ":1:1");
  const auto with_short = ResolveArguments(Arguments({one}, {}, {"4"}));
  ASSERT_TRUE(with_short.ok());
  EXPECT_EQ(with_short->of("static_memory_policy").origin, "--policy");
}

TEST(ConfigArgumentsTest, WhatContradictsOrCannotBeReadIsRefused) {
  const TestFolder folder;
  const std::string one = folder.Write("one.json", R"({"static_memory_policy": 3})");
  const std::string other = folder.Write("other.json", R"({"static_memory_policy": 2})");
  EXPECT_EQ(CodeOf(ResolveArguments(Arguments({one, other}, {})).status()), "config.twice");
  EXPECT_EQ(CodeOf(ResolveArguments(Arguments({}, {"static_memory_policy=2"}, {"3"})).status()),
            "config.twice");
  EXPECT_EQ(CodeOf(ResolveArguments(Arguments({one, folder / "none"}, {})).status()),
            "config.file");
  EXPECT_EQ(CodeOf(ResolveArguments(Arguments({}, {"deterministic=1", "x"})).status()),
            "config.setting");
  EXPECT_EQ(CodeOf(ResolveArguments(Arguments({}, {}, {"3", "5"})).status()), "config.value");
}

TEST(InputArgumentsTest, TheLastEqualsSignPartsNameAndSource) {
  const auto read = ParseInputArgument("a=b=c.npy");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->name, "a=b");
  EXPECT_EQ(read->source, "c.npy");
  for (const char* text : {"x", "=x", "x=", ""}) {
    EXPECT_EQ(CodeOf(ParseInputArgument(text).status()), "input.argument") << text;
  }
}

// x float32[batch, 4], n int64[3], s float32[] of the model's own.
Graph ThreeInputs() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("batch"), 4}));
  builder.Input("n", graph::ValueType::Tensor(DataType::kInt64, graph::Shape{3}));
  builder.Input("s", FloatTensor({}));
  builder.Output(builder.Node("Neg", {x}));
  return builder.Build();
}

TEST(InputArgumentsTest, InputsAreDrawnTheSameEveryTimeAndWithinTheirKind) {
  const Graph graph = ThreeInputs();
  const auto first = MakeInputs(graph, {{"n", "random"}}, {{"batch", {100}}});
  const auto again = MakeInputs(graph, {}, {{"batch", {100}}});
  ASSERT_TRUE(first.ok() && again.ok());
  ASSERT_EQ(first->size(), 3U);
  const HostTensor& x = (*first)[0].tensor;
  EXPECT_EQ(x.dims, (kernels::Dims{100, 4}));
  bool below = false;
  bool above = false;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double element = kernels::LoadDouble(x.type, x.data.get(), i);
    EXPECT_LE(std::abs(element), 1);
    below = below || element < -0.5;
    above = above || element > 0.5;
    EXPECT_EQ(element, kernels::LoadDouble(x.type, (*again)[0].tensor.data.get(), i));
  }
  EXPECT_TRUE(below && above);
  const HostTensor& n = (*first)[1].tensor;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t element = kernels::LoadInteger(n.type, n.data.get(), i);
    EXPECT_TRUE(element == 0 || element == 1);
  }
  EXPECT_EQ((*first)[2].tensor.dims, kernels::Dims());
}

TEST(InputArgumentsTest, AFileGoesToTheInputThatItIsFor) {
  const TestFolder folder;
  const Graph graph = ThreeInputs();
  const std::string scalar = folder.Write("s.npy", Counting({}, 7));
  const std::string rows = folder.Write("x.npy", Counting({2, 4}));
  const auto inputs = MakeInputs(graph, {{"s", scalar}, {"x", rows}}, {});
  ASSERT_TRUE(inputs.ok()) << inputs.error().Text();
  EXPECT_EQ((*inputs)[0].tensor.dims, (kernels::Dims{2, 4}));
  EXPECT_EQ(*static_cast<const float*>((*inputs)[2].tensor.data.get()), 7);
}

TEST(InputArgumentsTest, WhatCannotBeMadeIsNamed) {
  const TestFolder folder;
  const Graph graph = ThreeInputs();
  const auto code = [&](const std::vector<InputArgument>& arguments,
                        const std::vector<compile::ShapeArgument>& shapes) {
    return CodeOf(MakeInputs(graph, arguments, shapes).status());
  };
  EXPECT_EQ(code({}, {}), "input.shape") << "batch is open";
  EXPECT_EQ(code({{"y", "random"}}, {{"batch", {1}}}), "input.name");
  EXPECT_EQ(code({{"x", "nothing"}}, {{"batch", {1}}}), "input.source");
  EXPECT_EQ(code({{"x", folder / "none.npy"}}, {{"batch", {1}}}), "npy.file");
  EXPECT_EQ(MakeInputs(graph, {{"xx", "random"}}, {{"batch", {1}}}).error().remedy,
            "did you mean 'x'?");
}

TEST(InputArgumentsTest, ArgumentsForSeveralModelsReachThoseThatHaveThem) {
  const std::vector<compile::ShapeArgument> known =
      KnownArguments(ThreeInputs(), {{"batch", {2}}, {"other", {3}}, {"n", {3}}, {"batc", {4}}});
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0].name, "batch");
  EXPECT_EQ(known[1].name, "n");
}

TEST(InputArgumentsTest, OpenSizesCountAsOneAndVariablesAreNoInputs) {
  const auto shapes = engine::InputShapes(ThreeInputs(), {});
  ASSERT_TRUE(shapes.ok());
  ASSERT_EQ(shapes->size(), 3U);
  EXPECT_EQ((*shapes)[0].dims, (kernels::Dims{1, 4}));
  EXPECT_EQ((*shapes)[1].type, DataType::kInt64);
  EXPECT_EQ((*shapes)[2].dims, kernels::Dims());
  const Graph without = WithoutVariables(ThreeInputs(), {{"x", "", ""}, {"s", "", ""}});
  ASSERT_EQ(without.root().inputs.size(), 1U);
  EXPECT_EQ(without[without.root().inputs[0]].name, "n");
  Graph opened = ThreeInputs();
  OpenShapes(opened, {{"n", {8}}});
  EXPECT_FALSE(graph::IsStatic(*opened[opened.root().inputs[1]].declared.shape));
  EXPECT_EQ(opened[opened.root().inputs[2]].declared.shape->size(), 0U);
}

// x has three batches, s is the same at each step.
TEST(TrainingInputsTest, EachStepTakesTheNextBatchAndBeginsAgain) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  builder.Input("s", FloatTensor({2}));
  builder.Output(builder.Node("Neg", {x}));
  const Graph graph = builder.Build();
  const TestFolder folder;
  auto inputs = TrainingInputs::Make(graph,
                                     {{"x", folder.Write("x.npy", Counting({3, 2}))},
                                      {"s", folder.Write("s.npy", Counting({2}, 9))}},
                                     {});
  ASSERT_TRUE(inputs.ok()) << inputs.error().Text();
  for (const int64_t step : {0, 1, 2, 3, 7}) {
    const auto given = inputs->At(step);
    ASSERT_EQ(given.size(), 2U);
    EXPECT_EQ(given[0].dims, (kernels::Dims{2}));
    EXPECT_EQ(FirstOf(given[0]), static_cast<float>(step % 3 * 2)) << "step " << step;
    EXPECT_EQ(FirstOf(given[1]), 9);
  }
  const auto none =
      TrainingInputs::Make(graph, {{"x", folder.Write("none.npy", Counting({0, 2}))}}, {});
  EXPECT_EQ(CodeOf(none.status()), "input.batches");
}

class InitialVariablesTest : public testing::Test {
 protected:
  InitialVariablesTest() : session_(*engine::Session::Create({})) {
    GraphBuilder builder;
    const ValueId a = builder.Input("a", FloatTensor({2, 16}));
    const ValueId b = builder.Input("b", FloatTensor({16}));
    builder.Output(builder.Node("Add", {a, b}));
    EXPECT_TRUE(session_->Add(builder.Build(), names_).ok());
  }
  std::string Set(const std::vector<std::string>& arguments) {
    return CodeOf(SetInitialVariables(*session_, names_, arguments));
  }
  std::vector<float> Get(const std::string& name, kernels::Dims dims) const {
    const HostTensor into = *kernels::AllocateOnHeap(DataType::kFloat32, dims);
    EXPECT_TRUE(session_->variables().Get(name, {into.type, into.dims, into.data.get()}).ok());
    const auto* const elements = static_cast<const float*>(into.data.get());
    return {elements, elements + into.elements()};
  }

  const TestFolder folder_;
  const std::vector<engine::VariableName> names_ = {{"a", "", "parameters"},
                                                    {"b", "", "parameters"}};
  std::unique_ptr<engine::Session> session_;
};

TEST_F(InitialVariablesTest, AKindNamesAllOfItsVariablesAndALaterArgumentWins) {
  ASSERT_EQ(Set({"parameters=random"}), "");
  for (const float element : Get("b", {16})) EXPECT_NE(element, 0);
  ASSERT_EQ(Set({"parameters=random", "b=" + folder_.Write("b.npy", Counting({16}, 5))}), "");
  EXPECT_EQ(Get("b", {16})[0], 5);
  EXPECT_EQ(Get("b", {16})[15], 20);
  const std::vector<float> a = Get("a", {2, 16});
  float largest = 0;
  for (const float element : a) largest = std::max(largest, std::abs(element));
  EXPECT_GT(largest, 0.125F);
  EXPECT_LE(largest, 0.25F) << "1 / sqrt(16)";
}

TEST_F(InitialVariablesTest, AFolderGivesThoseThatItHas) {
  folder_.Write("a.npy", Counting({2, 16}, 3));
  ASSERT_EQ(Set({folder_.path()}), "");
  EXPECT_EQ(Get("a", {2, 16})[31], 34);
  EXPECT_EQ(Get("b", {16})[3], 0);
}

TEST_F(InitialVariablesTest, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(Set({"c=random"}), "initial.argument");
  EXPECT_EQ(Set({"a=zeros"}), "initial.argument");
  EXPECT_EQ(Set({folder_.path()}), "initial.argument") << "it is empty";
  EXPECT_EQ(Set({"a=" + folder_.Write("a.npy", Counting({16}))}), "variables.differs");
  EXPECT_EQ(Set({"a=" + (folder_ / "none.npy")}), "npy.file");
}

TEST(TextFilesTest, AFileIsReplacedWholeOrNotAtAll) {
  const TestFolder folder;
  const std::string file = folder / "a.txt";
  ASSERT_EQ(CodeOf(WriteTextFile(file, "first")), "");
  ASSERT_EQ(CodeOf(WriteTextFile(file, "2")), "");
  EXPECT_EQ(TestFolder::Read(file), "2");
  EXPECT_EQ(folder.size(), 1U);
  std::filesystem::create_directory(folder / "b.txt");
  folder.Write("b.txt/inside", "x");
  EXPECT_EQ(CodeOf(WriteTextFile(folder / "b.txt", "text")), "file.write");
  EXPECT_EQ(CodeOf(WriteTextFile(folder / "none/c.txt", "text")), "file.write");
  EXPECT_EQ(folder.size(), 2U) << "nothing unfinished stays";
  EXPECT_EQ(CodeOf(ReadTextFile(folder / "b.txt").status()), "file.read");
  EXPECT_EQ(CodeOf(ReadTextFile(folder / "c.txt").status()), "file.read");
}

TEST(TextFilesTest, WhatIsNoRegularFileIsWrittenIntoAndLinksStay) {
  const TestFolder folder;
  folder.Write("kept.txt", "old");
  std::filesystem::create_symlink(folder / "kept.txt", folder / "link.txt");
  ASSERT_EQ(CodeOf(WriteTextFile(folder / "link.txt", "new")), "");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(TestFolder::Read(folder / "kept.txt"), "new");
  ASSERT_EQ(CodeOf(WriteTextFile("/dev/null", "gone")), "");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

std::string Packed(const std::string& text) {
  std::string packed(text.size() + 1024, '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(
                0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                text.size(), reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

TEST(TextFilesTest, AFileIsUnpackedByItsNameOrItsBeginning) {
  const TestFolder folder;
  const std::string text(200'000, 'a');  // more than one piece
  const std::string packed = Packed(text);
  EXPECT_EQ(*ReadMaybeCompressed(folder.Write("a.csv.xz", packed)), text);
  EXPECT_EQ(*ReadMaybeCompressed(folder.Write("b.csv", packed)), text);
  EXPECT_EQ(*ReadMaybeCompressed(folder.Write("plain.csv", "7zXZ")), "7zXZ");
  EXPECT_EQ(*ReadMaybeCompressed(folder.Write("c.xz", packed + Packed("more"))), text + "more");
  EXPECT_EQ(
      CodeOf(
          ReadMaybeCompressed(folder.Write("d.xz", packed.substr(0, packed.size() - 1))).status()),
      "file.xz");
  EXPECT_EQ(CodeOf(ReadMaybeCompressed(folder.Write("e.xz", "plain")).status()), "file.xz");
  EXPECT_EQ(CodeOf(ReadMaybeCompressed(folder / "f.xz").status()), "file.read");
}

}  // namespace arguments_test
}  // namespace plimsoll::cli
