#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/cpu/elementwise/fused_activation.h"
#include "kernels/kernel.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

// The only door to oneDNN: its headers, and what differs between its 2.x and 3.x interfaces, stay
// behind this one. Elements are float32.
namespace plimsoll::kernels::onednn {

// How a tensor of given logical dimensions lies in memory. A value: copies share what is inside,
// which nobody changes. A Form made without arguments stands for a tensor that is not there.
class Form {
 public:
  struct Descriptor;

  Form() = default;
  explicit Form(std::shared_ptr<const Descriptor> descriptor);
  static Form Plain(const Dims& dims);    // row-major
  static Form Blocked(const Dims& dims);  // see kernels/blocking.h
  static Form Chosen(const Dims& dims);   // by the primitive that uses it

  bool present() const { return descriptor_ != nullptr; }
  Bytes size() const;
  std::string Text() const;  // the same for equal forms only
  bool operator==(const Form& other) const;
  // Entries [first, first + count) of the first dimension, in memory that begins where that of the
  // whole tensor does. Not present where blocks would be cut.
  Form Slice(int64_t first, int64_t count) const;
  const Descriptor* descriptor() const { return descriptor_.get(); }

 private:
  std::shared_ptr<const Descriptor> descriptor_;
};

// What happens to a convolution's sums before they are stored: activation(sum + bias +
// destination).
struct Finish {
  Form bias;  // one number per channel
  bool adds_destination = false;
  cpu::FusedActivation activation;
};

// Where the tensors of one run lie; null where a primitive does not have that tensor.
struct Pointers {
  const void* source = nullptr;
  const void* weights = nullptr;
  const void* bias = nullptr;
  void* destination = nullptr;
  void* scratchpad = nullptr;
};

// A computation with fixed shapes and forms. At first it is described alone, which tells everything
// about it; Build makes the code that Run takes. Run may be called by several threads at once, each
// with its own scratchpad; as long as that are 16 at most, nobody asks the heap for memory in it.
class Primitive {
 public:
  struct State;
  explicit Primitive(std::unique_ptr<State> state);
  Primitive(Primitive&&) noexcept;
  ~Primitive();

  const Form& source() const;  // as chosen where the maker was given Form::Chosen
  const Form& weights() const;
  const Form& destination() const;
  Bytes scratchpad() const;
  std::string_view implementation() const;  // "jit:avx2"
  bool IsReference() const;                 // a slow implementation that stands in for a fast one
  bool MultipliesMatrices() const;          // gathers its operand and multiplies matrices
  bool DependsOnThreads() const;            // its sums are ordered by how many threads there are
  // Of so much work, into more parts than there are threads, as far as each is worth it and parts
  // are free. oneDNN's blocks stay those for as many parts as threads, and so do all results.
  void CutFurther(int64_t multiplications);
  bool HasFreeParts() const;  // they neither wait for each other nor have memory of their own
  Status Build();
  Status Run(const Pointers& pointers) const;

 private:
  std::unique_ptr<State> state_;
};

// Over [batch, channels, spatial...]; lists have one number a spatial axis. Weights are [filters,
// channels, kernel...], with the groups in front where there is more than one.
struct ConvolutionSpec {
  Form source;
  Form weights;
  Form destination;
  Dims strides;
  Dims dilations;  // 1: dense
  Dims pads_begin;
  Dims pads_end;
  Finish finish;
  bool deterministic = false;  // the same bytes with any number of threads
  int64_t multiplications = 0;
};
Result<Primitive> MakeConvolution(const ConvolutionSpec& spec);

struct PoolingSpec {
  enum class Kind { kMax, kAverage, kAverageWithPads };
  Kind kind = Kind::kMax;
  Form source;
  Form destination;
  Dims kernel;
  Dims strides;
  Dims pads_begin;
  Dims pads_end;
};
Result<Primitive> MakePooling(const PoolingSpec& spec);

// Copies a tensor into another form.
Result<Primitive> MakeReorder(const Form& from, const Form& to);

}  // namespace plimsoll::kernels::onednn
