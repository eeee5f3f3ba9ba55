#include <gtest/gtest.h>

#include <limits>

#include "cli/peer/run_measure.h"
#include "cli/reports/plan/waterline_picture.h"
#include "cli/reports/run_report.h"
#include "cli/reports/training_report.h"

// Reports: every figure stands under its own name.
namespace plimsoll::cli {
namespace reports_test {

using compile::PortUse;

graph::ValueType Vector(int64_t size) {
  return graph::ValueType::Tensor(graph::DataType::kFloat32, graph::Shape{graph::Dim(size)});
}

// A planned run in which no two figures are equal.
ModelRun SomeRun() {
  ModelRun run;
  run.model = "m.onnx";
  for (int i = 100; i > 0; --i) run.latency_ms.push_back(i);
  run.planned = true;
  run.memory.planned_peak = Bytes(1001);
  run.memory.feature_map = Bytes(1002);
  run.memory.weights = Bytes(1003);
  run.memory.merged_blocks = Bytes(1004);
  run.memory.merged_cost = Bytes(1005);
  run.poisoned.actual_peak = Bytes(1006);
  run.poisoned.live_peak = Bytes(1007);
  run.last_run.clearing = {
      .clears = 8, .bytes = Bytes(1009), .time = std::chrono::microseconds(2500)};
  run.last_run.transfers = {
      .transfers = 10, .inputs = 11, .fused_inputs = 12, .bytes = Bytes(1013)};
  run.inputs = {{"a", Vector(1)}, {"b", Vector(2)}};
  run.outputs = {{"x", Vector(3)}, {"y", Vector(4), "b1"}, {"z", Vector(5), "b0"}};
  run.last_run.ports.inputs.resize(2);
  run.last_run.ports.outputs.resize(3);
  PortUse& copied = run.last_run.ports.inputs[1];
  copied.how = PortUse::How::kCopied;
  copied.reason = "it is far";
  run.batch = "b0";
  run.not_made = {"y"};
  run.heap_calls = 14;
  run.caller = Bytes(15);
  run.made = {{.name = "x",
               .type = "float32[3]",
               .least = 1,
               .most = 2,
               .mean = 1.5,
               .nans = 4,
               .top = {}}};
  return run;
}

engine::SessionMemory SomeSession() {
  engine::SessionMemory memory;
  memory.feature_maps_reserved = Bytes(21);
  memory.peak_feature_maps_reserved = Bytes(22);
  memory.variables = Bytes(23);
  memory.variables_reserved = Bytes(24);
  memory.host = Bytes(25);
  memory.device = {.weights = Bytes(31),
                   .feature_maps = Bytes(32),
                   .variables = Bytes(33),
                   .ports = Bytes(0),
                   .granularity = Bytes(34)};
  return memory;
}

TEST(ReportsTest, TheRunsFiguresAreUnderTheirNames) {
  RunReport report{.models = {SomeRun()},
                   .threads = 41,
                   .policy = 3,
                   .session = SomeSession(),
                   .limit = Bytes(42),
                   .base = Bytes(45),
                   .load_peak_above_base = Bytes(43),
                   .resident_above_base = Bytes(244)};
  const Json expected = Json::parse(R"({
    "models": [{
      "file": "m.onnx", "runs": 100, "planned": true, "batch": "b0", "not_made": ["y"],
      "latency_ms": {"least": 1.0, "p50": 50.0, "p90": 90.0, "p99": 99.0},
      "planned_peak_bytes": 1001, "actual_peak_bytes": 1006, "live_peak_bytes": 1007,
      "wrote_outside_plan": false, "feature_map_bytes": 1002,
      "merged_batches": {"bytes": 1004, "cost_bytes": 1005},
      "clears": 8, "cleared_bytes": 1009, "clear_ms": 2.5,
      "input_transfers": 10, "inputs_fused": 12, "input_transfer_bytes": 1013,
      "ports": [{"name": "a", "kind": "input", "in_place": true},
                {"name": "b", "kind": "input", "in_place": false, "reason": "it is far"},
                {"name": "x", "kind": "output", "in_place": true},
                {"name": "z", "kind": "output", "in_place": true}],
      "outputs": [{"name": "x", "type": "float32[3]", "min": 1.0, "max": 2.0, "mean": 1.5,
                   "nan_count": 4}],
      "weights_bytes": 1003, "heap_calls_per_run": 14}],
    "threads": 41, "static_memory_policy": 3,
    "memory": {"measured": {"weights_bytes": 31, "feature_map_bytes": 32, "variables_bytes": 33,
                            "ports_bytes": 0, "granularity_bytes": 34, "device_bytes": 130,
                            "caller_bytes": 15, "host_bytes": 25, "program_bytes": 119,
                            "untouched_bytes": 0, "resident_bytes": 289}},
    "limit_bytes": 42, "variables_reserved_bytes": 24, "reserved_bytes": 21,
    "peak_reserved_bytes": 22, "load_peak_above_base_bytes": 43,
    "resident_above_base_bytes": 244})");
  EXPECT_EQ(RunJson(report), expected) << RunJson(report).dump(1);
}

TEST(ReportsTest, SeveralModelsKeepTheirFiguresSeparateFromTheSessions) {
  ModelRun other = SomeRun();
  other.model = "n.onnx";
  other.planned = false;
  other.reason = "it loops";
  RunReport report;
  report.models = {SomeRun(), other};
  report.session = SomeSession();
  const Json json = RunJson(report);
  ASSERT_EQ(json["models"].size(), 2U);
  EXPECT_EQ(json["models"][0]["file"], "m.onnx");
  EXPECT_EQ(json["models"][0]["feature_map_bytes"], 1002);
  EXPECT_EQ(json["models"][0]["weights_bytes"], 1003);
  EXPECT_EQ(json["models"][1]["file"], "n.onnx");
  EXPECT_EQ(json["models"][1]["reason"], "it loops");
  EXPECT_FALSE(json["models"][1].contains("planned_peak_bytes"));
  EXPECT_EQ(json["memory"]["measured"]["feature_map_bytes"], 32);
  EXPECT_FALSE(json.contains("limit_bytes")) << "none was given";
}

TEST(ReportsTest, TheTextOfARunSaysWhatWasCopiedAndWhatWasNotMade) {
  RunReport report;
  report.models = {SomeRun()};
  report.threads = 2;
  report.session = SomeSession();
  const std::string text = RunText(report);
  for (const char* line : {
           "m.onnx: 100 runs\n",
           "  latency         50.0 ms median, 99.0 ms p99\n",
           "  planned peak    1001 B\n",
           "  actual peak     1006 B\n",
           "  live peak       1007 B\n",
           "  cleared         1009 B in 8 clears, 2.50 ms\n",
           "  transfers       11 inputs of 1013 B in 10 transfers, 12 fused\n",
           "  copied          input b: it is far\n",
           "  weights         1003 B\n",
           "  heap calls      14 in the last run\n",
           "  batch           b0\n",
           "  output          x float32[3]: min 1, max 2, mean 1.5, 4 NaN\n",
           "  output          y is not made: it is of batch b1\n",
           "Session of 1 model, 2 threads, static_memory_policy 0\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  }
}

TEST(ReportsTest, ATrainingsFiguresAreUnderTheirNames) {
  TrainingReport report;
  report.model = "t.onnx";
  report.steps = 6;
  report.steps_done = 5;
  report.loop = 3;
  report.threads = 2;
  report.loss_name = "loss";
  report.at_step = {3, 6};
  report.losses = {0.5, std::numeric_limits<double>::quiet_NaN()};
  report.resident = {100, 200};
  report.step_ms = {4, 8};
  report.variables.resize(5);
  report.variables_bytes = Bytes(51);
  report.variables_reserved = Bytes(52);
  report.addresses_kept = false;
  report.updates.in_place = 4;
  report.updates.in_place_bytes = Bytes(53);
  report.updates.copied = 1;
  report.updates.copied_bytes = Bytes(54);
  report.updates.copies = {{"w", "it is read later"}};
  report.memory.planned_peak = Bytes(55);
  report.table.program = Bytes(9);
  const Json expected = Json::parse(R"({
    "models": [{
      "file": "t.onnx", "steps": 6, "steps_done": 5, "iterations_per_loop": 3, "loss": "loss",
      "losses": [0.5, null], "at_step": [3, 6],
      "step_ms": {"least": 4.0, "p50": 4.0, "p90": null, "p99": null},
      "variables": 5, "variables_bytes": 51, "variables_reserved_bytes": 52,
      "addresses_kept": false, "updated_in_place": {"variables": 4, "bytes": 53},
      "copied_each_step": {"variables": 1, "bytes": 54,
                           "reasons": [{"variable": "w", "reason": "it is read later"}]},
      "planned_peak_bytes": 55, "resident_bytes_at_step": [100, 200]}],
    "threads": 2,
    "memory": {"measured": {"weights_bytes": 0, "feature_map_bytes": 0, "variables_bytes": 0,
                            "ports_bytes": 0, "granularity_bytes": 0, "device_bytes": 0,
                            "caller_bytes": 0, "host_bytes": 0, "program_bytes": 9,
                            "untouched_bytes": 0, "resident_bytes": 9}}})");
  EXPECT_EQ(TrainingJson(report).dump(1), expected.dump(1));
  const std::string text = TrainingText(report);
  for (const char* line :
       {"t.onnx: 6 steps, 5 done\n", "  step 3          loss 0.5\n",
        "  a step          4.00 ms median\n", "  variables       5 of 51 B in all, 52 B reserved\n",
        "  in place        4 of 53 B in all\n", "  copied          1 of 54 B in all, each step\n",
        "  planned peak    55 B\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  }
}

TEST(ReportsTest, APercentileIsAValueOfTheList) {
  EXPECT_EQ(Percentile({7}, 0.5), 7);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
  EXPECT_EQ(Percentile({9, 1}, 0.5), 1);
  EXPECT_EQ(Percentile({3, 9, 1}, 0.5), 3);
  EXPECT_EQ(Percentile({4, 2, 3, 1}, 0.5), 2);
  EXPECT_EQ(Percentile({4, 2, 3, 1}, 0.75), 3);
  EXPECT_EQ(Percentile({4, 2, 3, 1}, 0.76), 4);
  EXPECT_EQ(Percentile({4, 2, 3, 1}, 1), 4);
  EXPECT_EQ(Percentile({4, 2, 3, 1}, 0), 1);
}

TEST(ReportsTest, ThePictureShowsThePeakWhereItIs) {
  EXPECT_EQ(WaterlinePicture({}, 10, 2), "");
  EXPECT_EQ(WaterlinePicture({Bytes(0), Bytes(0)}, 10, 2), "");
  EXPECT_EQ(WaterlinePicture({Bytes(0), Bytes(8), Bytes(16), Bytes(4)}, 10, 2),
            "      16 B ┤  █\n"
            "           ┤ ██▄\n"
            "         0 └────\n");
  // Two columns for six steps: each as high as the highest of its three.
  EXPECT_EQ(WaterlinePicture({Bytes(1), Bytes(4), Bytes(1), Bytes(1), Bytes(1), Bytes(8)}, 2, 1),
            "       8 B ┤▄█\n"
            "         0 └──\n");
}

}  // namespace reports_test
}  // namespace plimsoll::cli
