// switching.hpp - queues that come and go while tuples flow (M19 s3.1): with its queue an operator
// is under the dynamic model, without it under the manual model. want() changes the wanted mode of
// a port (Mode of state.hpp); the *producer side* makes it so at its next tuple, in call_instead().
// The producer side is one thread, or the holder of Port::call_lock if several may produce.
//
//                       want(called)
//              QUEUED  -------------->  CLOSING
//   a producer,  ^     <--------------     |      a producer has emptied the queue
//   at once      |     want(queued)        v      under the consumer flag
//              OPENING  <-------------  CALLED
//                       ------------->
//
// HEED: a tuple that is sent after want() has returned goes the way that was wanted.
// Checked by: tests/native/explore_switching.cpp in many interleavings;
// tests/native/stress_switching.cpp; tests/runtime/test_switching*.py
#pragma once

#include <mutex>

#include "path.hpp"

namespace millrace {

// Returns true if the tuples were handed to the operator by a call; if not, the port has its queue,
// and they belong there.
//
// No livelock: a thread that waits in here waits for the thread that executes the port. That one is
// downstream of it, as with a full queue. A cycle closes at a control port, a leaf: no call comes
// back to a port that is being called or emptied.
template <class Platform>
bool Path<Platform>::call_instead(Worker* worker, Target* target, Tuple* first, size_t spacing,
                                  uint32_t count, char* scratch) {
  Port* port = target->port;
  // CALL_LOCK: the mutex. The mode is read once the lock is held. In the same way a pusher that
  // waited for the producer flag reads the mode again once it has the flag (submit.hpp).
  Lock* const lock = Platform::call_lock(port);
  if (lock != nullptr) acquire(worker, lock, port->op);
  uint32_t mode = port->mode.load(std::memory_order_acquire);
  if (mode == CLOSING) {
    mode = switch_off(worker, port);
  } else if (mode == OPENING) {
    mode = switch_on(worker->run, port);
  }
  const bool called = (mode & NOW_CALLED) != 0;
  if (called) {
    shorten(port, target);
    if (first->kind == DATA) {
      call(worker, target, first, spacing, count, scratch);
    } else {  // punctuation comes alone
      if (first->kind != FINAL) first->path += target->path_step;
      take_mark(worker, port, first);
    }
  }
  if (lock != nullptr) {
    Platform::pass(worker);
    lock->unlock();
  }
  return called;
}

// Switches the queue on, and pushes from now on. Returns the mode: QUEUED, or CLOSING if the wish
// has changed meanwhile.
template <class Platform>
uint32_t Path<Platform>::switch_on(Run* run, Port* port) {
  lengthen(port);  // want() does so too, but perhaps not yet
  if (run->contexts != nullptr) {
    run->contexts->changing.lock();
    // Contexts divide. Before the queue is on, ports that will be fed from two contexts lose their
    // shortcuts. They are behind it by calls and were fed from this thread's context alone, and
    // this thread is not inside them now, being upstream. The other context begins with the first
    // tuple in the queue (edge PUBLISH).
    change_contexts(run, port->index, true);
  }
  // Edge PUBLISH of the next push: the thread that takes its tuple sees all that the last call did
  // to the operator.
  const uint32_t mode = port->mode.fetch_and(~uint32_t{NOW_CALLED}, std::memory_order_acq_rel) &
                        ~uint32_t{NOW_CALLED};
  port->switches.add(1);
  if (run->contexts != nullptr) run->contexts->changing.unlock();
  return mode;
}

// Executes all queued tuples, then calls from now on. Returns the mode: CALLED, or OPENING if the
// wish has changed meanwhile.
//
// No tuple can overtake: every thread that could queue one waits here. The thread ignores
// suspension, and gives up only at the end of the run, with the queue still on.
template <class Platform>
uint32_t Path<Platform>::switch_off(Worker* worker, Port* port) {
  uint32_t mode = QUEUED, round = 0;
  Run* run = worker->run;
  const bool flagged = Platform::has_flags(worker, port);
  Platform::pass(worker);
  if (flagged) {
    // This thread holds the call lock, too (CALL_LOCK). Only here is the producer flag held while
    // an operator runs.
    while (!port->producing.try_lock()) wait_a_little(worker, &round, port);
  }
  round = 0;
  // Edge HANDOVER of the consumer flag: the first call sees all that the last consumer did to the
  // operator.
  Platform::pass(worker);
  bool alone = port->consuming.try_lock();
  while (!alone && !worker->stop.load(std::memory_order_acquire)) {
    wait_a_little(worker, &round, port);
    Platform::pass(worker);
    alone = port->consuming.try_lock();
  }
  if (alone) {
    drain(worker, port, std::numeric_limits<uint64_t>::max(), false);
    Platform::pass(worker);
    if (port->ring.size_guess() == 0) {
      if (run->contexts != nullptr) run->contexts->changing.lock();
      mode = port->mode.fetch_or(NOW_CALLED, std::memory_order_acq_rel) | NOW_CALLED;
      port->switches.add(1);
      if (run->contexts != nullptr) {
        // Contexts join. The queue is empty, so ports that are now fed from one context, this
        // thread's, may have shortcuts again. Another thread inside them executed this queue's
        // port, and has left (edge HANDOVER).
        change_contexts(run, port->index, false);
        run->contexts->changing.unlock();
      }
    }
    release(worker, port);
  }
  if (flagged) port->producing.unlock();
  return mode;
}

// Sets a shortcut to a port without a queue: Operator::next if this is the sender's only way, else
// Target::direct.
//
// With it a call is as fast as under the manual model: the sender reads no mode and takes no lock.
// It leads round the call lock, so it is set only while all senders are in one context (Port::sole,
// contexts.hpp). Producer side only.
template <class Platform>
void Path<Platform>::shorten(Port* port, Target* target) {
  if (!port->sole.load(std::memory_order_relaxed)) return;
  // SHORTCUT: this side sets the shortcut, then reads the wish; want() writes the wish, then
  // removes the shortcut. All are seq_cst, so one of them sees the other.
  set_shortcut(target);  // SHORTCUT
  if ((port->mode.load(std::memory_order_seq_cst) & WANTED_CALLED) == 0) remove_shortcut(target);
}

// Removes all shortcuts to this port.
template <class Platform>
void Path<Platform>::lengthen(Port* port) {
  for (uint32_t i = 0; i < port->feeder_count; ++i) remove_shortcut(port->feeders[i]);
}

// Asks for a mode; the producer side makes it so. One thread at a time may call this.
template <class Platform>
void Path<Platform>::want(Port* port, bool called) {
  if (called) {
    port->mode.fetch_or(WANTED_CALLED, std::memory_order_seq_cst);
  } else {
    port->mode.fetch_and(~uint32_t{WANTED_CALLED}, std::memory_order_seq_cst);
    lengthen(port);  // SHORTCUT: without it the producer takes the long way, and sees the wish
  }
}

}  // namespace millrace
