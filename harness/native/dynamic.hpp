// dynamic.hpp - scheduler threads that execute any scheduled input port (P17 s4.1).
//
// Next port   front of the list of ready ports -> its consumer flag -> drain it -> at the back of
//             the list if tuples are left, or new ones may come before its turn (lingers). No port
//             is ready: a few yields, then sleep until one is (ready_ports.hpp).
// Full queue  the producer does not wait for a scheduler thread: it drains a quarter of that queue
//             itself, and tries again (reschedule).
// Suspended   a scheduler thread whose level was taken away sleeps as soon as it is done with a
//             batch (P17 s4.1.2, s4.2.3).
//
// READY: a port with tuples is on the list, or held by a thread that will look at it again.
// Port::ready is 1 from the push that made it so until the thread that took it from the list has
// found it empty and does not put it back. A port that is taken from the list while another thread
// drains it is left to that thread, which looks again when it lets go (release). ready_flag.hpp
// explains why no tuple is forgotten.
//
// A push has to set Port::ready, but need not at once: while the port seems to be on the list
// anyway it is put off until the thread sends elsewhere, has drained what it is draining, waits,
// enters users' code, or has done a batch that is not cheap (Worker::unannounced). A look that was
// wrong, because the port was just being found empty, costs the time of a drain of cheap tuples at
// worst.
//
// Where two threads meet, the loser goes elsewhere and does not try again: the thread that has the
// flag or the list entry does the work. Per drain a thread touches the shared list twice (LOCAL);
// all else that it writes is its own or the port's.
//
// Lingering. Where a source splits its tuples over many cheap ports, each gets a few at a time, and
// one thread keeps up with it: every port would be found empty, leave the list, and come back for
// the next few tuples, at the price of lines that go from core to core for each of them. So a port
// that had tuples stays for one turn more, without tuples, and is served by then, or leaves. A port
// that stayed in vain does not stay the next WARY times: in a graph that is nearly idle a thread
// would look in vain, and wake another to look in vain. No port that stays is forgotten by sleeping
// threads: it is on the list, and the thread that put it there looks for the next one at once.
//
// Rests. A thread that keeps up with such ports so well that it finds a few tuples at a time is at
// work on the very lines that producers fill next, and each waits for the other with every tuple.
// Cheap tuples then take several times as long as in batches. So a thread that has found less than
// a batch of them at a port that stays leaves the queues alone for REST_NS, and finds more. Where
// tuples come seldom ports do not stay, and no thread rests.
//
// Beyond the paper: P17 keeps all free ports on its list and walks it, so that finding work takes
// as long as there are empty ports, and an idle thread polls. A drain hands an operator up to 32
// tuples at once (submit.hpp), and is bounded, so that an ever-full port does not hold its thread
// for ever (IBM's implementation does that too), and a port of expensive tuples no longer than
// about a millisecond.
//
// Waking sleepers. A source's thread wakes one for each port that it makes ready. A scheduler
// thread that is about to look for a port itself does not: then one thread carries one tuple at a
// time through the graph. It wakes one if it has more to do first, which may be the rest of a slow
// tuple, or if it has found that more than one port is ready. One sleeper is woken at a time, and
// wakes the next when it has a port: a thread for each of many ports that seldom have tuples would
// do little else than fall asleep and be woken (ready_ports.hpp).
//
// Dropped in the paper, and here: looking for other work inside reschedule (load imbalance), and
// work stealing (P17 s3, s4.1.4).
#pragma once

#include "path.hpp"

namespace millrace {

// P17 Figure 4, schedule().
template <class Platform>
void* Path<Platform>::scheduler_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  Run* run = worker->run;
  turn_to(worker, Activity::SEARCH);
  while (Port* port = next_port(worker)) {
    worker->drains.add(1);
    Platform::drains(worker, port);
    const uint64_t done = drain(worker, port, port->most.load(std::memory_order_relaxed), true);
    const bool stays = lingers(port->wary, done > 0);
    const bool cheap = port->batch.load(std::memory_order_relaxed) >= CHEAP_BATCH;
    announce(worker);
    Platform::pass(worker);
    turn_to(worker, Activity::SEARCH);
    port->consuming.unlock();
    // this thread still owns the port: Port::ready is 1. If this check misses a push, clear() sees
    // it
    if (stays || port->ring.size_guess() > 0) {
      run->ready->push(port->index);
    } else if (port->ready.clear(port->ring, port->consuming)) {  // READY
      put_back(worker, port);
    }
    if (stays && cheap && done < CHEAP_BATCH) Platform::rest(worker);
  }
  turn_to(worker, Activity::NONE);
  Platform::finish(worker);
  return nullptr;
}

// Executes the port on about `most` tuples of its queue, fewer if it runs empty or, `yielding`, if
// the thread is suspended.
//
// Returns their number. The caller holds the consumer flag.
template <class Platform>
uint64_t Path<Platform>::drain(Worker* worker, Port* port, uint64_t most, bool yielding) {
  uint64_t done = 0;
  const typename Platform::Outer outer(worker);  // a drain that this one is within
  while (done < most) {
    Tuple* first;
    const auto count = static_cast<uint32_t>(
        port->ring.front(port->batch.load(std::memory_order_relaxed), &first));
    if (count == 0) break;
    if (done > 0) worker->run->ready->wake_one();
    worker->slow = port->batch.load(std::memory_order_relaxed) <= SLOW_BATCH;
    take(worker, port, first, count);
    if (count < CHEAP_BATCH) announce(worker);
    port->ring.release(count);  // only now: a tuple in execution still takes its slot (BOUND)
    done += count;
    if (worker->stop.load(std::memory_order_acquire) ||
        (yielding && worker->suspended.load(std::memory_order_relaxed) != 0))
      break;
  }
  return done;
}

// Lets go of a port that did not come from the list.
template <class Platform>
void Path<Platform>::release(Worker* worker, Port* port) {
  if (port->ready.release(port->ring, port->consuming)) put_back(worker, port);  // READY
}

template <class Platform>
void Path<Platform>::put_back(Worker* worker, Port* port) {
  worker->run->ready->push(port->index);
  worker->run->ready->wake_one();
}

// Returns a port from the list, its consumer flag held; null when the run is over (P17 Figure 5,
// findWork).
template <class Platform>
auto Path<Platform>::next_port(Worker* worker) -> Port* {
  Run* run = worker->run;
  uint32_t misses = 0;
  bool idle = false;
  while (!worker->stop.load(std::memory_order_acquire)) {
    worker->searches.add(1);
    if (worker->suspended.load(std::memory_order_acquire) != 0) {
      if (idle) worker->idle.stop();
      idle = false;
      suspend(worker);
      continue;
    }
    Platform::pass(worker);
    const uint32_t index = run->ready->pop();
    if (index != run->ready->NONE) {
      Port* port = &run->ports[index];
      if (port->consuming.try_lock()) {
        if (idle) worker->idle.stop();
        run->ready->wake_one();
        return port;
      }
      if (port->ready.clear(port->ring, port->consuming)) put_back(worker, port);  // READY
      continue;
    }
    ++misses;
    if (!idle) worker->idle.start();
    idle = true;
    Platform::step(worker, Step::SEARCH, 1);
    if (misses <= LIST_YIELDS) {
      Platform::yield(worker);
      continue;
    }
    worker->waits.add(1);
    Platform::goes_to_sleep(worker, *run->ready);
    turn_to(worker, Activity::TUPLES);
    worker->rest.store(IDLE, std::memory_order_release);
    run->ready->sleep(worker->stop, worker->suspended);
    turn_to(worker, Activity::SEARCH);
    worker->rest.store(AWAKE, std::memory_order_relaxed);
  }
  return nullptr;
}

template <class Platform>
void Path<Platform>::suspend(Worker* worker) {
  Platform::pass(worker);
  worker->run->ready->wake_one();  // it may have been woken for a port that it now leaves to others
  worker->waits.add(1);
  Platform::pass(worker);
  worker->asleep.start();
  turn_to(worker, Activity::PAUSE);
  worker->rest.store(SUSPENDED, std::memory_order_release);
  worker->pause.sleep_while(worker->suspended, 1, worker->stop);
  turn_to(worker, Activity::SEARCH);
  worker->asleep.stop();
  // woken for the end of the run it executes nothing more
  if (!worker->stop.load(std::memory_order_acquire))
    worker->rest.store(AWAKE, std::memory_order_relaxed);
}

// Drains the queue that is in the way, unless another thread does: one round of the loop of P17
// Figure 6, reSchedule().
template <class Platform>
void Path<Platform>::reschedule(Worker* worker, Port* port, uint32_t* round) {
  const uint32_t at = now_doing(worker);
  turn_to(worker, Activity::SEARCH, port->op);
  announce(worker);
  Platform::looks_at_queue(worker, port);
  const size_t queued = port->ring.size_guess();
  // The flag of an empty queue is left alone: else a thread that waits for it, to switch the queue
  // off, could miss it for ever.
  if (queued > 0 && port->consuming.try_lock()) {
    worker->reschedules.add(1);
    drain(worker, port,
          rescheduled(port->ring.capacity(), port->most.load(std::memory_order_relaxed)), false);
    announce(worker);
    *round = 0;
    Platform::pass(worker);
    release(worker, port);
    worker->run->ready->wake_one();
  } else {
    // not full: another producer is copying its tuples in
    turn_to(worker, queued < port->ring.capacity() ? Activity::LOCK : Activity::ROOM, port->op);
    wait_a_little(worker, round, port);
  }
  turn_back(worker, at);
}

// Waits for something that another thread holds, perhaps for ever: the pool counts this thread as
// blocked meanwhile (pool.pxi). `port`: the one that it waits for, if it is one.
template <class Platform>
void Path<Platform>::wait_a_little(Worker* worker, uint32_t* round, Port* port) {
  hand_over(worker);
  worker->rest.store(BLOCKED, std::memory_order_relaxed);
  // a wait of less than a microsecond is not worth two readings of the clock
  if (*round < SPINS) {
    Platform::spin(worker, round, port);
  } else {
    worker->idle.start();
    Platform::spin(worker, round, port);
    worker->idle.stop();
  }
  worker->rest.store(AWAKE, std::memory_order_relaxed);
}

// Puts a port that got tuples on the list. If it seems to be there already, that is made sure of
// later (announce).
template <class Platform>
void Path<Platform>::tuples_ready(Worker* worker, Target* target) {
  Port* port = target->port;
  if (!port->ready.seems_set()) {
    put_on_list(worker, port);
  } else if (worker->unannounced != port) {
    announce(worker);
    worker->unannounced = port;
  }
}

// Puts on the list the port that was put off, before the thread waits, sleeps, or enters code that
// may take long.
template <class Platform>
void Path<Platform>::announce(Worker* worker) {
  Port* port = worker->unannounced;
  if (port == nullptr) return;
  worker->unannounced = nullptr;
  put_on_list(worker, port);
}

template <class Platform>
void Path<Platform>::put_on_list(Worker* worker, Port* port) {
  if (!port->ready.set()) return;  // READY
  worker->run->ready->push(port->index);
  if (!worker->pooled || worker->slow) worker->run->ready->wake_one();
}

}  // namespace millrace
