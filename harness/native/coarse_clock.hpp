// coarse_clock.hpp - the bound on how long an operator may hold what it has sent: sends are
// collected for a batch, and a batch may fill slowly.
//
// An operator asks at each call whether its batch is due. The answer comes from the system's coarse
// clock, which ticks every 1 to 10 ms and takes a few nanoseconds to read. Once it has ticked since
// the last look the batch is due. So what is held waits for a tick at most, and for CALLS_PER_LOOK
// calls; and where calls are slower than the clock each of them looks.
#pragma once

#include <time.h>

#include <cstdint>

#include "state.hpp"

namespace millrace {

// A hop through a compiled loop is two calls and takes 40 ns; a look takes 6 to 13 ns (measured on
// two CPUs of a VM).
inline constexpr uint32_t CALLS_PER_LOOK = 32;

inline int64_t coarse_ns() noexcept {
  timespec time;
#if defined(CLOCK_MONOTONIC_COARSE)
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
#else
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_nsec -= time.tv_nsec % 4'000'000;
#endif
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Whether what the worker's operator has collected is due.
inline bool batch_is_due(Worker* worker) noexcept {
  if (!worker->collects) return false;
  if (worker->unlooked > 0) {
    --worker->unlooked;
    return false;
  }
  const int64_t tick = coarse_ns();
  if (tick == worker->tick) {
    worker->unlooked = CALLS_PER_LOOK - 1;
    return false;
  }
  worker->tick = tick;
  return true;
}

}  // namespace millrace
