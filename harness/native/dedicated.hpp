// dedicated.hpp - threaded ports: an input port with a queue and a thread that executes only that
// port (P17 s2.2). Every port is one under the dedicated model; under the others those that the
// user has asked for.
//
// A thread that has nothing to do sleeps (ASLEEP): with many more threads than cores a spinning one
// would take the core from the one it waits for. Such a system spends its time on switches between
// threads, so the rules below make each switch worth many tuples:
//
//   both       look a while before they sleep where every thread has a CPU to itself: there a
//              switch gains nothing (Run::patience).
//   consumer   sleeps when its queue is empty, on Port::arrivals. Its producer wakes it when
//              `wake_at` tuples wait, or else before it goes to sleep or ends itself (wake_owed),
//              so no tuple stays in the queue. Where several threads send the same way, under an
//              operator's lock, each wakes at once.
//   producer   sleeps when the queue is full, on Port::room. The consumer wakes one when half the
//              queue is free, at the latest when it is empty and the consumer goes to sleep; a
//              producer that was woken and leaves room behind wakes the next.
//
// No lost wake-up: every decision to sleep is made by Parking::sleep_while, which looks again after
// announcing itself (edge ANNOUNCE), and before a consumer sleeps it calls wake_one itself, not by
// guess. A guess orders nothing: a thread that has just stored an index may look for sleepers
// before its store is seen, and miss one that sleeps on the old index. It guesses again at its next
// batch, and the last one is followed by that wake_one. No thread sleeps for ever: along a stream,
// a sleeping producer has a full queue before it, so its consumer is awake or sleeps on a full
// queue further down; the last one is a sink, which never waits for room.
#pragma once

#include "path.hpp"

namespace millrace {

template <class Platform>
void* Path<Platform>::port_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  Port* port = worker->port;
  uint32_t batches = 0;
  turn_to(worker, Activity::SEARCH, port->op);
  while (port->open_streams > 0 && !worker->stop.load(std::memory_order_acquire)) {
    Tuple* first;
    const auto count = static_cast<uint32_t>(
        port->ring.front(port->batch.load(std::memory_order_relaxed), &first));
    if (count == 0) {
      turn_to(worker, Activity::SEARCH, port->op);
      hand_over(worker);
      wake_producer(port);
      turn_to(worker, Activity::TUPLES, port->op);
      const uint64_t tail = port->ring.head().load(std::memory_order_acquire);
      if (Platform::unchanged(worker, port->ring.tail(), tail)) {
        worker->waits.add(1);
        Platform::goes_to_sleep(worker, *port->arrivals);
        port->arrivals->sleep_while(port->ring.tail(), tail, worker->stop);
      }
      continue;
    }
    worker->drains.add(1);
    take(worker, port, first, count);
    ++batches;
    if (batches % BATCHES_IN_SILENCE == 0) {
      hand_over(worker);
    } else if (count < CHEAP_BATCH) {
      announce(worker);
    }
    port->ring.release(count);
    if (port->room->somebody_guess() && port->ring.size_guess() * 2 <= port->ring.capacity())
      wake_producer(port);
    if (worker->run->coroutines != nullptr) worker->run->coroutines->taken(port->index);
  }
  hand_over(worker);
  turn_to(worker, Activity::NONE);
  Platform::finish(worker);
  return nullptr;
}

// Wakes a producer that waits for room. One that fills several buffers watches a word common to
// them (balance.hpp).
template <class Platform>
void Path<Platform>::wake_producer(Port* port) {
  if (port->freed != nullptr) port->freed->fetch_add(1, std::memory_order_acq_rel);  // FREED
  port->room->wake_one();
}

// Wakes the thread or the co-routine that executes the port.
template <class Platform>
void Path<Platform>::wake_reader(Worker* worker, Port* port) {
  if (port->arrivals != nullptr) {
    port->arrivals->wake_one();
  } else {
    worker->run->coroutines->written(port->index);
  }
}

// A thread waits for room in the queue of a thread or of a co-routine.
template <class Platform>
void Path<Platform>::wait_for_room(Worker* worker, Port* port, uint32_t* round) {
  Platform::pass(worker);
  const uint64_t head = port->ring.head().load(std::memory_order_acquire);
  const uint32_t at = now_doing(worker);
  if (port->ring.tail().load(std::memory_order_acquire) - head < port->ring.capacity()) {
    // not full: another producer is copying its tuples in, which is soon done
    turn_to(worker, Activity::LOCK, port->op);
    wait_a_little(worker, round, port);
    turn_back(worker, at);
    return;
  }
  hand_over(worker);
  wake_reader(worker, port);
  turn_to(worker, Activity::ROOM, port->op);
  if (!Platform::unchanged(worker, port->ring.head(), head)) {
    turn_back(worker, at);
    return;
  }
  worker->waits.add(1);
  worker->rest.store(BLOCKED, std::memory_order_relaxed);
  worker->idle.start();
  Platform::goes_to_sleep(worker, *port->room);
  port->room->sleep_while(port->ring.head(), head, worker->stop);
  worker->idle.stop();
  worker->rest.store(AWAKE, std::memory_order_relaxed);
  turn_back(worker, at);
}

template <class Platform>
void Path<Platform>::tuples_published(Worker* worker, Target* target) {
  Port* port = target->port;
  const size_t waiting = port->ring.size_guess();
  Platform::tell_watching(worker, port->ring.tail());
  if (port->shared && waiting < port->ring.capacity() && port->room->somebody_guess())
    port->room->wake_one();
  if (port->shared && worker->run->coroutines != nullptr)
    worker->run->coroutines->written_by_one_of(port->index);
  if (waiting >= port->wake_at.load(std::memory_order_relaxed) || !target->lazy_wake) {
    port->arrivals->wake_one();
  } else if (!target->wake_owed) {
    target->wake_owed = true;
    worker->owed[worker->owed_count++] = target;
  }
}

template <class Platform>
void Path<Platform>::wake_owed(Worker* worker) {
  for (uint32_t i = 0; i < worker->owed_count; ++i) {
    Target* target = worker->owed[i];
    if (!target->wake_owed) continue;
    target->wake_owed = false;
    wake_reader(worker, target->port);
    Platform::pass(worker);  // the first woken thread may run before the last one is woken
  }
  worker->owed_count = 0;
}

}  // namespace millrace
