#include "engine/debug/tensor_dump.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/debug/debug_for_tests.h"
#include "engine/file_size_limit_for_tests.h"
#include "engine/streams/streamed_graphs_for_tests.h"
#include "engine/variables/training_for_tests.h"

// dump_config (R199): tensors of runs as files.
namespace plimsoll::engine {
namespace tensor_dump_test {

using config::DumpSettings;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

class TensorDumpTest : public testing::Test {
 protected:
  SessionOptions Dumping(SessionOptions options = WithoutPasses()) const {
    options.config.dump.enabled = true;
    options.config.dump.path = folder_.path();
    return options;
  }
  // Of the only session that wrote there.
  std::filesystem::path SessionFolder() const { return OnlyFolderIn(folder_.path()); }
  std::filesystem::path StepFolder(int step = 0) const {
    return OnlyFolderIn(SessionFolder()) / std::to_string(step);
  }

  TemporaryFolder folder_;
};

TEST_F(TensorDumpTest, R199_OutputsOfEveryNodeAreWrittenAsArrays) {
  const auto session = MakeSession(Dumping());
  const GraphId id = MustAdd(*session, WithCopier());
  const auto outputs = MustRun(*session, id, {Floats({4}, {-1, 2, 3, -4})});
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{0, -2, -3, 0}));
  EXPECT_EQ(FilesBelow(StepFolder()),
            (std::vector<std::string>{"Copier.middle.output.0.npy", "Neg.last.output.0.npy",
                                      "Relu.first.output.0.npy", "mapping.csv"}));
  ExpectFloatFile(StepFolder() / "Relu.first.output.0.npy", {4}, {0, 2, 3, 0});
  ExpectFloatFile(StepFolder() / "Neg.last.output.0.npy", {4}, {-0.0F, -2, -3, -0.0F});
  EXPECT_NE(
      ContentOf(StepFolder() / "mapping.csv").find("Relu.first.output.0.npy,first,Relu,output,0,"),
      std::string::npos);
}

TEST_F(TensorDumpTest, NothingIsWrittenUnlessAskedFor) {
  SessionOptions options = WithoutPasses();
  options.config.dump.path = folder_.path();
  const auto session = MakeSession(options);
  MustRun(*session, MustAdd(*session, WithCopier()), {Random({4}, 1)});
  EXPECT_EQ(FilesBelow(folder_.path()), std::vector<std::string>());
}

// The operator writes over its input.
TEST_F(TensorDumpTest, InputsAreAsTheOperatorFoundThem) {
  SessionOptions options = Dumping();
  options.config.dump.mode = DumpSettings::Mode::kAll;
  options.config.dump.layers = {"middle"};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, WithCopier());
  const ScopedMisdeed adds([](const OperatorCall& call, Bytes) -> Status {
    static_cast<float*>(call.outputs[0])[0] += 10;
    return {};
  });
  MustRun(*session, id, {Floats({4}, {1, 2, 3, 4})});
  EXPECT_EQ(FilesBelow(StepFolder(), ".npy"),
            (std::vector<std::string>{"Copier.middle.input.0.npy", "Copier.middle.output.0.npy"}));
  ExpectFloatFile(StepFolder() / "Copier.middle.input.0.npy", {4}, {1, 2, 3, 4});
  ExpectFloatFile(StepFolder() / "Copier.middle.output.0.npy", {4}, {11, 2, 3, 4});
}

TEST_F(TensorDumpTest, ModeInputLeavesOutputsOut) {
  SessionOptions options = Dumping();
  options.config.dump.mode = DumpSettings::Mode::kInput;
  const auto session = MakeSession(options);
  MustRun(*session, MustAdd(*session, WithCopier()), {Random({4}, 1)});
  EXPECT_EQ(FilesBelow(StepFolder(), ".npy"),
            (std::vector<std::string>{"Copier.middle.input.0.npy", "Neg.last.input.0.npy",
                                      "Relu.first.input.0.npy"}));
}

TEST_F(TensorDumpTest, OnlyTheStepsThatAreAskedFor) {
  SessionOptions options = Dumping();
  options.config.dump.steps = {{.first = 0, .last = 0}, {.first = 2, .last = 3}};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, WithCopier());
  for (int run = 0; run < 6; ++run) MustRun(*session, id, {Random({4}, 1)});
  std::set<std::string> steps;
  for (const std::string& file : FilesBelow(OnlyFolderIn(SessionFolder()))) {
    steps.insert(file.substr(0, file.find('/')));
  }
  EXPECT_EQ(steps, (std::set<std::string>{"0", "2", "3"}));
}

TEST_F(TensorDumpTest, ALayerThatDoesNotRunIsTold) {
  SessionOptions options = Dumping();
  options.config.dump.layers = {"last", "lost"};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, WithCopier());
  const LoggedLines lines;
  MustRun(*session, id, {Random({4}, 1)});
  EXPECT_EQ(FilesBelow(StepFolder(), ".npy"), (std::vector<std::string>{"Neg.last.output.0.npy"}));
  EXPECT_NE(lines.text().find("'lost'"), std::string::npos);
  EXPECT_EQ(lines.text().find("'last'"), std::string::npos);
}

// Folders, other alphabets, very long, no name, and names that only differ in what is replaced.
TEST_F(TensorDumpTest, AnyNameMakesAFile) {
  const std::vector<std::string> names = {"a/b",
                                          "a b",
                                          "../../x",
                                          "\xc3\xa4\xe5\xb1\x82",
                                          "",
                                          "a\nb",
                                          std::string(4000, 'n'),
                                          std::string(4000, 'n') + "2"};
  GraphBuilder builder;
  ValueId value = builder.Input("x", compile::FloatTensor({2}));
  std::vector<ValueId> made;
  for (size_t i = 0; i < names.size(); ++i) {
    value = builder.Node("Neg", {value});
    made.push_back(value);
  }
  builder.Output(value);
  Graph graph = builder.Build();
  for (size_t i = 0; i < names.size(); ++i) MakerIn(graph, made[i]).name = names[i];
  const auto session = MakeSession(Dumping());
  MustRun(*session, MustAdd(*session, graph), {Random({2}, 1)});
  const auto files = FilesBelow(StepFolder(), ".npy");
  EXPECT_EQ(files.size(), names.size());
  for (const std::string& file : files) {
    EXPECT_EQ(file.find('/'), std::string::npos) << file;
    EXPECT_LT(file.size(), 255U);
  }
  EXPECT_EQ(FilesBelow(folder_.path(), ".npy").size(), names.size()) << "none elsewhere";
}

TEST_F(TensorDumpTest, FilesOfEarlierSessionsStay) {
  for (int i = 0; i < 3; ++i) {
    const auto session = MakeSession(Dumping());
    MustRun(*session, MustAdd(*session, WithCopier()), {Random({4}, 1)});
  }
  EXPECT_EQ(FilesBelow(folder_.path(), ".npy").size(), 9U);
}

TEST_F(TensorDumpTest, TwoGraphsOfASessionHaveAFolderEach) {
  const auto session = MakeSession(Dumping());
  for (int i = 0; i < 2; ++i) {
    MustRun(*session, MustAdd(*session, WithCopier()), {Random({4}, 1)});
  }
  EXPECT_EQ(FilesBelow(SessionFolder(), ".npy").size(), 6U);
}

TEST_F(TensorDumpTest, StatisticsComeAsOneTable) {
  SessionOptions options = Dumping();
  options.config.dump.data = DumpSettings::Data::kStats;
  options.config.dump.layers = {"first"};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, WithCopier());
  MustRun(*session, id, {Floats({4}, {1, 2, 6, std::numeric_limits<float>::infinity()})});
  EXPECT_EQ(FilesBelow(StepFolder()), (std::vector<std::string>{"statistics.csv"}));
  const std::string table = ContentOf(StepFolder() / "statistics.csv");
  EXPECT_TRUE(table.starts_with(
      "node,operator,operand,index,value,type,shape,elements,min,max,mean,nan,inf\nfirst,Relu,"))
      << table;
  EXPECT_TRUE(table.ends_with(",float32,4,4,1,6,3,0,1\n")) << table;
}

TEST_F(TensorDumpTest, AFullDiskIsToldAndTheRunGoesOn) {
  const auto session = MakeSession(Dumping());
  const GraphId id = MustAdd(*session, WithCopier());
  const LoggedLines lines;
  {
    const FileSizeLimit full(40);
    EXPECT_EQ(MustRun(*session, id, {Random({4}, 1)}).size(), 1U);
  }
  const std::string told = lines.text();
  EXPECT_NE(told.find("dump.write"), std::string::npos) << told;
  EXPECT_EQ(told.find("dump.write"), told.rfind("dump.write")) << "told once";
  EXPECT_EQ(FilesBelow(folder_.path()), std::vector<std::string>()) << "nothing half written";
  MustRun(*session, id, {Random({4}, 1)});
  EXPECT_EQ(FilesBelow(StepFolder(1), ".npy").size(), 3U) << "the next run tries again";
}

TEST_F(TensorDumpTest, AFolderThatCannotBeMadeIsToldAndTheRunGoesOn) {
  SessionOptions options = Dumping();
  options.config.dump.path = folder_.Write("file", "") / "below";
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, WithCopier());
  const LoggedLines lines;
  EXPECT_EQ(MustRun(*session, id, {Random({4}, 1)}).size(), 1U);
  EXPECT_NE(lines.text().find("dump.write"), std::string::npos) << lines.text();
}

// As many tensors as nodes run, and the last one is what the caller gets.
TEST_F(TensorDumpTest, OnStreamsAndOnADeviceOutOfReach) {
  for (const char* device : {"cpu", "far"}) {
    SCOPED_TRACE(device);
    const TemporaryFolder folder;
    SessionOptions options = Dumping();
    options.device_name = device;
    options.config.dump.path = folder.path();
    const auto session = MakeSession(options);
    const auto plain = MakeSession(WithoutPasses());
    const std::vector<HostTensor> inputs = {Random({kBraidSide, kBraidSide}, 3)};
    const auto expected = MustRun(*plain, MustAdd(*plain, Braid(3)), inputs);
    const auto got = MustRun(*session, MustAdd(*session, Braid(3)), inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
    const auto files = FilesBelow(folder.path(), ".npy");
    EXPECT_EQ(files.size(), 36U);
    const auto elements = ElementsOf(expected[0]);
    std::string whole = *NpyHeader(DataType::kFloat32, expected[0].dims);
    whole.append(reinterpret_cast<const char*>(elements.data()), elements.size() * 4);
    EXPECT_TRUE(std::ranges::any_of(
        files, [&](const std::string& file) { return ContentOf(folder.path() / file) == whole; }));
  }
}

// Bodies of loops run again and again: each time is a file.
TEST_F(TensorDumpTest, NodeByNodeAndInLoops) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId positive = builder.Node("NonZero", {x});
  builder.Output(
      builder.Node("Neg", {builder.Node("Cast", {positive}, compile::With("to", int64_t{1}))}));
  const auto session = MakeSession(Dumping());
  MustRun(*session, MustAdd(*session, builder.Build()), {Floats({4}, {0, 5, 0, 6})});
  const auto files = FilesBelow(StepFolder(), ".npy");
  ASSERT_EQ(files.size(), 3U);
  const auto negated =
      std::ranges::find_if(files, [](const std::string& file) { return file.starts_with("Neg."); });
  ASSERT_NE(negated, files.end());
  ExpectFloatFile(StepFolder() / *negated, {1, 2}, {-1, -3});
  UnusedNames names;
  EXPECT_EQ(names.Take("a"), "a");
  EXPECT_EQ(names.Take("a"), "a.1");
  EXPECT_EQ(names.Take("b"), "b");
  EXPECT_EQ(names.Take("a"), "a.2");
}

TEST_F(TensorDumpTest, EveryStepOfTraining) {
  SessionOptions options = Dumping(Training());
  options.config.iterations_per_loop = 3;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  MustRun(*session, id, {Floats({4}, {1, 2, 3, 4})});
  MomentumModel model{std::vector<float>(4), std::vector<float>(4)};
  for (int i = 0; i < 3; ++i) model.Step({1, 2, 3, 4});
  EXPECT_EQ(VariableOf(*session, "w"), model.w);
  for (int step = 0; step < 3; ++step) {
    EXPECT_GT(FilesBelow(StepFolder(step), ".npy").size(), 2U) << step;
  }
}

TEST_F(TensorDumpTest, R199_TheFirstOperatorThatOverflowsIsTold) {
  for (const bool dumps : {false, true}) {
    const TemporaryFolder folder;
    SessionOptions options = WithoutPasses();
    options.config.dump.enabled = dumps;
    options.config.dump.find_overflow = true;
    options.config.dump.path = folder.path();
    const auto session = MakeSession(options);
    GraphBuilder builder;
    const ValueId x = builder.Input("x", compile::FloatTensor({2}));
    const ValueId big = builder.Node("Exp", {builder.Node("Neg", {x})});
    builder.Output(builder.Node("Sub", {big, big}));
    Graph graph = builder.Build();
    MakerIn(graph, big).name = "grows";
    const GraphId id = MustAdd(*session, graph);
    {
      const LoggedLines lines;
      MustRun(*session, id, {Floats({2}, {1, 2})});
      MustRun(*session, id, {Floats({2}, {std::numeric_limits<float>::infinity(), 2})});
      EXPECT_EQ(lines.text(), "") << "what was infinite before is nobody's fault";
    }
    const LoggedLines lines;
    MustRun(*session, id, {Floats({2}, {1, -1000})});
    EXPECT_NE(lines.text().find("'grows' (Exp)"), std::string::npos) << lines.text();
    EXPECT_EQ(lines.text().find("Sub"), std::string::npos) << "infinity minus infinity";
    EXPECT_EQ(FilesBelow(OnlyFolderIn(OnlyFolderIn(folder.path())) / "2", ".npy").size(),
              dumps ? 3U : 1U);
  }
}

TEST(TensorStatisticsTest, TypesThatNumPyDoesNotHaveAreWidened) {
  const TemporaryFolder folder;
  const std::array<std::byte, 2> nibbles = {std::byte{0xf1}, std::byte{0x07}};
  ASSERT_TRUE(WriteTensorFile(folder.path() / "a.npy", DataType::kInt4, Ints{3}, nibbles).ok());
  EXPECT_EQ(ContentOf(folder.path() / "a.npy"),
            *NpyHeader(DataType::kInt8, Ints{3}) + std::string("\x01\xff\x07"));
  const std::array<std::byte, 2> half = {std::byte{0x80}, std::byte{0x3f}};
  ASSERT_TRUE(WriteTensorFile(folder.path() / "b.npy", DataType::kBfloat16, Ints{1}, half).ok());
  ExpectFloatFile(folder.path() / "b.npy", {1}, {1});
  EXPECT_EQ(CodeOf(WriteTensorFile(folder.path() / "b.npy", DataType::kInt4, Ints{3}, nibbles)),
            "dump.write")
      << "no file takes the place of another";
  ExpectFloatFile(folder.path() / "b.npy", {1}, {1});
}

}  // namespace tensor_dump_test
}  // namespace plimsoll::engine
