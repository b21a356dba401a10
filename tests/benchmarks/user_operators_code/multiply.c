#include <stdint.h>

int32_t multiply(uint64_t sequence, double* value, char* payload, uint64_t payload_bytes, double control, void* state) {
  *value *= *(double*)state;
  return 1;
}
