#ifndef PLIMSOLL_PLIMSOLL_H_
#define PLIMSOLL_PLIMSOLL_H_

#include <stddef.h>
#include <stdint.h>

/* The C API: planner, allocators and sessions, for C and for every language that can call it.
 *
 *   plimsoll_model* model = NULL;
 *   plimsoll_status* status = plimsoll_model_open("model.onnx", &model);
 *   if (status != NULL) {
 *     fprintf(stderr, "%s\n", plimsoll_status_text(status));
 *     plimsoll_status_free(status);
 *   }
 *
 * Rules of every function:
 * - A status is NULL where the call worked; else it is an error that the caller frees. What the
 * call was to give is then left as it was. No function throws, and none ends the program.
 * - A struct begins with its size, which its _INIT sets: a program that was compiled with an older
 *   header goes on working with a newer library, which reads and writes no more than that size.
 *   Fields are added at the end only. Zero, or NULL, means the default.
 * - A handle is freed by its own function, which takes NULL as well. Arguments are borrowed for the
 *   call unless the function says otherwise. Texts are UTF-8 and end in zero.
 * - Sizes and offsets are in bytes.
 * - Sessions and models may be used by several threads; an allocator as its kind says. */

#define PLIMSOLL_API_VERSION 1

#if defined(__GNUC__)
#define PLIMSOLL_API __attribute__((visibility("default")))
#define PLIMSOLL_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define PLIMSOLL_API
#define PLIMSOLL_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the API that the library has, and the library's own as text: "0.1.0". */
PLIMSOLL_API int plimsoll_api_version(void);
PLIMSOLL_API const char* plimsoll_version(void);

/* ---- Errors ---- */

typedef struct plimsoll_status plimsoll_status;

/* What kind of thing went wrong; the exit code of the command line. */
typedef enum plimsoll_kind {
  PLIMSOLL_OK = 0,
  PLIMSOLL_RUN_FAILED = 1,
  PLIMSOLL_USAGE = 2,
  PLIMSOLL_DOES_NOT_FIT = 3,
  PLIMSOLL_UNSUPPORTED = 4,
  PLIMSOLL_MISMATCH = 5,
  PLIMSOLL_BAD_FILE = 6
} plimsoll_kind;

/* All of these take NULL, which is no error: PLIMSOLL_OK and "". Texts live as long as the status.
 * The code is stable ("config.unknown") and is what programs compare. */
PLIMSOLL_API plimsoll_kind plimsoll_status_kind(const plimsoll_status* status);
PLIMSOLL_API const char* plimsoll_status_code(const plimsoll_status* status);
PLIMSOLL_API const char* plimsoll_status_what(const plimsoll_status* status);
PLIMSOLL_API const char* plimsoll_status_place(const plimsoll_status* status);
PLIMSOLL_API const char* plimsoll_status_reason(const plimsoll_status* status);
PLIMSOLL_API const char* plimsoll_status_remedy(const plimsoll_status* status);
/* All of it in one line. */
PLIMSOLL_API const char* plimsoll_status_text(const plimsoll_status* status);
PLIMSOLL_API void plimsoll_status_free(plimsoll_status* status);

/* ---- Planner ---- */

/* Buffers with sizes and lives, to be placed in one memory. Arrays have `count` elements. */
typedef struct plimsoll_pack_problem {
  size_t struct_size;
  size_t count;
  const int64_t* sizes;
  const int64_t* begins; /* buffer i lives in moments [begins[i], ends[i]) */
  const int64_t* ends;
  const int64_t* alignments;    /* of the offsets; NULL: 1 */
  const int64_t* fixed_offsets; /* negative: not fixed; NULL: none is */
  int64_t capacity;             /* what must be enough; 0: as low as possible */
  int64_t steps;                /* of search; 0: as the problem calls for */
  double deadline_ms;           /* 0: none of the caller's */
  const char* assigner;         /* NULL: "hybrid" */
  int32_t threads;              /* 0: one. The answer does not depend on it */
} plimsoll_pack_problem;
#define PLIMSOLL_PACK_PROBLEM_INIT \
  { sizeof(plimsoll_pack_problem), 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0.0, NULL, 0 }

typedef struct plimsoll_pack_result {
  size_t struct_size;
  int64_t* offsets;     /* in: memory for `count` offsets, or NULL */
  int64_t peak;         /* the highest byte used */
  int64_t lower_bound;  /* proven: no placement is lower */
  int32_t fits;         /* no capacity was given, or the peak is within it */
  int32_t optimal;      /* proven: no placement is lower than the peak */
  int32_t infeasible;   /* proven: nothing fits into the capacity */
  int32_t deadline_hit; /* the search was cut short */
} plimsoll_pack_result;
#define PLIMSOLL_PACK_RESULT_INIT \
  { sizeof(plimsoll_pack_result), NULL, 0, 0, 0, 0, 0, 0 }

/* Places the buffers and verifies the answer. An answer that does not fit is no error. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_pack(const plimsoll_pack_problem* problem,
                                                plimsoll_pack_result* result);

/* ---- Allocators ---- */

typedef struct plimsoll_allocator plimsoll_allocator;

typedef struct plimsoll_allocator_options {
  size_t struct_size;
  const char* kind; /* "scalable" (one thread at a time), "stream_ordered" or "caching" (any number
                     * of threads); NULL: "stream_ordered" */
  const char* device; /* "cpu", "fake", "far"; NULL: "cpu" */
  int64_t capacity;   /* of the device; 0: what it has */
  int64_t limit;      /* of what is handed out; 0: none */
} plimsoll_allocator_options;
#define PLIMSOLL_ALLOCATOR_OPTIONS_INIT \
  { sizeof(plimsoll_allocator_options), NULL, NULL, 0, 0 }

/* Memory that was handed out. A plain value; it is freed once, by the allocator that gave it. */
typedef struct plimsoll_block {
  uint64_t address;
  int64_t size;
  uint64_t key;
} plimsoll_block;

typedef struct plimsoll_allocator_statistics {
  size_t struct_size;
  int64_t allocated; /* handed out now, and the most there ever was */
  int64_t peak_allocated;
  int64_t reserved; /* taken from the device now, and the most there ever was */
  int64_t peak_reserved;
  int64_t largest_free_run;
  int64_t allocations;
  int64_t frees;
  int64_t failures;
  int64_t live_blocks;
} plimsoll_allocator_statistics;
#define PLIMSOLL_ALLOCATOR_STATISTICS_INIT \
  { sizeof(plimsoll_allocator_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* `options` may be NULL. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_allocator_create(
    const plimsoll_allocator_options* options, plimsoll_allocator** allocator);
/* Gives all memory back, of live blocks too. */
PLIMSOLL_API void plimsoll_allocator_free(plimsoll_allocator* allocator);
/* `alignment` 0: 512, which every block has at least. `tag` says who asks, in reports; or NULL. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_allocate(plimsoll_allocator* allocator, int64_t size,
                                                    int64_t alignment, const char* tag,
                                                    plimsoll_block* block);
PLIMSOLL_CHECKED plimsoll_status* plimsoll_deallocate(plimsoll_allocator* allocator,
                                                      const plimsoll_block* block);
/* Gives back to the device what no block needs. `given_back` may be NULL. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_allocator_trim(plimsoll_allocator* allocator,
                                                          int64_t* given_back);
PLIMSOLL_CHECKED plimsoll_status* plimsoll_allocator_get_statistics(
    const plimsoll_allocator* allocator, plimsoll_allocator_statistics* statistics);

/* ---- Models ---- */

typedef struct plimsoll_model plimsoll_model;

/* Maps an ONNX file, which must stay as it is while a model or a session uses it. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_model_open(const char* path, plimsoll_model** model);
/* Over bytes that are copied. External weights are looked up in `folder`; NULL: they are missing.
 */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_model_from_bytes(const void* bytes, size_t size,
                                                            const char* folder,
                                                            plimsoll_model** model);
PLIMSOLL_API void plimsoll_model_free(plimsoll_model* model);

/* ---- Sessions ---- */

typedef struct plimsoll_session plimsoll_session;
typedef uint64_t plimsoll_graph; /* a model that a session holds */

typedef struct plimsoll_session_options {
  size_t struct_size;
  int32_t threads;    /* of each run; 0: one */
  int32_t only_plan;  /* graphs are planned and not run; no memory is taken */
  const char* device; /* "cpu", "far:0"; NULL: "cpu" */
  /* Options by name, as `plimsoll options` lists them, and their values. */
  size_t option_count;
  const char* const* option_names;
  const char* const* option_values;
  int32_t npu_run_config; /* the options are an explicit NPURunConfig's, whose defaults hold */
} plimsoll_session_options;
#define PLIMSOLL_SESSION_OPTIONS_INIT \
  { sizeof(plimsoll_session_options), 0, 0, NULL, 0, NULL, NULL, 0 }

/* Element types, with the numbers of the ONNX standard. */
typedef enum plimsoll_type {
  PLIMSOLL_FLOAT32 = 1,
  PLIMSOLL_UINT8 = 2,
  PLIMSOLL_INT8 = 3,
  PLIMSOLL_UINT16 = 4,
  PLIMSOLL_INT16 = 5,
  PLIMSOLL_INT32 = 6,
  PLIMSOLL_INT64 = 7,
  PLIMSOLL_BOOL = 9,
  PLIMSOLL_FLOAT16 = 10,
  PLIMSOLL_FLOAT64 = 11,
  PLIMSOLL_UINT32 = 12,
  PLIMSOLL_UINT64 = 13,
  PLIMSOLL_BFLOAT16 = 16
} plimsoll_type;

/* A tensor in the caller's memory: row-major, without gaps unless strides (in elements) say so. */
typedef struct plimsoll_tensor {
  size_t struct_size;
  int32_t type;
  int32_t rank;
  const int64_t* dims;
  const int64_t* strides; /* NULL: none */
  void* data;             /* aligned to an element; inputs are only read */
} plimsoll_tensor;
#define PLIMSOLL_TENSOR_INIT \
  { sizeof(plimsoll_tensor), 0, 0, NULL, NULL, NULL }

/* The inputs, or the outputs, of a graph. */
typedef struct plimsoll_ports plimsoll_ports;
typedef struct plimsoll_port {
  size_t struct_size;
  const char* name;
  const char* text;    /* the whole type: "float32[batch,3,224,224]" */
  int32_t type;        /* of a tensor; 0: no tensor, or not known */
  int32_t rank;        /* -1: not known */
  const int64_t* dims; /* -1: the caller's choice, or known only after the run */
} plimsoll_port;
#define PLIMSOLL_PORT_INIT \
  { sizeof(plimsoll_port), NULL, NULL, 0, 0, NULL }

typedef struct plimsoll_plan {
  size_t struct_size;
  int32_t planned; /* 0: sizes are known only while it runs, and nothing below is filled in */
  int32_t optimal_for_order;
  int64_t peak;        /* what the feature map takes */
  int64_t lower_bound; /* proven, for this order of nodes */
  int64_t weights;
  int64_t feature_map; /* the peak, with what the device holds outside it */
  int32_t nodes;
  int32_t buffers;
} plimsoll_plan;
#define PLIMSOLL_PLAN_INIT \
  { sizeof(plimsoll_plan), 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct plimsoll_session_memory {
  size_t struct_size;
  int64_t feature_maps_reserved;
  int64_t peak_feature_maps_reserved;
  int64_t weights;
  int64_t variables;
  int64_t device_total; /* the most of everything together */
} plimsoll_session_memory;
#define PLIMSOLL_SESSION_MEMORY_INIT \
  { sizeof(plimsoll_session_memory), 0, 0, 0, 0, 0 }

/* `options` may be NULL. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_create(const plimsoll_session_options* options,
                                                          plimsoll_session** session);
PLIMSOLL_API void plimsoll_session_free(plimsoll_session* session);
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_add(plimsoll_session* session,
                                                       const plimsoll_model* model,
                                                       plimsoll_graph* graph);
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_unload(plimsoll_session* session,
                                                          plimsoll_graph graph);

/* What the caller gives and gets. Texts and arrays of a port live as long as the ports. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_inputs(const plimsoll_session* session,
                                                          plimsoll_graph graph,
                                                          plimsoll_ports** ports);
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_outputs(const plimsoll_session* session,
                                                           plimsoll_graph graph,
                                                           plimsoll_ports** ports);
PLIMSOLL_API size_t plimsoll_ports_count(const plimsoll_ports* ports);
PLIMSOLL_CHECKED plimsoll_status* plimsoll_ports_get(const plimsoll_ports* ports, size_t index,
                                                     plimsoll_port* port);
/* The outputs as a run over these inputs, whose data is not looked at, makes them: every dimension
 * is known. Fails (run.dynamic) where only the run tells. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_sized_outputs(plimsoll_session* session,
                                                                 plimsoll_graph graph,
                                                                 const plimsoll_tensor* inputs,
                                                                 size_t input_count,
                                                                 plimsoll_ports** ports);
PLIMSOLL_API void plimsoll_ports_free(plimsoll_ports* ports);

/* Plans a run over inputs of these shapes, whose data is not looked at. Takes no memory. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_plan(plimsoll_session* session,
                                                        plimsoll_graph graph,
                                                        const plimsoll_tensor* inputs,
                                                        size_t input_count, plimsoll_plan* plan);

/* Ends runs from another thread, or from a handler of signals. */
typedef struct plimsoll_cancellation plimsoll_cancellation;
PLIMSOLL_CHECKED plimsoll_status* plimsoll_cancellation_create(plimsoll_cancellation** made);
PLIMSOLL_API void plimsoll_cancellation_free(plimsoll_cancellation* cancellation);
/* Runs that have it end with run.cancelled; 0: they do so no more. */
PLIMSOLL_API void plimsoll_cancellation_set(plimsoll_cancellation* cancellation, int cancelled);

/* Runs into the caller's memory. `cancellation` may be NULL. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_run(
    plimsoll_session* session, plimsoll_graph graph, const plimsoll_tensor* inputs,
    size_t input_count, const plimsoll_tensor* outputs, size_t output_count,
    const plimsoll_cancellation* cancellation);

/* Gives back to the device what no graph holds. `given_back` may be NULL. */
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_trim(plimsoll_session* session,
                                                        int64_t* given_back);
PLIMSOLL_CHECKED plimsoll_status* plimsoll_session_get_memory(const plimsoll_session* session,
                                                              plimsoll_session_memory* memory);

#ifdef __cplusplus
}
#endif

#endif /* PLIMSOLL_PLIMSOLL_H_ */
