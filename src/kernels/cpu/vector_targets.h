// Which vector instruction sets the kernels over Highway are compiled for: AVX-512, AVX2 and SSE4,
// beside the plain code that Highway always needs. Include before any of Highway's headers.
// No include guard of its own: the macro is one.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif
