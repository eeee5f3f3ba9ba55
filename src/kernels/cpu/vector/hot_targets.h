// Which vector instruction sets the kernels that take most of a model's time are compiled for:
// those of vector_targets.h and SSE4, which processors without AVX2 have. Include before any of
// Highway's headers. No include guard of its own: the macro is one.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif
