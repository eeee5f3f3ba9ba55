#include "plimsoll/plan/json.h"

#include <gtest/gtest.h>

#include "base/must_for_tests.h"
#include "plan/problem/random_problem_for_tests.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"

namespace plimsoll::plan {
namespace json_test {

TEST(ProblemJsonTest, EveryProblemReadsBackAsItWasWritten) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = RandomProblem(seed).Make();
    const std::string text = WriteProblemJson(problem);
    const auto again = ReadProblemJson(text);
    ASSERT_TRUE(again.ok()) << again.error().Text();
    ASSERT_EQ(WriteProblemJson(*again), text);
    const auto plan = HybridMemAssigner(1).Assign(problem, {.steps = 10});
    const auto plan_again = HybridMemAssigner(1).Assign(*again, {.steps = 10});
    ASSERT_EQ(plan.ok(), plan_again.ok());
    if (!plan.ok()) continue;
    ASSERT_EQ(plan->offsets, plan_again->offsets);
  }
}

// Every field of every row at other than its default.
Problem FullProblem() {
  Problem problem;
  problem.AddRegion({.name = "peer",
                     .kind = RegionKind::kP2p,
                     .memory_type = MemoryType::kP2pDdr,
                     .alignment = 64,
                     .capacity = Bytes(4096)});
  for (const RegionKind kind :
       {RegionKind::kFeatureMap, RegionKind::kZeroCopy, RegionKind::kWeights,
        RegionKind::kVariables, RegionKind::kWorkspace}) {
    problem.AddRegion({.name = Name(kind), .kind = kind, .memory_type = MemoryType::kHost});
  }
  problem.AddBuffer({.name = "plain"});
  problem.AddBuffer({.name = "full",
                     .size = Bytes(int64_t{1} << 40),
                     .alignment = 16,
                     .region = RegionId(2),
                     .life = {.stream = StreamId(1), .begin = 3, .end = 5},
                     .elsewhere = {{StreamId(0), 1, 2}, {StreamId(1), 6, 7}},
                     .fixed_offset = Offset(512),
                     .is_fixed_addr_prior = true,
                     .exclusive = true,
                     .zero_copy = true,
                     .batch = BatchId(1),
                     .atomic_addr_clean_id = 9,
                     .no_zero_copy_reason = "HCOM"});
  problem.aliases = {{BufferId(1), BufferId(0), Bytes(7)}, {BufferId(0), BufferId(1), Bytes(0)}};
  problem.contiguous = {{.members = {BufferId(1), BufferId(0)}, .padded = true},
                        {.members = {BufferId(0)}, .padded = false, .merge_batches = false}};
  problem.AddStream({.name = "main", .steps = 12});
  problem.AddStream({.name = "copy", .steps = 7});
  problem.synchronisations = {{StreamId(0), 3, StreamId(1), 4}, {StreamId(1), 5, StreamId(0), 6}};
  problem.AddBatch("small");
  problem.AddBatch("large");
  return problem;
}

TEST(ProblemJsonTest, EveryFieldIsReadBack) {
  const Problem problem = FullProblem();
  const auto again = ReadProblemJson(WriteProblemJson(problem));
  ASSERT_TRUE(again.ok()) << again.error().Text();
  ASSERT_EQ(again->regions.size(), problem.regions.size());
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    EXPECT_EQ(again->regions[i].name, problem.regions[i].name);
    EXPECT_EQ(again->regions[i].kind, problem.regions[i].kind) << i;
    EXPECT_EQ(again->regions[i].memory_type, problem.regions[i].memory_type) << i;
    EXPECT_EQ(again->regions[i].alignment, problem.regions[i].alignment) << i;
    EXPECT_EQ(again->regions[i].capacity, problem.regions[i].capacity) << i;
  }
  ASSERT_EQ(again->buffers.size(), problem.buffers.size());
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& read = again->buffers[i];
    const Buffer& written = problem.buffers[i];
    EXPECT_EQ(read.name, written.name);
    EXPECT_EQ(read.size, written.size);
    EXPECT_EQ(read.alignment, written.alignment);
    EXPECT_EQ(read.region, written.region);
    EXPECT_EQ(read.life, written.life);
    EXPECT_EQ(read.elsewhere, written.elsewhere);
    EXPECT_EQ(read.fixed_offset, written.fixed_offset);
    EXPECT_EQ(read.is_fixed_addr_prior, written.is_fixed_addr_prior);
    EXPECT_EQ(read.exclusive, written.exclusive);
    EXPECT_EQ(read.zero_copy, written.zero_copy);
    EXPECT_EQ(read.batch, written.batch);
    EXPECT_EQ(read.atomic_addr_clean_id, written.atomic_addr_clean_id);
    EXPECT_EQ(read.no_zero_copy_reason, written.no_zero_copy_reason);
  }
  ASSERT_EQ(again->aliases.size(), 2u);
  EXPECT_EQ(again->aliases[0].buffer, BufferId(1));
  EXPECT_EQ(again->aliases[0].of, BufferId(0));
  EXPECT_EQ(again->aliases[0].offset, Bytes(7));
  ASSERT_EQ(again->contiguous.size(), 2u);
  EXPECT_EQ(again->contiguous[0].members, problem.contiguous[0].members);
  EXPECT_TRUE(again->contiguous[0].padded);
  EXPECT_FALSE(again->contiguous[1].padded);
  ASSERT_EQ(again->streams.size(), 2u);
  EXPECT_EQ(again->streams[1].name, "copy");
  EXPECT_EQ(again->streams[1].steps, 7);
  ASSERT_EQ(again->synchronisations.size(), 2u);
  EXPECT_EQ(again->synchronisations[1].from, StreamId(1));
  EXPECT_EQ(again->synchronisations[1].from_step, 5);
  EXPECT_EQ(again->synchronisations[1].to, StreamId(0));
  EXPECT_EQ(again->synchronisations[1].to_step, 6);
  EXPECT_EQ(again->batches, problem.batches);
}

TEST(ProblemJsonTest, APlanIsWrittenWhole) {
  Problem problem;
  problem.AddRegion({.name = "map"});
  problem.AddRegion({.name = "io"});
  MemoryPlan plan;
  plan.offsets = {Offset(0), Offset(512)};
  plan.regions = {{.size = Bytes(1024), .lower_bound = Bytes(512), .optimal = false},
                  {.size = Bytes(64), .lower_bound = Bytes(64), .optimal = true}};
  plan.clearing_areas = {{RegionId(1), 4, Offset(32), Bytes(16)}};
  plan.merged_blocks = {{RegionId(0), Offset(512), Bytes(128), {2, 5}}};
  plan.notes = {{.kind = PlanNote::Kind::kImmutableAddress, .buffer = BufferId(1), .text = "kept"},
                {.kind = PlanNote::Kind::kMergedBatchesCost, .text = "cost", .bytes = Bytes(3)}};
  plan.assigner = "block";
  plan.deadline_hit = true;
  plan.steps = 17;
  EXPECT_EQ(WritePlanJson(plan, problem),
            R"({
  "assigner": "block",
  "deadline_hit": true,
  "steps": 17,
  "total": 1088,
  "regions": [{"name": "map", "size": 1024, "lower_bound": 512, "optimal": false}, )"
            R"({"name": "io", "size": 64, "lower_bound": 64, "optimal": true}],
  "clearing_areas": [{"region": 1, "atomic_addr_clean_id": 4, "offset": 32, "size": 16}],
  "merged_blocks": [{"region": 0, "offset": 512, "size": 128, "groups": [2, 5]}],
  "notes": [{"kind": "immutable_address", "buffer": 1, "text": "kept"}, )"
            R"({"kind": "merged_batches_cost", "text": "cost", "bytes": 3}],
  "offsets": [0, 512]
}
)");
}

TEST(ProblemJsonTest, GroupsSayWhetherTheyMayBeMergedWithThoseOfOtherBatches) {
  Problem problem;
  problem.contiguous = {{.members = {BufferId(0)}},
                        {.members = {BufferId(1)}, .padded = true, .merge_batches = false}};
  const std::string text = WriteProblemJson(problem);
  EXPECT_NE(text.find("{\"members\": [1], \"padded\": true, \"merge_batches\": false}"),
            std::string::npos)
      << text;
  const auto again = ReadProblemJson(text);
  ASSERT_TRUE(again.ok()) << again.error().Text();
  EXPECT_TRUE(again->contiguous[0].merge_batches);
  EXPECT_FALSE(again->contiguous[1].merge_batches);
}

TEST(ProblemJsonTest, NamesMayHoldAnySign) {
  Problem problem;
  problem.AddRegion({.name = "quote \" slash \\ line \n bell \a caf\xc3\xa9"});
  const auto again = ReadProblemJson(WriteProblemJson(problem));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->regions[0].name, problem.regions[0].name);
}

TEST(ProblemJsonTest, APlanIsWrittenWithItsRegionsAndNotes) {
  Problem problem;
  problem.AddRegion({.name = "map"});
  problem.AddBuffer(
      {.size = Bytes(1000), .life = {.begin = 0, .end = 1}, .no_zero_copy_reason = "HCOM"});
  const std::string text = WritePlanJson(Must(HybridMemAssigner(1).Assign(problem)), problem);
  EXPECT_NE(text.find("\"size\": 1024, \"lower_bound\": 1024, \"optimal\": true"),
            std::string::npos);
  EXPECT_NE(text.find("\"kind\": \"no_zero_copy\", \"buffer\": 0, \"text\": \"HCOM\""),
            std::string::npos);
}

struct BadText {
  std::string text;
  const char* where;
  const char* reason;
};

class BadJsonTest : public testing::TestWithParam<BadText> {};

TEST_P(BadJsonTest, IsRefusedWithLineAndReason) {
  const auto problem = ReadProblemJson(GetParam().text);
  ASSERT_FALSE(problem.ok());
  EXPECT_EQ(problem.error().kind, ErrorKind::kBadFile);
  EXPECT_EQ(problem.error().where, GetParam().where);
  EXPECT_NE(problem.error().why.find(GetParam().reason), std::string::npos)
      << problem.error().Text();
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadJsonTest,
    testing::Values(
        BadText{"", "line 1", "a value is missing"},
        BadText{"{\n\"regions\": [}", "line 2", "a value is missing"},
        BadText{"[]", "line 1", "not an object"}, BadText{"{} {}", "line 1", "follows"},
        BadText{"{\"regions\": [], \"regions\": []}", "line 1", "named twice"},
        BadText{"{\"regions\": 3}", "line 1", "not an array"},
        BadText{"{\"colours\": []}", "line 1", "unknown field"},
        BadText{"{\"regions\": [{\"kind\": \"moon\"}]}", "line 1", "no known kind"},
        BadText{"{\n\n\"buffers\": [{\"size\": 1.5}]}", "line 3", "no whole number"},
        BadText{"{\"buffers\": [{\"size\": 99999999999999999999}]}", "line 1", "no whole number"},
        BadText{"{\"buffers\": [{\"region\": -1}]}", "line 1", "no index"},
        BadText{"{\"buffers\": [{\"name\": \"\\u1234\"}]}", "line 1", "escape"},
        BadText{"{\"buffers\": [{\"name\": \"x", "line 1", "does not end"},
        BadText{"{\"aliases\": [7]}", "line 1", "an alias is not an object"},
        BadText{"{\"contiguous\": [{\"members\": [1, -1]}]}", "line 1", "a member is no index"},
        BadText{"{\"contiguous\": [{\"members\": [2147483648]}]}", "line 1",
                "a member is no index"},
        BadText{"{\"batches\": [\"a\",\n3]}", "line 2", "a batch label is not a text"},
        BadText{"{\"streams\": [{\"steps\": \"4\"}]}", "line 1", "is not a number"},
        BadText{"{\"buffers\": [{\"exclusive\": 1}]}", "line 1", "is not true or false"},
        BadText{"{\"buffers\": [{\"name\": 1}]}", "line 1", "is not a text"},
        BadText{"{\"buffers\": [{\"life\": [1]}]}", "line 1", "is not an object"},
        BadText{"{\"buffers\": [{\"life\": {\"first\": 1}}]}", "line 1",
                "a use has 1 unknown field"},
        BadText{"{\"buffers\": [{\"elsewhere\": [{\"begin\": true}]}]}", "line 1",
                "is not a number"},
        BadText{"{\"synchronisations\": [{\"from\": 1, \"until\": 2}]}", "line 1",
                "a synchronisation has 1 unknown field"},
        BadText{"{\"regions\": [{\"memory_type\": \"moon\"}]}", "line 1", "no known memory_type"},
        BadText{"{\"regions\": [{} {}]}", "line 1", "an array lacks ',' or ']'"},
        BadText{"{\"regions\": []\n\"buffers\": []}", "line 2", "an object lacks ',' or '}'"},
        BadText{"{regions: []}", "line 1", "an object lacks a name in quotes"},
        BadText{"{\"regions\" []}", "line 1", "':' is missing behind 'regions'"},
        BadText{"{\"batches\": [\"a\tb\"]}", "line 1", "control character"},
        BadText{"{\"batches\": [\"\\u0080\"]}", "line 1", "an escape other than"},
        BadText{"{\"batches\": [\"\\u00", "line 1", "an escape other than"},
        BadText{"{\"batches\": [\"\\", "line 1", "does not end"},
        BadText{"{\"batches\": " + std::string(17, '[') + std::string(17, ']') + "}", "line 1",
                "nested deeper than 16"},
        BadText{"{\"batches\": " + std::string(16, '[') + std::string(16, ']') + "}", "line 1",
                "a batch label is not a text"},
        BadText{std::string(100'000, '['), "line 1", "nested deeper"}));

TEST(ProblemJsonTest, EscapesOfTextsAreRead) {
  const auto read = ReadProblemJson(R"({"batches": ["\"\\\/\b\f\n\r\t\u0041\u007f"]})");
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_EQ(read->batches[0], "\"\\/\b\f\n\r\tA\x7f");
}

TEST(ProblemJsonTest, TheLargestIndexIsTheLastThatAnIdHolds) {
  const auto read = ReadProblemJson("{\"contiguous\": [{\"members\": [2147483647]}]}");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->contiguous[0].members[0], BufferId(2147483647));
}

}  // namespace json_test
}  // namespace plimsoll::plan
