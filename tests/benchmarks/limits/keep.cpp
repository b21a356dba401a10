// keep.cpp - the least that a user's compiled operator can do: pass the tuple on, its value as it
// is.
#include <cstdint>

extern "C" int32_t keep(uint64_t, double*, char*, uint64_t, double, void*) { return 1; }
