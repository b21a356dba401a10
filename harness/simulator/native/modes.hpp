// modes.hpp - queues that come and go while tuples flow: harness/runtime/modes.pyx in virtual time. Only the producer side changes what is.
#pragma once

#include "dynamic.hpp"
#include "simulation.hpp"
#include "submit.hpp"

namespace millrace::sim {

inline Task<bool> Simulation::call_instead(Worker& w, Target& target, Tuple* first, Count spacing, Count count, Tuple* scratch) {
  Port& port = *target.port;
  // a shortcut leads round the lock; what IBM Streams does holds a flag in its stead, always
  const bool locked = port.call_lock != nullptr && (software.printed || !port.sole || port.mode != CALLED);
  if (locked) co_await acquire(w, *port.call_lock);
  if (port.mode == CLOSING) {
    co_await switch_off(w, port);
  } else if (port.mode == OPENING) {
    find_contexts(port.index);
    port.mode = QUEUED;
    ++port.switches;
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
  if (locked) {
    co_await pass(w);
    unlock(w, *port.call_lock);
  }
  co_return called;
}

// Which ports are fed from one context, once queue `opening` is on.
inline void Simulation::find_contexts(uint32_t opening) {
  if (contexts == nullptr) return;
  contexts->refresh([&](uint32_t queue) { return !ports[queue].scheduled || queue == opening || !(ports[queue].mode & NOW_CALLED); },
                    [&](uint32_t queue, bool sole) { ports[queue].sole = sole; });
}

// Execute what is queued, then call.
inline Task<> Simulation::switch_off(Worker& w, Port& port) {
  const bool flagged = port.shared || software.printed;
  const Slots slots = w.slots;
  uint32_t round = 0;
  co_await pass(w);
  while (flagged && !try_flag(w, port.producing)) co_await wait_a_little(w, round, &port);
  round = 0;
  while (!over) {
    co_await pass(w);
    if (try_flag(w, port.consuming)) {
      co_await drain(w, port, UINT64_MAX, false);
      co_await pass(w);
      if (port.ring.size() == 0) {
        port.mode |= NOW_CALLED;
        ++port.switches;
        find_contexts(millrace::Contexts::NO_QUEUE);
      }
      release(w, port);
      break;
    }
    co_await wait_a_little(w, round, &port);
  }
  if (flagged) drop_flag(w, port, port.producing);
  w.slots = slots;
}

}  // namespace millrace::sim
