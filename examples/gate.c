#include <stdint.h>

struct Gate {
  double threshold;
  uint64_t seen, kept;
};

int32_t gate(uint64_t sequence, double* value, char* payload, uint64_t payload_bytes, double control, void* state) {
  struct Gate* gate = state;
  gate->seen += 1;
  if (control > 0) gate->threshold = control;
  if (*value < 0) return -22;
  if (*value < gate->threshold) return 0;
  *value *= 2;
  gate->kept += 1;
  return 1;
}
