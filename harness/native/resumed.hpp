// resumed.hpp - operators that are co-routines: sources, and all that have a queue before their
// ports (C-Stream s3).
//
//   thread_body     picks a co-routine that can go on, as the policy says, and executes it until it
//                   lets go of the thread
//   operator_body   the loop of every operator: waits until one of its ports has tuples, and takes
//                   a batch of each that has
//   replica_body    the loop of an operator that may have replicas (replicas.hpp)
//   source_body     (sources.hpp) the loop of a source
//
// States, wake-ups and policies are in coroutines.hpp; coroutine_run.hpp connects co-routines
// with a run. Each has a Worker of its own, so that the way of a tuple (submit.hpp) is
// the same as on a thread. Where a thread would wait, the co-routine waits, and its thread goes on
// with another one. It never waits while it holds a lock: no co-routine's operator has one
// (layout.py).
//
// The reader of a queue is not woken for each batch. It is woken as the thread of a threaded port
// is (dedicated.hpp), when a quarter of the queue waits, or before the sender lets go of its
// thread. A switch is then worth many tuples.
//
// Users' code runs on the thread's own stack, which is as large as any thread's, and which the
// interpreter can use.
//
// A queue may also be fed by the thread of a threaded port, and a threaded port by a co-routine:
// each side waits in its own way, and each wakes both.
#pragma once

#include "path.hpp"

namespace millrace {

template <class Platform>
void* Path<Platform>::thread_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  turn_to(worker, Activity::SEARCH);
  worker->run->coroutines->work(worker->co);
  turn_to(worker, Activity::NONE);
  worker->thread.finish();
  return nullptr;
}

template <class Platform>
void* Path<Platform>::operator_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  Run* run = worker->run;
  const uint32_t inputs = run->coroutines->inputs(worker);
  const bool joins = worker->op->stream_ended != nullptr;
  uint32_t open = inputs;
  while (open > 0) {
    turn_to(worker, Activity::SEARCH, worker->op);
    if (joins) choose_inputs(worker, inputs);
    if (!run->coroutines->wait(worker)) return nullptr;
    for (uint32_t i = 0; i < inputs; ++i) {
      Port* port = run->coroutines->input(worker, i);
      uint32_t most = port->batch.load(std::memory_order_relaxed);
      if (joins) most = std::min(most, room_of_input(worker->op, port->input));
      Tuple* first;
      const auto count = static_cast<uint32_t>(port->ring.front(most, &first));
      if (count == 0) continue;
      if (port->stamps != nullptr)
        worker->born_ns =
            port->stamps->at(port->ring.head().load(std::memory_order_relaxed)).born_ns;
      worker->taken += count;
      const bool out = Platform::take_out(worker, port, &first, count);
      if (out) release_slots(run, port, count);
      take(worker, port, first, count);
      if (!out) release_slots(run, port, count);
      if (port->open_streams == 0) open -= run->coroutines->close_input(worker, i);
    }
  }
  return nullptr;
}

// Gives back slots at the front of a co-routine's queue: there is room for a co-routine that waits
// for it, or a thread.
template <class Platform>
void Path<Platform>::release_slots(Run* run, Port* port, uint32_t count) {
  port->ring.release(count);
  run->coroutines->gave_room(port);
}

// Lets a barrier wait at those ports for whose tuples it has room: it alone can make room, so it
// must never wait for room.
template <class Platform>
void Path<Platform>::choose_inputs(Worker* worker, uint32_t inputs) {
  for (uint32_t i = 0; i < inputs; ++i) {
    const Port* port = worker->run->coroutines->input(worker, i);
    const bool needed = port->open_streams > 0 && room_of_input(worker->op, port->input) > 0;
    worker->run->coroutines->need(worker, i, needed);
  }
}

template <class Platform>
void* Path<Platform>::replica_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  Run* run = worker->run;
  const size_t stride = run->coroutines->stride(worker);
  uint32_t count = 0;
  for (;;) {
    turn_to(worker, Activity::SEARCH, worker->op);
    Tuple* first = run->coroutines->take(worker, &count);
    if (first == nullptr) break;
    worker->taken += count;
    uint32_t start = 0;
    worker->input = 0;
    if (run->coroutines->marked(worker)) {
      for (uint32_t i = 0; i < count; ++i) {
        if (slot(first, stride, i)->kind == DATA) continue;
        if (i > start) execute(worker, worker->op, slot(first, stride, start), i - start);
        start = i + 1;
        receive_mark(worker, worker->op, slot(first, stride, i));
      }
    }
    if (count > start) execute(worker, worker->op, slot(first, stride, start), count - start);
  }
  if (run->coroutines->ends(worker)) close_operator(worker, worker->op);
  return nullptr;
}

// -- queues ---------------------------------------------------------------------------------------

template <class Platform>
void Path<Platform>::tuples_for_coroutine(Worker* worker, Target* target) {
  Port* port = target->port;
  if (!target->lazy_wake ||
      port->ring.size_guess() >= port->wake_at.load(std::memory_order_relaxed)) {
    worker->run->coroutines->written(port->index);
  } else if (!target->wake_owed) {
    target->wake_owed = true;
    worker->owed[worker->owed_count++] = target;
  }
  if (!port->shared) return;
  worker->run->coroutines->written_by_one_of(port->index);
  // another thread that waits for room: this one was woken for that, has sent, and has left room
  if (port->room != nullptr && port->room->somebody_guess() &&
      port->ring.size_guess() < port->ring.capacity())
    port->room->wake_one();
}

// Waits for a round until one of the queues has room to which a worker still has to send.
template <class Platform>
void Path<Platform>::wait_for_room_of_any(Worker* worker, uint32_t* round) {
  Port* only = nullptr;
  uint32_t number = 0;
  for (Target* target = worker->begun; target != nullptr; target = target->below) {
    if (target->left == 0) continue;
    Port* port = target->port;
    if (port->ring.size_guess() < port->ring.capacity()) {
      const uint32_t at = now_doing(worker);
      turn_to(worker, Activity::LOCK, port->op);
      wait_a_little(worker, round);  // another sender has the queue
      turn_back(worker, at);
      return;
    }
    if (port->arrivals != nullptr) port->arrivals->wake_one();
    only = port;
    ++number;
  }
  if (worker->resumed) {
    const uint32_t at = now_doing(worker);
    turn_to(worker, Activity::SEARCH, worker->op);
    lack_rooms(worker);
    worker->run->coroutines->wait_for_any_room(worker);
    turn_back(worker, at);
  } else if (number == 1) {
    only->discipline->wait_for_room(worker, only, round);
  } else {
    const uint32_t at = now_doing(worker);
    turn_to(worker, Activity::ROOM, only->op);
    wait_a_little(worker, round);  // a thread sleeps for one queue only
    turn_back(worker, at);
  }
}

// Room for what it still has to send is among what the co-routine waits for next.
template <class Platform>
void Path<Platform>::lack_rooms(Worker* worker) {
  for (Target* target = worker->begun; target != nullptr; target = target->below) {
    if (target->left > 0) worker->run->coroutines->lack(worker, target->port->index);
  }
}

// Called on a co-routine's stack before it stops for anything.
template <class Platform>
void Path<Platform>::before_leaving(Worker* worker) {
  if (worker->op->loop != nullptr) let_go(worker->op->loop);
  hand_over(worker);
}

// -- the rest -------------------------------------------------------------------------------------

// Fails a run whose co-routines all wait for each other.
template <class Platform>
void Path<Platform>::deadlocked(Run* run) {
  if (!run->coroutines->find_deadlock()) return;
  run->failed.store(true, std::memory_order_release);
  end_run(run);
}

// Calls users' code on the thread's stack: that of a co-routine is small, and the interpreter does
// not know it.
template <class Platform>
void Path<Platform>::on_own_stack(Worker* worker, void (*function)(void*), void* argument) {
  if (worker->resumed) {
    worker->run->coroutines->on_thread(worker, function, argument);
  } else {
    function(argument);
  }
}

}  // namespace millrace
