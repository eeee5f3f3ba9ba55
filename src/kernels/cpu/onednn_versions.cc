#include "kernels/cpu/onednn_versions.h"

#include <algorithm>
#include <string_view>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::onednn {
namespace {

// Primitives kept for the next maker of an equal one. Layers of a model repeat, and equal ones
// then share their generated code; a larger cache would hold on to shapes that are gone.
constexpr int kPrimitiveCacheCapacity = 32;

int Rank(const Dims& dims) { return static_cast<int>(dims.size()); }

}  // namespace

dnnl_engine_t Engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_set_primitive_cache_capacity(kPrimitiveCacheCapacity);
    dnnl_engine_t made = nullptr;
    dnnl_engine_create(&made, dnnl_cpu, 0);
    return made;
  }();
  return engine;
}

#if DNNL_VERSION_MAJOR >= 3

Form Described(const Dims& dims, dnnl_format_tag_t tag, const Dims* strides) {
  auto made = std::make_shared<Form::Descriptor>();
  if (strides != nullptr) {
    dnnl_memory_desc_create_with_strides(&made->raw, Rank(dims), dims.data(), dnnl_f32,
                                         strides->data());
  } else {
    dnnl_memory_desc_create_with_tag(&made->raw, Rank(dims), dims.data(), dnnl_f32, tag);
  }
  return Form(std::move(made));
}

Form Copied(DescriptorView view) {
  auto made = std::make_shared<Form::Descriptor>();
  dnnl_memory_desc_clone(&made->raw, view);
  return Form(std::move(made));
}

Form SliceOf(const Form::Descriptor& whole, int64_t first, int64_t count) {
  dnnl_dims_t* all = nullptr;
  dnnl_memory_desc_query(whole.raw, dnnl_query_dims, &all);
  dnnl_dims_t dims;
  std::copy_n(*all, DNNL_MAX_NDIMS, dims);
  dims[0] = count;
  const dnnl_dims_t offsets = {first};
  auto made = std::make_shared<Form::Descriptor>();
  if (dnnl_memory_desc_create_submemory(&made->raw, whole.raw, dims, offsets) != dnnl_success) {
    return Form();
  }
  return Form(std::move(made));
}

std::string Layout(const Form::Descriptor& descriptor) {
  const auto number = [&](dnnl_query_t query) {
    int32_t value = 0;
    dnnl_memory_desc_query(descriptor.raw, query, &value);
    return value;
  };
  std::string text;
  const auto add = [&](dnnl_query_t query, int32_t count) {
    dnnl_dims_t* dims = nullptr;
    dnnl_memory_desc_query(descriptor.raw, query, static_cast<void*>(&dims));
    for (int32_t i = 0; dims != nullptr && i < count; ++i) text += StrCat((*dims)[i], ",");
    text += "/";
  };
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  dnnl_memory_desc_query(descriptor.raw, dnnl_query_format_kind, &kind);
  text = StrCat(static_cast<int>(kind), ":");
  const int32_t rank = number(dnnl_query_ndims_s32);
  for (const dnnl_query_t query : {dnnl_query_dims, dnnl_query_padded_dims, dnnl_query_strides}) {
    add(query, rank);
  }
  const int32_t blocks = number(dnnl_query_inner_nblks_s32);
  for (const dnnl_query_t query : {dnnl_query_inner_blks, dnnl_query_inner_idxs}) {
    add(query, blocks);
  }
  return text;
}

void AppendEltwise(dnnl_post_ops_t chain, dnnl_alg_kind_t kind, float alpha, float beta) {
  dnnl_post_ops_append_eltwise(chain, kind, alpha, beta);
}

void AppendHardSwish(dnnl_post_ops_t chain) {
  AppendEltwise(chain, dnnl_eltwise_hardswish, 1.0f / 6, 0.5f);
}

void AppendSum(dnnl_post_ops_t chain) {
  dnnl_post_ops_append_sum(chain, 1.0f, 0, dnnl_data_type_undef);
}

dnnl_status_t Describe(const ConvolutionSpec& spec, DescriptorView bias,
                       const Dims& dilations_minus_one, dnnl_primitive_attr_t attributes,
                       dnnl_primitive_desc_t* made) {
  return dnnl_convolution_forward_primitive_desc_create(
      made, Engine(), dnnl_forward_inference, dnnl_convolution_direct,
      spec.source.descriptor()->view(), spec.weights.descriptor()->view(), bias,
      spec.destination.descriptor()->view(), spec.strides.data(), dilations_minus_one.data(),
      spec.pads_begin.data(), spec.pads_end.data(), attributes);
}

dnnl_status_t Describe(const PoolingSpec& spec, dnnl_alg_kind_t kind,
                       dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t* made) {
  const Dims dense(spec.kernel.size(), 0);
  return dnnl_pooling_forward_primitive_desc_create(
      made, Engine(), dnnl_forward_inference, kind, spec.source.descriptor()->view(),
      spec.destination.descriptor()->view(), spec.strides.data(), spec.kernel.data(), dense.data(),
      spec.pads_begin.data(), spec.pads_end.data(), attributes);
}

#else

Form Described(const Dims& dims, dnnl_format_tag_t tag, const Dims* strides) {
  auto made = std::make_shared<Form::Descriptor>();
  if (strides != nullptr) {
    dnnl_memory_desc_init_by_strides(&made->raw, Rank(dims), dims.data(), dnnl_f32,
                                     strides->data());
  } else {
    dnnl_memory_desc_init_by_tag(&made->raw, Rank(dims), dims.data(), dnnl_f32, tag);
  }
  return Form(std::move(made));
}

Form Copied(DescriptorView view) {
  auto made = std::make_shared<Form::Descriptor>();
  made->raw = *view;
  return Form(std::move(made));
}

Form SliceOf(const Form::Descriptor& whole, int64_t first, int64_t count) {
  dnnl_dims_t dims;
  std::copy_n(whole.raw.dims, DNNL_MAX_NDIMS, dims);
  dims[0] = count;
  const dnnl_dims_t offsets = {first};
  auto made = std::make_shared<Form::Descriptor>();
  if (dnnl_memory_desc_init_submemory(&made->raw, &whole.raw, dims, offsets) != dnnl_success) {
    return Form();
  }
  return Form(std::move(made));
}

std::string Layout(const Form::Descriptor& descriptor) {
  const dnnl_memory_desc_t& raw = descriptor.raw;
  std::string text = StrCat(static_cast<int>(raw.format_kind), ":");
  for (int axis = 0; axis < raw.ndims; ++axis) {
    text += StrCat(raw.dims[axis], "/", raw.padded_dims[axis], "/",
                   raw.format_desc.blocking.strides[axis], ",");
  }
  for (int block = 0; block < raw.format_desc.blocking.inner_nblks; ++block) {
    text += StrCat(raw.format_desc.blocking.inner_blks[block], "@",
                   raw.format_desc.blocking.inner_idxs[block], ",");
  }
  return text;
}

void AppendEltwise(dnnl_post_ops_t chain, dnnl_alg_kind_t kind, float alpha, float beta) {
  dnnl_post_ops_append_eltwise(chain, 1.0f, kind, alpha, beta);
}

void AppendHardSwish(dnnl_post_ops_t chain) { AppendEltwise(chain, dnnl_eltwise_hardswish, 0, 0); }

void AppendSum(dnnl_post_ops_t chain) { dnnl_post_ops_append_sum(chain, 1.0f); }

namespace {

// Version 2's `brgconv` for AVX-512 gives wrong sums where 16 threads share out long rows that are
// dilated and strided (RowConvolutionTest, seed 16), so the next implementation that fits is taken.
bool IsTrusted(const_dnnl_primitive_desc_t descriptor) {
  const char* name = nullptr;
  dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
  return name == nullptr || !std::string_view(name).starts_with("brgconv");
}

dnnl_status_t FirstTrusted(const dnnl_convolution_desc_t& operation,
                           const_dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t* made) {
  dnnl_primitive_desc_iterator_t all = nullptr;
  dnnl_status_t status =
      dnnl_primitive_desc_iterator_create(&all, &operation, attributes, Engine(), nullptr);
  while (status == dnnl_success) {
    *made = dnnl_primitive_desc_iterator_fetch(all);
    if (*made == nullptr || IsTrusted(*made)) break;
    dnnl_primitive_desc_destroy(*made);
    *made = nullptr;
    status = dnnl_primitive_desc_iterator_next(all);
  }
  dnnl_primitive_desc_iterator_destroy(all);
  return status == dnnl_success && *made == nullptr ? dnnl_out_of_memory : status;
}

}  // namespace

dnnl_status_t Describe(const ConvolutionSpec& spec, DescriptorView bias,
                       const Dims& dilations_minus_one, dnnl_primitive_attr_t attributes,
                       dnnl_primitive_desc_t* made) {
  dnnl_convolution_desc_t operation;
  const dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
      &operation, dnnl_forward_inference, dnnl_convolution_direct, spec.source.descriptor()->view(),
      spec.weights.descriptor()->view(), bias, spec.destination.descriptor()->view(),
      spec.strides.data(), dilations_minus_one.data(), spec.pads_begin.data(),
      spec.pads_end.data());
  if (status != dnnl_success) return status;
  return FirstTrusted(operation, attributes, made);
}

dnnl_status_t Describe(const PoolingSpec& spec, dnnl_alg_kind_t kind,
                       dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t* made) {
  dnnl_pooling_desc_t operation;
  const dnnl_status_t status = dnnl_pooling_forward_desc_init(
      &operation, dnnl_forward_inference, kind, spec.source.descriptor()->view(),
      spec.destination.descriptor()->view(), spec.strides.data(), spec.kernel.data(),
      spec.pads_begin.data(), spec.pads_end.data());
  if (status != dnnl_success) return status;
  return dnnl_primitive_desc_create(made, &operation, attributes, Engine(), nullptr);
}

#endif

}  // namespace plimsoll::kernels::onednn
