// modes.hpp - queues that come and go while tuples flow: harness/runtime/native/switching.hpp in
// virtual time. Only the producer side changes what is.
#pragma once

#include "dynamic.hpp"
#include "simulation.hpp"
#include "submit.hpp"

namespace millrace::sim {

inline bool Simulation::call_instead(Worker& w, Target& target, Tuple* first, Count spacing,
                                     Count count, Tuple* scratch) {
  Port& port = *target.port;
  // a shortcut leads round the lock; what IBM Streams does holds a flag in its stead, always
  const bool locked =
      port.call_lock != nullptr && (software.printed || !port.sole || port.mode != CALLED);
  if (locked) acquire(w, *port.call_lock);
  if (port.mode == CLOSING) {
    switch_off(w, port);
  } else if (port.mode == OPENING) {
    switch_on(port);
  }
  const bool called = port.mode & NOW_CALLED;
  if (called) {
    if (first->kind == DATA) {
      call(w, target, first, spacing, count, scratch);
    } else {
      Tuple mark = *first;
      if (mark.kind != FINAL) mark.path += target.path_step;
      take_mark(w, port, &mark);
    }
  }
  if (locked) {
    pass(w);
    unlock(w, *port.call_lock);
  }
  return called;
}

inline void Simulation::change_contexts(uint32_t queue, bool on) {
  if (contexts == nullptr) return;
  contexts->change(queue, on, [&](uint32_t fed, bool sole) { ports[fed].sole = sole; });
}

inline void Simulation::switch_on(Port& port) {
  change_contexts(port.index, true);
  port.mode = QUEUED;
  ++port.switches;
}

// Execute what is queued, then call.
inline void Simulation::switch_off(Worker& w, Port& port) {
  const bool flagged = port.shared || software.printed;
  const Slots slots = w.slots;
  uint32_t round = 0;
  pass(w);
  while (flagged && !try_flag(w, port.producing)) wait_a_little(w, round, &port);
  round = 0;
  while (!over) {
    pass(w);
    if (try_flag(w, port.consuming)) {
      drain(w, port, UINT64_MAX, false);
      pass(w);
      if (port.ring.size() == 0) {
        port.mode |= NOW_CALLED;
        ++port.switches;
        change_contexts(port.index, false);
      }
      release(w, port);
      break;
    }
    wait_a_little(w, round, &port);
  }
  if (flagged) drop_flag(w, port, port.producing);
  w.slots = slots;
}

}  // namespace millrace::sim
