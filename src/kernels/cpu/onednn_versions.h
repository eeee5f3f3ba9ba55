#pragma once

#include <dnnl.h>

#include <string>

#include "kernels/cpu/onednn.h"

// What differs between oneDNN's interfaces 2.x and 3.x, for onednn.cc alone.
namespace plimsoll::kernels::onednn {

#if DNNL_VERSION_MAJOR >= 3
using DescriptorView = const_dnnl_memory_desc_t;
#else
using DescriptorView = const dnnl_memory_desc_t*;
#endif

struct Form::Descriptor {
#if DNNL_VERSION_MAJOR >= 3
  dnnl_memory_desc_t raw = nullptr;
  ~Descriptor() { dnnl_memory_desc_destroy(raw); }
  DescriptorView view() const { return raw; }
#else
  dnnl_memory_desc_t raw = {};
  DescriptorView view() const { return &raw; }
#endif
};

dnnl_engine_t Engine();

// Row-major steps where `strides` are given, `tag` otherwise.
Form Described(const Dims& dims, dnnl_format_tag_t tag, const Dims* strides);
Form Copied(DescriptorView view);
Form SliceOf(const Form::Descriptor& whole, int64_t first, int64_t count);  // Form::Slice
std::string Layout(const Form::Descriptor& descriptor);  // the same for equal forms only

void AppendEltwise(dnnl_post_ops_t chain, dnnl_alg_kind_t kind, float alpha, float beta);
void AppendHardSwish(dnnl_post_ops_t chain);
void AppendSum(dnnl_post_ops_t chain);

dnnl_status_t Describe(const ConvolutionSpec& spec, DescriptorView bias,
                       const Dims& dilations_minus_one, dnnl_primitive_attr_t attributes,
                       dnnl_primitive_desc_t* made);
dnnl_status_t Describe(const PoolingSpec& spec, dnnl_alg_kind_t kind,
                       dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t* made);

}  // namespace plimsoll::kernels::onednn
