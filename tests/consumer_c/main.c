/* Plans buffers, takes memory from an allocator, opens a model, plans and runs it: all through the
 * C API, in C11. Ends with 0 where everything holds. */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void Expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "does not hold: %s\n", what);
}

static void Must(plimsoll_status* status, const char* what) {
  if (status != NULL) fprintf(stderr, "%s: %s\n", what, plimsoll_status_text(status));
  Expect(status == NULL, what);
  plimsoll_status_free(status);
}

/* An error of this kind and code, which says what, and where or why. */
static void MustFail(plimsoll_status* status, plimsoll_kind kind, const char* code) {
  Expect(plimsoll_status_kind(status) == kind, code);
  Expect(strcmp(plimsoll_status_code(status), code) == 0, code);
  Expect(plimsoll_status_what(status)[0] != '\0', "what is wrong is said");
  Expect(plimsoll_status_place(status)[0] != '\0' || plimsoll_status_reason(status)[0] != '\0',
         "where or why it is wrong is said");
  Expect(plimsoll_status_remedy(status) != NULL, "a remedy is a text, though it may be empty");
  Expect(strstr(plimsoll_status_text(status), code) != NULL, "the line has the code");
  plimsoll_status_free(status);
}

static void PlanBuffers(void) {
  const int64_t sizes[] = {4, 2, 4, 2};
  const int64_t begins[] = {0, 0, 2, 3};
  const int64_t ends[] = {2, 4, 5, 5};
  int64_t offsets[4] = {-1, -1, -1, -1};
  plimsoll_pack_problem problem = PLIMSOLL_PACK_PROBLEM_INIT;
  plimsoll_pack_result result = PLIMSOLL_PACK_RESULT_INIT;
  problem.count = 4;
  problem.sizes = sizes;
  problem.begins = begins;
  problem.ends = ends;
  result.offsets = offsets;
  Must(plimsoll_pack(&problem, &result), "buffers are placed");
  Expect(result.peak == 8 && result.lower_bound == 8 && result.optimal, "the peak is the least");
  for (int i = 0; i < 4; ++i) {
    Expect(offsets[i] >= 0 && offsets[i] + sizes[i] <= 8, "an offset is inside the peak");
    for (int j = 0; j < i; ++j) {
      const int together = begins[i] < ends[j] && begins[j] < ends[i];
      const int apart = offsets[i] + sizes[i] <= offsets[j] || offsets[j] + sizes[j] <= offsets[i];
      Expect(!together || apart, "buffers that live together share no byte");
    }
  }
  problem.capacity = 7;
  Must(plimsoll_pack(&problem, &result), "what does not fit is no error");
  Expect(!result.fits && result.infeasible, "seven bytes are too few, and that is proven");
  /* A program of an older header, whose problem ended behind `ends`. */
  problem.struct_size = offsetof(plimsoll_pack_problem, alignments);
  Must(plimsoll_pack(&problem, &result), "an older struct is read");
  Expect(result.fits && result.peak == 8, "a capacity that it does not have is not looked at");
  result.struct_size = offsetof(plimsoll_pack_result, lower_bound);
  result.lower_bound = -5;
  Must(plimsoll_pack(&problem, &result), "an older struct is written");
  Expect(result.lower_bound == -5, "fields that it does not have are left alone");
  problem.struct_size = 0;
  MustFail(plimsoll_pack(&problem, &result), PLIMSOLL_USAGE, "c.argument");
  problem.struct_size = sizeof problem;
  problem.assigner = "hybird";
  MustFail(plimsoll_pack(&problem, &result), PLIMSOLL_USAGE, "plan.unknown_assigner");
  const int64_t late[] = {3, 0, 2, 3};
  problem.assigner = NULL;
  problem.begins = late;
  MustFail(plimsoll_pack(&problem, &result), PLIMSOLL_USAGE, "pack.columns");
}

static void TakeMemory(void) {
  plimsoll_allocator* allocator = NULL;
  plimsoll_allocator_options options = PLIMSOLL_ALLOCATOR_OPTIONS_INIT;
  plimsoll_allocator_statistics statistics = PLIMSOLL_ALLOCATOR_STATISTICS_INIT;
  plimsoll_block block;
  plimsoll_block second;
  int64_t given_back = 0;
  options.limit = 1 << 20;
  Must(plimsoll_allocator_create(&options, &allocator), "an allocator is made");
  Must(plimsoll_allocate(allocator, 1000, 0, "test", &block), "memory is handed out");
  memset((void*)(uintptr_t)block.address, 1, 1000);
  Expect(block.address % 512 == 0 && block.size == 1000, "the block is as it was asked for");
  MustFail(plimsoll_allocate(allocator, 2 << 20, 0, NULL, &second), PLIMSOLL_DOES_NOT_FIT,
           "memory.limit");
  Must(plimsoll_allocator_get_statistics(allocator, &statistics), "statistics");
  Expect(statistics.allocated == 1000 && statistics.live_blocks == 1, "one block lives");
  Must(plimsoll_deallocate(allocator, &block), "memory is given back");
  MustFail(plimsoll_deallocate(allocator, &block), PLIMSOLL_USAGE, "memory.freed_twice");
  Must(plimsoll_allocator_trim(allocator, &given_back), "idle memory goes back");
  Expect(given_back > 0, "there was some");
  plimsoll_allocator_free(allocator);
  options.kind = "bump";
  MustFail(plimsoll_allocator_create(&options, &allocator), PLIMSOLL_USAGE, "c.argument");
}

static float* Ones(const int64_t* dims, int rank, size_t* count) {
  *count = 1;
  for (int i = 0; i < rank; ++i) *count *= (size_t)dims[i];
  float* made = malloc(*count * sizeof(float));
  for (size_t i = 0; made != NULL && i < *count; ++i) made[i] = 1.0F;
  return made;
}

static plimsoll_tensor Described(const plimsoll_port* port, const int64_t* dims, void* data) {
  plimsoll_tensor tensor = PLIMSOLL_TENSOR_INIT;
  tensor.type = port->type;
  tensor.rank = port->rank;
  tensor.dims = dims;
  tensor.data = data;
  return tensor;
}

static void RunGraph(plimsoll_session* session, plimsoll_graph graph) {
  plimsoll_ports* inputs = NULL;
  plimsoll_ports* outputs = NULL;
  plimsoll_port port = PLIMSOLL_PORT_INIT;
  plimsoll_plan plan = PLIMSOLL_PLAN_INIT;
  plimsoll_cancellation* cancellation = NULL;
  int64_t dims[4];
  size_t count = 0;
  size_t made = 0;
  Must(plimsoll_session_inputs(session, graph, &inputs), "there are inputs");
  Must(plimsoll_ports_get(inputs, 0, &port), "there is a first input");
  MustFail(plimsoll_ports_get(inputs, 99, &port), PLIMSOLL_USAGE, "c.argument");
  Expect(plimsoll_ports_count(inputs) == 1 && port.rank == 4 && port.dims[0] == -1, "one image");
  for (int i = 0; i < 4; ++i) dims[i] = port.dims[i] < 0 ? 2 : port.dims[i];
  float* pixels = Ones(dims, 4, &count);
  plimsoll_tensor input = Described(&port, dims, pixels);
  Must(plimsoll_session_plan(session, graph, &input, 1, &plan), "it is planned");
  Expect(plan.planned && plan.peak >= plan.lower_bound && plan.lower_bound > 0, "the plan's peak");
  Must(plimsoll_session_sized_outputs(session, graph, &input, 1, &outputs), "outputs are sized");
  Must(plimsoll_ports_get(outputs, 0, &port), "there is a first output");
  Expect(port.dims[0] == 2, "its batch is the input's");
  float* scores = Ones(port.dims, port.rank, &made);
  float* again = Ones(port.dims, port.rank, &made);
  plimsoll_tensor output = Described(&port, port.dims, scores);
  Must(plimsoll_session_run(session, graph, &input, 1, &output, 1, NULL), "it runs");
  output.data = again;
  Must(plimsoll_cancellation_create(&cancellation), "a cancellation");
  plimsoll_cancellation_set(cancellation, 1);
  MustFail(plimsoll_session_run(session, graph, &input, 1, &output, 1, cancellation),
           PLIMSOLL_RUN_FAILED, "run.cancelled");
  plimsoll_cancellation_set(cancellation, 0);
  Must(plimsoll_session_run(session, graph, &input, 1, &output, 1, cancellation), "it runs again");
  Expect(memcmp(scores, again, made * sizeof(float)) == 0, "both runs give the same");
  input.type = PLIMSOLL_INT64;
  MustFail(plimsoll_session_run(session, graph, &input, 1, &output, 1, NULL), PLIMSOLL_USAGE,
           "run.type");
  printf("peak %lld bytes, %zu outputs of the first\n", (long long)plan.peak, made);
  plimsoll_cancellation_free(cancellation);
  plimsoll_ports_free(inputs);
  plimsoll_ports_free(outputs);
  free(pixels);
  free(scores);
  free(again);
}

static void RunModel(const char* path) {
  const char* names[] = {"static_memory_policy"};
  const char* values[] = {"2"};
  plimsoll_session_options options = PLIMSOLL_SESSION_OPTIONS_INIT;
  plimsoll_session_memory memory = PLIMSOLL_SESSION_MEMORY_INIT;
  plimsoll_session* session = NULL;
  plimsoll_model* model = NULL;
  plimsoll_graph graph = 0;
  int64_t given_back = 0;
  options.option_count = 1;
  options.option_names = names;
  options.option_values = values;
  Must(plimsoll_model_open(path, &model), "the model is read");
  Must(plimsoll_session_create(&options, &session), "a session is made");
  Must(plimsoll_session_add(session, model, &graph), "the model is added");
  plimsoll_model_free(model);
  RunGraph(session, graph);
  Must(plimsoll_session_get_memory(session, &memory), "memory");
  Expect(memory.feature_maps_reserved > 0 && memory.device_total > 0, "memory was taken");
  Must(plimsoll_session_unload(session, graph), "the graph goes");
  Must(plimsoll_session_trim(session, &given_back), "its memory too");
  Expect(given_back > 0, "memory was given back");
  plimsoll_session_free(session);
  names[0] = "static_memory_polcy";
  MustFail(plimsoll_session_create(&options, &session), PLIMSOLL_USAGE, "config.unknown");
  MustFail(plimsoll_model_open("no such file.onnx", &model), PLIMSOLL_BAD_FILE, "file.missing");
  MustFail(plimsoll_model_open(NULL, &model), PLIMSOLL_USAGE, "c.argument");
}

int main(int count, char** arguments) {
  Expect(plimsoll_api_version() == PLIMSOLL_API_VERSION, "header and library agree");
  Expect(plimsoll_version()[0] != '\0', "the library has a version");
  Expect(plimsoll_status_kind(NULL) == PLIMSOLL_OK && plimsoll_status_text(NULL)[0] == '\0',
         "no status is no error");
  PlanBuffers();
  TakeMemory();
  if (count > 1) RunModel(arguments[1]);
  Expect(count > 1, "a model is given");
  return failures == 0 ? 0 : 1;
}
