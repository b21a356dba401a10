// The volume weighted average price over a window of trades, as an aggregate of one's own: the functions of a fold.
#include "millrace.h"

struct ticker { uint32_t length; char text[12]; };
struct tick { double price, volume; struct ticker ticker; };
struct sums { double value, volume; struct ticker ticker; };
struct average { double vwap; uint64_t trades; struct ticker ticker; };

int32_t add(void* state, const void* tuple, uint64_t count) {
  struct sums* sums = state;
  const struct tick* tick = tuple;
  *sums = (struct sums){sums->value + tick->price * tick->volume, sums->volume + tick->volume, tick->ticker};
  return 0;
}

int32_t combine(void* state, const void* later) {
  struct sums* sums = state;
  sums->value += ((const struct sums*)later)->value;
  sums->volume += ((const struct sums*)later)->volume;
  return 0;
}

int32_t result(const void* state, const millrace_window* window, void* out) {
  const struct sums* sums = state;
  *(struct average*)out = (struct average){sums->value / sums->volume, window->count, sums->ticker};
  return sums->volume > 0;  // 0: nothing is sent
}
