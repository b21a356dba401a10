// submit.hpp - the one path of a tuple to a port: call the operator, queue the tuple, or wait in
// the way of the queue's kind and try again.
//
//   execute   hands tuples to an operator, and on through the operators that are called behind it,
//             without recursion along a chain
//   deliver   one output port's tuples to all that subscribe to it
//   send      to one of them: into its queue, or by a call
//   begin, end    several such deliveries at once, of which none waits while another one could go
//             on
//   take      what a port's consumer does with tuples at the front of its queue
//   pass_mark, receive_mark       window punctuation on its way
//   close_operator, end_stream    final punctuation on its way (ENDS)
//
// Batches. A consumer hands an operator up to 32 tuples at once, which it works on where they lie,
// in the slots of its input queue; they are then copied to the next queue in one go and published
// once. ORDER holds because a batch is a run of the stream and is handled front to back. Nothing is
// held back: the tuples that a batch produced are published before the next batch is taken.
//
// Nesting. A producer that finds a queue full may drain it (dynamic.hpp), and then comes here again
// for the next queue. Each level is further downstream, so levels are bounded by the longest path
// of the graph, and so is the stack (plan.pyx sizes it). Control ports, where cycles close, are
// leaves: tuples that arrive there go no further.
#pragma once

#include "path.hpp"

namespace millrace {

// Hands `count` data tuples, `stride` apart, to `op`. They may be changed in place, and are not
// needed any more on return.
template <class Platform>
void Path<Platform>::execute(Worker* worker, Operator* op, Tuple* first, uint32_t count) {
  while (op->lock == nullptr) {
    turn_to(worker, Activity::WORK, op);
    op->processed.add(count);
    Platform::executes(worker, op, first, count);
    const int32_t route = op->kernel(op, worker, first, count);
    if (route < 0) return;
    Operator* next = op->next.load(std::memory_order_relaxed);
    if (next == nullptr) {
      deliver(worker, &op->routes[route], first, count);
      return;
    }
    if (op->next_path_step != 0) {
      for (uint32_t i = 0; i < count; ++i)
        slot(first, worker->run->stride, i)->path += op->next_path_step;
    }
    op = next;
  }
  // More than one thread can reach this operator (P17 s5.2). The lock is held until its tuples are
  // in a queue or through the operators called behind it: else two threads could overtake each
  // other on the way there, against ORDER. Locks are taken in the direction of the streams only,
  // so no threads wait for each other in a circle.
  acquire(worker, op->lock, op);
  turn_to(worker, Activity::WORK, op);
  op->processed.add(count);
  Platform::executes(worker, op, first, count);
  const int32_t route = op->kernel(op, worker, first, count);
  if (route >= 0) deliver(worker, &op->routes[route], first, count);
  Platform::pass(worker);
  op->lock->unlock();
}

// Wakes the threads that this one still owes a wake-up, before it waits or enters users' code: its
// tuples must not wait for it.
template <class Platform>
void Path<Platform>::hand_over(Worker* worker) {
  if (worker->owed_count > 0) wake_owed(worker);
  if (worker->run->ready != nullptr) wake_pool(worker);
}

template <class Platform>
void Path<Platform>::wake_pool(Worker* worker) {
  announce(worker);
  worker->run->ready->wake_one();
}

template <class Platform>
void Path<Platform>::acquire(Worker* worker, Lock* lock, const Operator* op) {
  if (lock->try_lock()) return;
  const uint32_t at = now_doing(worker);
  hand_over(worker);
  turn_to(worker, Activity::LOCK, op);
  worker->rest.store(BLOCKED, std::memory_order_relaxed);
  worker->idle.start();
  lock->lock();
  worker->idle.stop();
  worker->rest.store(AWAKE, std::memory_order_relaxed);
  turn_back(worker, at);
}

// Sends `count` tuples to every target of an output port. A replica may have to hold them back
// until its turn comes.
template <class Platform>
void Path<Platform>::deliver(Worker* worker, Route* route, Tuple* first, uint32_t count) {
  if (worker->replica && !worker->run->coroutines->first(worker)) {
    hold_back(worker, first, count);
  } else {
    deliver_now(worker, route, first, count);
  }
}

// Holds back what a replica sends that is not the first: it goes downstream after all tuples that
// others send before. Its targets have queues.
template <class Platform>
void Path<Platform>::hold_back(Worker* worker, Tuple* first, uint32_t count) {
  const uint32_t held = worker->run->coroutines->send(worker, first, count);
  if (held == count) return;
  const Route& route = worker->op->routes[0];
  const size_t stride = worker->run->stride;
  for (uint32_t i = 0; i < route.count; ++i)
    give_up(worker, route.targets[i].port, slot(first, stride, held), stride, count - held);
}

// Sends tuples or a punctuation that were held back; any replica whose turn it is may do so.
template <class Platform>
void Path<Platform>::send_held(Worker* worker, Tuple* first, uint32_t count) {
  if (first->kind == DATA) {
    deliver_now(worker, worker->op->routes, first, count);
  } else {
    pass_mark_now(worker, worker->op, first);
  }
}

template <class Platform>
void Path<Platform>::deliver_now(Worker* worker, Route* route, Tuple* first, uint32_t count) {
  if (route->count == 1) {
    send(worker, route->targets, first, route->stride, count, nullptr);
    return;
  }
  if constexpr (Platform::BEGINS_SEVERAL) {
    if (worker->run->coroutines != nullptr) {
      Target* before = worker->begun;
      begin(worker, route, first, route->stride, count);
      end(worker, before);
      return;
    }
  }
  deliver_to_all(worker, route, first, count);
}

// Pushes to targets with queues first, because a call may take long. The last called target works
// in place; others get copies.
template <class Platform>
void Path<Platform>::deliver_to_all(Worker* worker, Route* route, Tuple* first, uint32_t count) {
  uint32_t called = 0;
  for (uint32_t i = 0; i < route->count; ++i) {
    Target* target = &route->targets[i];
    target->early =
        target->port != nullptr && target->port->mode.load(std::memory_order_relaxed) == QUEUED;
    if (target->early) {
      send(worker, target, first, route->stride, count, route->scratch);
    } else {
      ++called;
    }
  }
  if (called > 0 && worker->run->ready != nullptr) announce(worker);
  for (uint32_t i = 0; i < route->count; ++i) {
    Target* target = &route->targets[i];
    if (target->early) continue;
    --called;
    send(worker, target, first, route->stride, count, called > 0 ? route->scratch : nullptr);
  }
}

// Delivers `count` tuples, every `every`th in the slots.
template <class Platform>
void Path<Platform>::deliver_every(Worker* worker, Route* route, Tuple* first, uint32_t count,
                                   uint32_t every) {
  Platform::step(worker, Step::CHOOSE_WAY, count);
  if (every == 1 || route->count > 1) {
    for (uint32_t i = 0; i < count; ++i)
      deliver(worker, route, slot(first, worker->run->stride, i * every), 1);
  } else {
    send(worker, route->targets, first, worker->run->stride * every, count, nullptr);
  }
}

// Sends `count` tuples, `spacing` bytes apart, one way. With `scratch` they are still needed, so
// that a called operator gets copies.
template <class Platform>
void Path<Platform>::send(Worker* worker, Target* target, Tuple* first, size_t spacing,
                          uint32_t count, char* scratch) {
  if (target->port == nullptr ||
      (target->direct.load(std::memory_order_relaxed) && first->kind == DATA)) {
    call(worker, target, first, spacing, count, scratch);
  } else {
    push(worker, target, first, spacing, count, scratch);
  }
}

// Executes the target's operator. Other targets never see its changes: if some are still to be
// served it works on copies.
template <class Platform>
void Path<Platform>::call(Worker* worker, Target* target, Tuple* first, size_t spacing,
                          uint32_t count, char* scratch) {
  const size_t stride = target->stride;
  const uint32_t at_once = spacing == stride ? count : 1;
  for (uint32_t begin = 0; begin < count; begin += at_once) {
    Tuple* batch = slot(first, spacing, begin);
    if (scratch != nullptr) {
      turn_to_moving(worker);
      Platform::step(worker, Step::COPY, at_once);
      std::memcpy(scratch, batch, at_once * stride);
      batch = reinterpret_cast<Tuple*>(scratch);
    }
    if (target->path_step != 0) {
      for (uint32_t i = 0; i < at_once; ++i) slot(batch, stride, i)->path += target->path_step;
    }
    worker->input = target->input;
    execute(worker, target->op, batch, at_once);
  }
}

// Copies `count` tuples into a port's queue; a full queue is back-pressure (BOUND). Calls the
// operator if the queue is switched off.
template <class Platform>
void Path<Platform>::push(Worker* worker, Target* target, Tuple* first, size_t spacing,
                          uint32_t count, char* scratch) {
  Port* port = target->port;
  uint32_t round = 0;
  bool waited = false;
  for (;;) {
    Platform::pass(worker);
    if (port->mode.load(std::memory_order_acquire) != QUEUED &&
        call_instead(worker, target, first, spacing, count, scratch))
      return;
    const uint32_t pushed = put(worker, target, first, spacing, count, waited);
    if (pushed == count) return;
    if (pushed > 0) {
      waited = false;
      round = 0;
      count -= pushed;
      first = slot(first, spacing, pushed);
    } else if (port->mode.load(std::memory_order_acquire) & NOW_CALLED) {
      continue;  // the queue was switched off while this thread waited for its turn
    }
    if (worker->stop.load(std::memory_order_acquire)) {
      give_up(worker, port, first, spacing, count);
      return;
    }
    if constexpr (Platform::BEGINS_SEVERAL) {
      if (worker->run->coroutines != nullptr) {
        Target* before = worker->begun;
        put_off(worker, target, first, spacing, count);
        end(worker, before);
        return;
      }
    }
    waited = true;
    port->discipline->wait_for_room(worker, port, &round);
  }
}

// Copies tuples, or a punctuation, into the target's queue as far as there is room. Returns their
// number. `waited`: the queue was full before.
template <class Platform>
uint32_t Path<Platform>::put(Worker* worker, Target* target, Tuple* first, size_t spacing,
                             uint32_t count, bool waited) {
  Port* port = target->port;
  // Where the plan has proved one producer the flag is left alone, and a push needs no
  // read-modify-write.
  const bool flagged = Platform::has_flags(worker, port);
  turn_to_moving(worker);
  if (flagged) {
    if (!port->producing.try_lock()) return 0;
    if (port->mode.load(std::memory_order_acquire) & NOW_CALLED) {
      port->producing.unlock();
      return 0;
    }
  }
  const uint32_t kind = first->kind;
  if (kind != DATA) port->marks.add(1);  // seen with the tuple: edge PUBLISH of the ring
  if (port->stamps != nullptr) Platform::stamp(worker, port, count);
  const auto pushed =
      static_cast<uint32_t>(port->ring.push(first, count, spacing, target->path_step));
  if (kind != DATA) {
    if (pushed == 0) {
      port->marks.add(static_cast<uint64_t>(-1));
    } else if (kind == FINAL) {
      // ENDED: a thread that reads 0 sees all tuples that came
      port->unended.fetch_sub(1, std::memory_order_release);
    }
  }
  if (pushed > 0) {
    port->pushes.add(1);
    worker->pushed += pushed;
    if (waited) port->blocked.add(1);
  }
  if (flagged) {
    if (port->shared) Platform::pass(worker);
    port->producing.unlock();  // without a wake-up: a thread that finds it taken tries again
  }
  if (pushed > 0) port->discipline->published(worker, target);
  return pushed;
}

// -- several deliveries at once -------------------------------------------------------------------
//
// An operator of the coroutine model may wait for tuples of one port while its queue before another
// one is full (loop_path.hpp). The worker that fills that queue may also hold the tuples that the
// operator waits for. So a worker never waits while it keeps a tuple for which there is room: all
// deliveries that it has begun are in one list (Worker::begun), and it waits for room at any of the
// queues in that list. Then a graph that ends when each tuple is sent by itself ends with batches
// too: at each moment a sender has sent as much as it would have then.
//
// Called targets are in the list as well, and are called before the worker waits. No operator is
// called twice at a time by that, since in this model only one stream leads to an operator that is
// called (models). The stack has room for all of them (plan.pyx).

// Sends to all targets of an output port as far as there is room, `end` sends the rest. Under other
// models: sends all.
template <class Platform>
void Path<Platform>::begin(Worker* worker, Route* route, Tuple* first, size_t spacing,
                           uint32_t count) {
  if (worker->run->coroutines == nullptr) {
    deliver_now(worker, route, first, count);  // there are no replicas
    return;
  }
  for (uint32_t i = 0; i < route->count; ++i)
    begin_way(worker, &route->targets[i], first, spacing, count);
}

template <class Platform>
void Path<Platform>::begin_way(Worker* worker, Target* target, Tuple* first, size_t spacing,
                               uint32_t count) {
  const uint32_t handed =
      target->port == nullptr ? 0 : put(worker, target, first, spacing, count, false);
  if (handed < count)
    put_off(worker, target, slot(first, spacing, handed), spacing, count - handed);
}

template <class Platform>
void Path<Platform>::put_off(Worker* worker, Target* target, Tuple* first, size_t spacing,
                             uint32_t count) {
  target->rest = first;
  target->spacing = spacing;
  target->left = count;
  target->below = worker->begun;
  worker->begun = target;
}

// Sends what was begun as far as there is room. Returns true if there was some.
template <class Platform>
bool Path<Platform>::hand_on(Worker* worker) {
  bool some = false;
  for (Target* target = worker->begun; target != nullptr; target = target->below) {
    if (target->left == 0) continue;
    if (target->port == nullptr) {
      call_rest(worker, target);
      some = true;
    } else {
      const uint32_t handed =
          put(worker, target, target->rest, target->spacing, target->left, true);
      target->rest = slot(target->rest, target->spacing, handed);
      target->left -= handed;
      some = some || handed > 0;
    }
  }
  return some;
}

template <class Platform>
void Path<Platform>::call_rest(Worker* worker, Target* target) {
  const uint32_t count = target->left;
  target->left = 0;
  if (target->rest->kind == FINAL) {
    worker->input = target->input;
    end_stream(worker, target->op);
  } else {
    call(worker, target, target->rest, target->spacing, count, target->scratch);
  }
}

// Waits until all is sent that was begun since `before` was the last one, or gives it up with the
// run.
template <class Platform>
void Path<Platform>::end(Worker* worker, Target* before) {
  if (worker->begun != before) end_begun(worker, before);
}

template <class Platform>
void Path<Platform>::end_begun(Worker* worker, Target* before) {
  uint32_t round = 0;
  while (worker->begun != before) {
    Target* target = worker->begun;
    if (target->left == 0) {
      worker->begun = target->below;
    } else if (worker->stop.load(std::memory_order_acquire)) {
      if (target->port == nullptr) {
        call_rest(worker, target);
      } else {
        give_up(worker, target->port, target->rest, target->spacing, target->left);
        target->left = 0;
      }
    } else if (hand_on(worker)) {
      round = 0;
    } else {
      wait_for_room_of_any(worker, &round);
    }
  }
}

// Drops the tuples of a producer that was blocked when the run was cut short, and accounts for them
// (ONCE).
template <class Platform>
void Path<Platform>::give_up(Worker* worker, Port* port, Tuple* first, size_t spacing,
                             uint32_t count) {
  uint32_t data = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Tuple* tuple = slot(first, spacing, i);
    if (tuple->kind != DATA) continue;
    ++data;
    worker->given_up_fingerprints += fingerprint(tuple->sequence) * port->op->copies;
  }
  port->given_up.fetch_add(data, std::memory_order_relaxed);
  worker->run->gave_up.store(true, std::memory_order_relaxed);
}

// Executes the port's operator on `count` queued tuples. The caller is the port's consumer at this
// time (ALONE).
template <class Platform>
void Path<Platform>::take(Worker* worker, Port* port, Tuple* first, uint32_t count) {
  worker->input = port->input;
  Platform::takes(worker, port, count);
  if (port->marks.read() == port->marks_taken) {
    execute(worker, port->op, first, count);
  } else {
    take_with_marks(worker, port, first, count);
  }
}

template <class Platform>
void Path<Platform>::take_with_marks(Worker* worker, Port* port, Tuple* first, uint32_t count) {
  const size_t stride = port->ring.stride();
  uint32_t start = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (slot(first, stride, i)->kind == DATA) continue;
    if (i > start) {
      worker->input = port->input;
      execute(worker, port->op, slot(first, stride, start), i - start);
    }
    start = i + 1;
    ++port->marks_taken;
    take_mark(worker, port, slot(first, stride, i));
  }
  if (count > start) {
    worker->input = port->input;
    execute(worker, port->op, slot(first, stride, start), count - start);
  }
}

// Takes a punctuation at a port, from its queue or by a call.
template <class Platform>
void Path<Platform>::take_mark(Worker* worker, Port* port, Tuple* mark) {
  worker->input = port->input;
  if (mark->kind == WINDOW) {
    receive_mark(worker, port->op, mark);
  } else {
    --port->open_streams;
    end_stream(worker, port->op);
  }
}

// -- window punctuation ---------------------------------------------------------------------------

// Sends a window punctuation on every stream out of `op`; the caller is alone with `op`. `mark` is
// as before on return.
template <class Platform>
void Path<Platform>::pass_mark(Worker* worker, Operator* op, Tuple* mark) {
  if (worker->replica && !worker->run->coroutines->first(worker)) {
    hold_back(worker, mark, 1);
  } else {
    pass_mark_now(worker, op, mark);
  }
}

template <class Platform>
void Path<Platform>::pass_mark_now(Worker* worker, Operator* op, Tuple* mark) {
  const uint32_t path = mark->path, order = mark->order;
  const double value = mark->value;
  bool begun = false;
  Platform::step(worker, Step::MARK, 1);
  if constexpr (Platform::BEGINS_SEVERAL) {
    begun = worker->run->coroutines != nullptr;
    if (begun) begin_mark(worker, op, mark);
  }
  for (uint32_t route = 0; route < op->outputs; ++route) {
    for (uint32_t i = 0; i < op->routes[route].count; ++i) {
      Target* target = &op->routes[route].targets[i];
      if (target->port == nullptr) {
        mark->path += target->path_step;
        worker->input = target->input;
        receive_mark(worker, target->op, mark);
      } else if (!begun) {
        push(worker, target, mark, worker->run->stride, 1, nullptr);
      }
      mark->path = path;
      mark->order = order;
      mark->value = value;
    }
  }
}

// Sends a window punctuation to all queues behind `op`.
template <class Platform>
void Path<Platform>::begin_mark(Worker* worker, Operator* op, Tuple* mark) {
  Target* before = worker->begun;
  for (uint32_t route = 0; route < op->outputs; ++route) {
    for (uint32_t i = 0; i < op->routes[route].count; ++i) {
      Target* target = &op->routes[route].targets[i];
      if (target->port != nullptr) begin_way(worker, target, mark, worker->run->stride, 1);
    }
  }
  end(worker, before);
}

// Receives a window punctuation. It keeps its place in the stream, because the same thread has just
// delivered the tuples before it.
template <class Platform>
void Path<Platform>::receive_mark(Worker* worker, Operator* op, Tuple* mark) {
  if (op->lock != nullptr) acquire(worker, op->lock, op);
  if (op->mark == nullptr || op->mark(op, worker, mark)) pass_mark(worker, op, mark);
  if (op->lock == nullptr) return;
  Platform::pass(worker);
  op->lock->unlock();
}

// -- final punctuation ----------------------------------------------------------------------------

// One stream into `op` has ended; the last one closes it.
template <class Platform>
void Path<Platform>::end_stream(Worker* worker, Operator* op) {
  Platform::stream_ends(worker, op);
  if (last_stream(worker, op)) close_operator(worker, op);
}

template <class Platform>
bool Path<Platform>::last_stream(Worker* worker, Operator* op) {
  Lock* const lock = Platform::lock_at_end(op);
  if (lock != nullptr) acquire(worker, lock, op);
  --op->open_streams;
  const bool last = op->open_streams == 0;
  if (op->stream_ended != nullptr) op->stream_ended(op, worker);
  if (lock != nullptr) lock->unlock();
  return last;
}

// Sends final punctuation on every stream out of `op`.
template <class Platform>
void Path<Platform>::send_final(Worker* worker, Operator* op) {
  Tuple* final_punctuation = worker->run->final_punctuation;
  const size_t stride = worker->run->stride;
  if constexpr (Platform::BEGINS_SEVERAL) {
    if (worker->run->coroutines != nullptr) {
      Target* before = worker->begun;
      for (uint32_t route = 0; route < op->outputs; ++route)
        begin(worker, &op->routes[route], final_punctuation, stride, 1);
      end(worker, before);
      return;
    }
  }
  for (uint32_t route = 0; route < op->outputs; ++route) {
    for (uint32_t i = 0; i < op->routes[route].count; ++i) {
      Target* target = &op->routes[route].targets[i];
      if (target->port != nullptr) {
        push(worker, target, final_punctuation, stride, 1, nullptr);
      } else {
        worker->input = target->input;
        end_stream(worker, target->op);
      }
    }
  }
}

// Sends final punctuation to all targets, if it has not been sent; the last operator to close ends
// the run (ENDS).
template <class Platform>
void Path<Platform>::close_operator(Worker* worker, Operator* op) {
  Run* run = worker->run;
  for (;;) {
    Platform::step(worker, Step::MARK, 1);
    if (op->closes != nullptr) op->closes(op, worker);
    Target* target = nullptr;
    if (op->outputs == 1 && op->routes[0].count == 1 && op->routes[0].targets->port == nullptr &&
        !op->ended) {
      target = op->routes[0].targets;
    } else if (!op->ended) {
      send_final(worker, op);
    }
    if (run->open_operators.fetch_sub(1, std::memory_order_acq_rel) == 1) end_run(run);
    if (target == nullptr) return;
    worker->input = target->input;
    if (!last_stream(worker, target->op)) return;
    // a chain of calls is walked, not climbed: 10,000 operators deep must not need 10,000 frames
    op = target->op;
  }
}

}  // namespace millrace
