// modes.hpp - queues that come and go while tuples flow: harness/runtime/modes.pyx in virtual time. Only the producer side changes what is.
#pragma once

#include "dynamic.hpp"
#include "simulation.hpp"
#include "submit.hpp"

namespace millrace::sim {

inline Task<bool> Simulation::call_instead(Worker& w, Target& target, Tuple* first, Count spacing, Count count, Tuple* scratch) {
  Port& port = *target.port;
  if (port.call_lock != nullptr) co_await acquire(w, *port.call_lock);
  if (port.mode == CLOSING) {
    co_await switch_off(w, port);
  } else if (port.mode == OPENING) {
    port.mode = QUEUED;
  }
  const bool called = port.mode & NOW_CALLED;
  if (called) {
    if (first->kind == DATA) {
      co_await call(w, target, first, spacing, count, scratch);
    } else {
      Tuple mark = *first;
      if (mark.kind != FINAL) mark.path += target.path_step;
      co_await take_mark(w, port, &mark);
    }
  }
  if (port.call_lock != nullptr) {
    co_await pass(w);
    unlock(w, *port.call_lock);
  }
  co_return called;
}

// Execute what is queued, then call.
inline Task<> Simulation::switch_off(Worker& w, Port& port) {
  const bool flagged = port.shared || software.printed;
  uint32_t round = 0;
  co_await pass(w);
  while (flagged && !try_flag(w, port.producing)) co_await wait_a_little(w, round);
  round = 0;
  while (!over) {
    co_await pass(w);
    if (try_flag(w, port.consuming)) {
      co_await drain(w, port, UINT64_MAX, false);
      co_await pass(w);
      if (port.ring.size() == 0) port.mode |= NOW_CALLED;
      release(w, port);
      break;
    }
    co_await wait_a_little(w, round);
  }
  if (flagged) drop_flag(w, port.producing);
}

}  // namespace millrace::sim
