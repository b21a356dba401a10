// end_run.hpp - the end of a run on real threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace millrace {

// Tells every thread that the run is over, each by its own flag (P17 s4.1.2), and wakes those that
// sleep.
template <class Run>
void end_run(Run* run) {
  run->over.store(true, std::memory_order_release);
  for (uint32_t i = 0; i < run->worker_count; ++i) {
    run->workers[i].stop.store(true, std::memory_order_release);
    run->workers[i].pause.wake_all();
  }
  for (uint32_t i = 0; i < run->port_count; ++i) {
    if (run->ports[i].arrivals != nullptr) run->ports[i].arrivals->wake_all();
    if (run->ports[i].room != nullptr) run->ports[i].room->wake_all();
  }
  if (run->coroutines != nullptr) {
    for (uint32_t i = 0; i < run->co_worker_count; ++i)
      run->co_workers[i].stop.store(true, std::memory_order_release);
    run->coroutines->end();
  }
  if (run->ready != nullptr) run->ready->wake_all();
  run->ended.wake_all();
}

}  // namespace millrace
