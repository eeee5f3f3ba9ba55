#include "kernels/cpu/onednn.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/kept_descriptions.h"
#include "kernels/cpu/onednn_versions.h"
#include "kernels/parallel.h"
#include "kernels/threads/onednn_heap.h"
#include "kernels/threads/onednn_regions.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::onednn {
namespace {

Error Refusal(std::string_view what, dnnl_status_t status) {
  return Error{
      .kind = status == dnnl_unimplemented || status == dnnl_invalid_arguments
                  ? ErrorKind::kUnsupported
                  : ErrorKind::kRunFailed,
      .code = "kernel.onednn",
      .what = StrCat("oneDNN cannot ", what),
      .where = "",
      .why = status == dnnl_out_of_memory ? std::string("there is no memory for its code")
                                          : StrCat("its status is ", static_cast<int>(status)),
      .remedy = status == dnnl_out_of_memory
                    ? "close other programs, or raise the limit of this process (ulimit -v)"
                    : ""};
}

// oneDNN writes the code of a primitive into memory that it asks the system for, and uses what it
// gets without a look where that is nothing. Whether there is room for more than any primitive
// takes.
bool HasRoomForCode() {
  constexpr size_t kMostCode = size_t{4} << 20;
  void* const room = mmap(nullptr, kMostCode, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, kMostCode);
  return true;
}

void AppendActivation(dnnl_post_ops_t chain, const cpu::FusedActivation& activation) {
  using Kind = cpu::FusedActivation::Kind;
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  switch (activation.kind) {
    case Kind::kNone:
      return;
    case Kind::kRelu:
      return AppendEltwise(chain, dnnl_eltwise_relu, 0, 0);
    case Kind::kLeakyRelu:
      return AppendEltwise(chain, dnnl_eltwise_relu, alpha, 0);
    case Kind::kClip:
      return AppendEltwise(chain, dnnl_eltwise_clip, alpha, beta);
    case Kind::kElu:
      return AppendEltwise(chain, dnnl_eltwise_elu, alpha, 0);
    case Kind::kSigmoid:
      return AppendEltwise(chain, dnnl_eltwise_logistic, 0, 0);
    case Kind::kTanh:
      return AppendEltwise(chain, dnnl_eltwise_tanh, 0, 0);
    case Kind::kSwish:
      return AppendEltwise(chain, dnnl_eltwise_swish, alpha, 0);
    case Kind::kHardSigmoid:
      AppendEltwise(chain, dnnl_eltwise_linear, alpha, beta);
      return AppendEltwise(chain, dnnl_eltwise_clip, 0, 1);
    case Kind::kHardSwish:
      return AppendHardSwish(chain);
    case Kind::kGelu:
      return AppendEltwise(chain, dnnl_eltwise_gelu_erf, 0, 0);
    case Kind::kGeluTanh:
      return AppendEltwise(chain, dnnl_eltwise_gelu_tanh, 0, 0);
    case Kind::kMish:
      return AppendEltwise(chain, dnnl_eltwise_mish, 0, 0);
  }
}

// Attributes of a primitive: scratchpad from the caller, and the operations of a Finish.
class PrimitiveAttributes {
 public:
  PrimitiveAttributes() {
    dnnl_primitive_attr_create(&raw_);
    dnnl_primitive_attr_set_scratchpad_mode(raw_, dnnl_scratchpad_mode_user);
  }
  explicit PrimitiveAttributes(const Finish& finish) : PrimitiveAttributes() {
    dnnl_post_ops_t chain = nullptr;
    dnnl_post_ops_create(&chain);
    if (finish.adds_destination) AppendSum(chain);
    AppendActivation(chain, finish.activation);
    dnnl_primitive_attr_set_post_ops(raw_, chain);
    dnnl_post_ops_destroy(chain);
  }
  PrimitiveAttributes(const PrimitiveAttributes&) = delete;
  ~PrimitiveAttributes() { dnnl_primitive_attr_destroy(raw_); }

  dnnl_primitive_attr_t raw() const { return raw_; }

 private:
  dnnl_primitive_attr_t raw_ = nullptr;
};

}  // namespace

// Stream and memory objects for one run at a time; their data pointers are set for each run.
struct ArgumentSet {
  static constexpr size_t kMost = 5;

  dnnl_stream_t stream = nullptr;
  std::array<dnnl_exec_arg_t, kMost> arguments = {};
  int count = 0;

  ArgumentSet() { dnnl_stream_create(&stream, Engine(), dnnl_stream_default_flags); }
  ArgumentSet(const ArgumentSet&) = delete;
  ~ArgumentSet() {
    for (int i = 0; i < count; ++i) dnnl_memory_destroy(arguments[static_cast<size_t>(i)].memory);
    dnnl_stream_destroy(stream);
  }

  void Add(int argument, const Form& form) {
    if (!form.present()) return;
    assert(static_cast<size_t>(count) < kMost);
    dnnl_exec_arg_t& next = arguments[static_cast<size_t>(count++)];
    next.arg = argument;
    dnnl_memory_create(&next.memory, form.descriptor()->view(), Engine(), DNNL_MEMORY_NONE);
  }
};

Form::Form(std::shared_ptr<const Descriptor> descriptor) : descriptor_(std::move(descriptor)) {}

Form Form::Plain(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return Described(dims, dnnl_format_tag_undef, &strides);
}

Form Form::Blocked(const Dims& dims) {
  constexpr dnnl_format_tag_t kBy8[] = {dnnl_nCw8c, dnnl_nChw8c, dnnl_nCdhw8c};
  constexpr dnnl_format_tag_t kBy16[] = {dnnl_nCw16c, dnnl_nChw16c, dnnl_nCdhw16c};
  assert(dims.size() >= 3 && dims.size() <= 5);
  return Described(dims, (BlockSize() == 16 ? kBy16 : kBy8)[dims.size() - 3], nullptr);
}

Form Form::Chosen(const Dims& dims) { return Described(dims, dnnl_format_tag_any, nullptr); }

Bytes Form::size() const {
  return present() ? Bytes(static_cast<int64_t>(dnnl_memory_desc_get_size(descriptor_->view())))
                   : Bytes();
}

Form Form::Slice(int64_t first, int64_t count) const { return SliceOf(*descriptor_, first, count); }

std::string Form::Text() const { return present() ? Layout(*descriptor_) : ""; }

bool Form::operator==(const Form& other) const {
  if (!present() || !other.present()) return present() == other.present();
  return dnnl_memory_desc_equal(descriptor_->view(), other.descriptor_->view()) != 0;
}

struct Primitive::State {
  dnnl_primitive_desc_t description = nullptr;  // until it is built
  dnnl_primitive_t primitive = nullptr;
  Form source;
  Form weights;
  Form bias;
  Form destination;
  Form scratchpad;
  int source_argument = DNNL_ARG_SRC;
  int destination_argument = DNNL_ARG_DST;
  std::string implementation;
  bool in_one_thread = false;
  int parts_of_thread = 1;
  // Kept from run to run, as many as threads that run it at once commonly need.
  static constexpr size_t kSpares = 16;
  mutable std::array<std::atomic<ArgumentSet*>, kSpares> spares = {};

  ~State() {
    for (const std::atomic<ArgumentSet*>& spare : spares) delete spare.load();
    dnnl_primitive_desc_destroy(description);
    dnnl_primitive_destroy(primitive);
  }

  ArgumentSet* Take() const {
    for (std::atomic<ArgumentSet*>& spare : spares) {
      if (spare.load(std::memory_order_relaxed) == nullptr) continue;
      if (ArgumentSet* const set = spare.exchange(nullptr); set != nullptr) return set;
    }
    return NewArguments();
  }

  void GiveBack(ArgumentSet* set) const {
    for (std::atomic<ArgumentSet*>& spare : spares) {
      ArgumentSet* none = nullptr;
      if (spare.compare_exchange_strong(none, set)) return;
    }
    delete set;
  }

  ArgumentSet* NewArguments() const {
    auto* set = new ArgumentSet;
    set->Add(source_argument, source);
    set->Add(DNNL_ARG_WEIGHTS, weights);
    set->Add(DNNL_ARG_BIAS, bias);
    set->Add(destination_argument, destination);
    set->Add(DNNL_ARG_SCRATCHPAD, scratchpad);
    return set;
  }
};

Primitive::Primitive(std::unique_ptr<State> state) : state_(std::move(state)) {}
Primitive::Primitive(Primitive&&) noexcept = default;
Primitive::~Primitive() = default;

const Form& Primitive::source() const { return state_->source; }
const Form& Primitive::weights() const { return state_->weights; }
const Form& Primitive::destination() const { return state_->destination; }
Bytes Primitive::scratchpad() const { return state_->scratchpad.size(); }
std::string_view Primitive::implementation() const { return state_->implementation; }

bool Primitive::IsReference() const {
  return state_->implementation.find("ref") != std::string::npos;
}

bool Primitive::MultipliesMatrices() const {
  return state_->implementation.find("gemm") != std::string::npos;
}

bool Primitive::DependsOnThreads() const {
  return state_->implementation.find("avx512") != std::string::npos;
}

bool Primitive::HasFreeParts() const {
  return state_->implementation.starts_with("jit") && !MultipliesMatrices() &&
         scratchpad() == Bytes();
}

void Primitive::CutFurther(int64_t multiplications) {
  constexpr int64_t kPartWork = int64_t{1} << 18;
  const int64_t threads = Threads();
  if (threads == 1 || !HasFreeParts()) return;
  const int64_t most = MostPartsOfThread(threads);
  const int64_t parts = multiplications * most / (kPartWork * kPartsOfThread * threads);
  state_->parts_of_thread = static_cast<int>(std::clamp<int64_t>(parts, 1, most));
}

Status Primitive::Build() {
  if (state_->primitive != nullptr) return {};
  std::optional<ThreadScope> one;
  if (state_->in_one_thread) one.emplace(1);
  const OneDnnRegions ours(state_->parts_of_thread);
  const dnnl_status_t status = HasRoomForCode()
                                   ? dnnl_primitive_create(&state_->primitive, state_->description)
                                   : dnnl_out_of_memory;
  if (status != dnnl_success) return Refusal("make a primitive", status);
  dnnl_primitive_desc_destroy(std::exchange(state_->description, nullptr));
  state_->GiveBack(state_->NewArguments());
  return {};
}

Status Primitive::Run(const Pointers& pointers) const {
  assert(state_->primitive != nullptr);
  ArgumentSet* const set = state_->Take();
  for (int i = 0; i < set->count; ++i) {
    const dnnl_exec_arg_t& argument = set->arguments[static_cast<size_t>(i)];
    const void* data = pointers.scratchpad;
    if (argument.arg == state_->source_argument) data = pointers.source;
    if (argument.arg == DNNL_ARG_WEIGHTS) data = pointers.weights;
    if (argument.arg == DNNL_ARG_BIAS) data = pointers.bias;
    if (argument.arg == state_->destination_argument) data = pointers.destination;
    dnnl_memory_set_data_handle(argument.memory, const_cast<void*>(data));
  }
  std::optional<ThreadScope> one;
  if (state_->in_one_thread) one.emplace(1);
  const OneDnnRegions ours(state_->parts_of_thread);
  const OneDnnHeap kept;
  const dnnl_status_t status =
      dnnl_primitive_execute(state_->primitive, set->stream, set->count, set->arguments.data());
  state_->GiveBack(set);
  if (status != dnnl_success) return Refusal("run a primitive", status);
  return {};
}

namespace {

// Turns a primitive descriptor, which it takes over, into a primitive that is not built. Forms that
// are there in `asked` are filled in as the descriptor has chosen them.
Primitive Described(dnnl_primitive_desc_t descriptor, std::unique_ptr<Primitive::State> asked) {
  asked->description = descriptor;
  const auto chosen = [&](dnnl_query_t query, int index) {
    return Copied(dnnl_primitive_desc_query_md(descriptor, query, index));
  };
  asked->source = chosen(dnnl_query_src_md, 0);
  asked->destination = chosen(dnnl_query_dst_md, 0);
  if (asked->weights.present()) asked->weights = chosen(dnnl_query_weights_md, 0);
  asked->scratchpad = chosen(dnnl_query_scratchpad_md, 0);
  if (asked->scratchpad.size() == Bytes()) asked->scratchpad = Form();
  const char* name = nullptr;
  dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
  asked->implementation = name == nullptr ? "" : name;
  return Primitive(std::move(asked));
}

dnnl_status_t DescribeOnce(const ConvolutionSpec& spec, dnnl_primitive_desc_t* made) {
  KeptDescriptions* const all = DescriptionsOfScope();
  std::string key = all == nullptr ? "" : KeyOf(spec);
  if (all != nullptr) {
    const KeptDescription* const kept = all->Find(key);
    if (kept != nullptr && kept->status != dnnl_success) return kept->status;
    if (kept != nullptr) return dnnl_primitive_desc_clone(made, kept->descriptor);
  }
  const PrimitiveAttributes attributes(spec.finish);
  Dims dilations_minus_one = spec.dilations;
  for (int64_t& dilation : dilations_minus_one) --dilation;
  const DescriptorView bias =
      spec.finish.bias.present() ? spec.finish.bias.descriptor()->view() : nullptr;
  const dnnl_status_t status = Describe(spec, bias, dilations_minus_one, attributes.raw(), made);
  if (all != nullptr) all->Keep(std::move(key), status, *made);
  return status;
}

Result<Primitive> MakeAnyConvolution(const ConvolutionSpec& spec, bool in_one_thread) {
  const OneDnnRegions ours;
  dnnl_primitive_desc_t descriptor = nullptr;
  const dnnl_status_t status = DescribeOnce(spec, &descriptor);
  if (status != dnnl_success) return Refusal("describe this convolution", status);
  auto state = std::make_unique<Primitive::State>();
  state->weights = spec.weights;
  state->bias = spec.finish.bias;
  state->in_one_thread = in_one_thread;
  Primitive made = Described(descriptor, std::move(state));
  if (!in_one_thread) made.CutFurther(spec.multiplications);
  return made;
}

}  // namespace

Result<Primitive> MakeConvolution(const ConvolutionSpec& spec) {
  if (!spec.deterministic || Threads() == 1) return MakeAnyConvolution(spec, spec.deterministic);
  // What multiplies matrices splits sums between threads, and what is made for AVX-512 cuts rows
  // for as many threads as there are, which orders sums anew; others only share out their results.
  const auto alone = [&] {
    const ThreadScope one(1);
    return MakeAnyConvolution(spec, true);
  };
  Result<Primitive> single = alone();
  if (!single.ok() || single->MultipliesMatrices() || single->DependsOnThreads()) return single;
  Result<Primitive> shared = MakeAnyConvolution(spec, false);
  const bool same = shared.ok() && shared->implementation() == single->implementation();
  return same ? std::move(shared) : std::move(single);
}

Result<Primitive> MakePooling(const PoolingSpec& spec) {
  const OneDnnRegions ours;
  dnnl_alg_kind_t kind = dnnl_pooling_max;
  if (spec.kind == PoolingSpec::Kind::kAverage) kind = dnnl_pooling_avg_exclude_padding;
  if (spec.kind == PoolingSpec::Kind::kAverageWithPads) kind = dnnl_pooling_avg_include_padding;
  const PrimitiveAttributes attributes;
  dnnl_primitive_desc_t descriptor = nullptr;
  const dnnl_status_t status = Describe(spec, kind, attributes.raw(), &descriptor);
  if (status != dnnl_success) return Refusal("describe this pooling", status);
  return Described(descriptor, std::make_unique<Primitive::State>());
}

Result<Primitive> MakeReorder(const Form& from, const Form& to) {
  const OneDnnRegions ours;
  const PrimitiveAttributes attributes;
  dnnl_primitive_desc_t descriptor = nullptr;
  const dnnl_status_t status =
      dnnl_reorder_primitive_desc_create(&descriptor, from.descriptor()->view(), Engine(),
                                         to.descriptor()->view(), Engine(), attributes.raw());
  if (status != dnnl_success) return Refusal("describe this reorder", status);
  auto state = std::make_unique<Primitive::State>();
  state->source_argument = DNNL_ARG_FROM;
  state->destination_argument = DNNL_ARG_TO;
  return Described(descriptor, std::move(state));
}

}  // namespace plimsoll::kernels::onednn

namespace plimsoll::kernels {

int BlockSize() {
  static const bool wide =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return wide ? 16 : 8;
}

}  // namespace plimsoll::kernels
