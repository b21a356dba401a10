// The same as a function that is called for each tuple, and of which each input port has one (C-Stream, Listing 3).
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { PORTS = 2, CAPACITY = 1000 };

struct Barrier {
  pthread_mutex_t mutex;
  pthread_cond_t not_full;
  double values[PORTS][CAPACITY];
  uint64_t first[PORTS], count[PORTS];
  int32_t stopping;
};

static int32_t process(int port, double* value, struct Barrier* own) {
  pthread_mutex_lock(&own->mutex);
  while (own->count[port] == CAPACITY && !own->stopping) pthread_cond_wait(&own->not_full, &own->mutex);  // back-pressure
  if (own->stopping) {
    pthread_mutex_unlock(&own->mutex);
    return 0;
  }
  own->values[port][(own->first[port] + own->count[port]++) % CAPACITY] = *value;
  int32_t complete = 1, was_full = 0;
  for (int each = 0; each < PORTS; ++each) complete = complete && own->count[each] > 0;
  if (complete) {
    *value = 0;
    for (int each = 0; each < PORTS; ++each) {
      was_full = was_full || own->count[each] == CAPACITY;
      *value += own->values[each][own->first[each]];
      own->first[each] = (own->first[each] + 1) % CAPACITY;
      --own->count[each];
    }
    if (was_full) pthread_cond_broadcast(&own->not_full);
  }
  pthread_mutex_unlock(&own->mutex);
  return complete;
}

int32_t left(uint64_t sequence, double* value, char* payload, uint64_t payload_bytes, double control, void* state) {
  return process(0, value, state);
}

int32_t right(uint64_t sequence, double* value, char* payload, uint64_t payload_bytes, double control, void* state) {
  return process(1, value, state);
}

struct Barrier* make(void) {
  struct Barrier* own = calloc(1, sizeof *own);
  pthread_mutex_init(&own->mutex, 0);
  pthread_cond_init(&own->not_full, 0);
  return own;
}

void stop(struct Barrier* own) {
  pthread_mutex_lock(&own->mutex);
  own->stopping = 1;
  pthread_cond_broadcast(&own->not_full);
  pthread_mutex_unlock(&own->mutex);
}
