// Which vector instruction sets the kernels over Highway are compiled for: AVX-512 and AVX2, in
// addition to the plain code that every x86-64 runs. Include before any of Highway's headers. No
// include guard of its own: the macro is one.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
