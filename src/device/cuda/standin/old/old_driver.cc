// A driver library from before virtual memory, for tests: it tells its version and has little else.
extern "C" {

int cuInit(unsigned) { return 0; }

int cuDriverGetVersion(int* version) {
  *version = 10010;
  return 0;
}

}  // extern "C"
