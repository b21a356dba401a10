// barrier.hpp - takes a tuple of each input and sends one (C-Stream s2.3). This is the event-driven
// version of the paper's appendix: the thread that brings a tuple by any input calls the barrier,
// under every threading model.
//
//   held       each input has a ring of its own. That of input 0 holds whole tuples, which go on;
//              those of the others hold only headers, for the value. Where streams are typed, all
//              hold whole tuples, and one is made of their attributes. One ring is always empty: a
//              complete set of tuples goes on at once.
//   room       a thread that finds the ring of its input full waits in this file, and takes no more
//              from the queue before it (BOUND). The lock is free meanwhile, so that others can
//              bring the missing tuples. A co-routine, which reads all its inputs itself, takes no
//              more than there is room for (resumed.hpp).
//   over       an input has ended and its ring is empty. All tuples held, and all that still come,
//              are dropped (ENDS).
//
// No deadlock. Inputs that share a source get the same number of its tuples (graph/barriers.py), so
// they differ by what is on its way: in queues, and in operators that send both ways, a batch in
// each. There is room for those in a ring (layout.py). So where one is full while another is empty,
// tuples for the other are in queues that lead there; inputs without a common source wait for that
// source. Some thread executes those queues: each thread that waits here, or for room on its way
// here, executes one port upstream of a barrier, and the pool has a thread for each of these ports
// and one more (FREE; least_threads in models/pool.py).
//
// ORDER: one thread at a time brings tuples by a stream, and holds on to the rest of its batch
// while it waits.
//
// The oracle ends here and starts again: tuples that come are checked as at a sink, with the paths
// of their input; those that go on count as sent.
#pragma once

#include "path.hpp"

namespace millrace {

template <class Platform>
int32_t Path<Platform>::barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  return hold_parts<false>(op, worker, first, count, worker->run->stride);
}

template <class Platform>
int32_t Path<Platform>::typed_barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  const auto* state = static_cast<BarrierState*>(op->own);
  return hold_parts<true>(op, worker, first, count, state->inputs[worker->input].ring.stride());
}

template <class Platform>
template <bool TYPED>
int32_t Path<Platform>::hold_parts(Operator* op, Worker* worker, Tuple* first, uint32_t count,
                                   size_t stride) {
  auto* state = static_cast<BarrierState*>(op->own);
  BarrierInput* input = &state->inputs[worker->input];
  uint32_t round = 0;
  const auto check_first = [&](uint32_t some) {
    if constexpr (TYPED) {
      for (uint32_t i = 0; i < some; ++i) check(op->typed, slot(first, stride, i));
    } else {
      check_parts(worker, state, input, first, some);
    }
  };
  while (count > 0) {
    if (state->over) {
      check_first(count);
      state->discarded += count;
      return HANDLED;
    }
    const auto taken = static_cast<uint32_t>(input->ring.push(first, count, stride, 0));
    if (taken > 0) {
      check_first(taken);
      Platform::holds(worker, op, taken);
      first = slot(first, stride, taken);
      count -= taken;
      round = 0;
      send_complete<TYPED>(op, worker, state);
    } else if (worker->stop.load(std::memory_order_acquire)) {
      if constexpr (TYPED) {
        leave_typed(op, worker, count);
      } else {
        leave(op, worker, first, count);
      }
      return HANDLED;
    } else {
      wait_for_others(op, worker, &round);
    }
  }
  return HANDLED;
}

// Returns the tuples of an input that it would take without a wait. The caller is alone with the
// operator (ALONE). A platform may have other operators that take their inputs in step.
template <class Platform>
uint32_t Path<Platform>::room_of_input(Operator* op, uint32_t input) {
  if constexpr (requires { Platform::room_in_step(op, input); }) {
    if (!Platform::is_barrier(op)) return Platform::room_in_step(op, input);
  }
  const auto* state = static_cast<BarrierState*>(op->own);
  const BarrierInput& of = state->inputs[input];
  return state->over ? MAX_BATCH : static_cast<uint32_t>(of.ring.capacity() - of.ring.size_guess());
}

// Checks tuples as at a sink, without latency.
template <class Platform>
void Path<Platform>::check_parts(Worker* worker, BarrierState* state, BarrierInput* input,
                                 Tuple* first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    state->fingerprints +=
        check_end(*input, *state, slot(first, worker->run->stride, i), worker->run->payload);
}

// Sends on the tuples that all inputs have.
template <class Platform>
template <bool TYPED>
void Path<Platform>::send_complete(Operator* op, Worker* worker, BarrierState* state) {
  uint64_t ready = std::numeric_limits<uint64_t>::max();
  for (uint32_t i = 0; i < state->count; ++i) {
    ready = std::min<uint64_t>(ready, state->inputs[i].ring.size_guess());
    if (ready == 0) return;
  }
  if constexpr (TYPED) {
    const uint64_t before = op->emitted.read();
    op->typed->worker = worker;
    for (uint64_t i = 0; i < ready; ++i) join_typed(op->typed, state);
    deliver_typed(op->typed);
    // a run that was cut short gives up what it does not send
    state->discarded += (ready - (op->emitted.read() - before)) * state->count;
  } else {
    send_joined(op, worker, state, ready);
  }
  for (uint32_t i = 0; i < state->count; ++i) {
    if (state->inputs[i].open_streams == 0 && state->inputs[i].ring.size_guess() == 0) {
      end_barrier(op, worker, state);
      return;
    }
  }
}

// Joins the next `ready` tuples of all inputs, and sends them on.
template <class Platform>
void Path<Platform>::send_joined(Operator* op, Worker* worker, BarrierState* state,
                                 uint64_t ready) {
  BarrierInput* lead = state->inputs;
  const size_t stride = worker->run->stride;
  while (ready > 0) {
    Tuple* first;
    const auto count =
        static_cast<uint32_t>(lead->ring.front(std::min<uint64_t>(ready, MAX_BATCH), &first));
    for (uint32_t i = 1; i < state->count; ++i) join(&state->inputs[i], first, stride, count);
    for (uint32_t i = 0; i < count; ++i)
      state->sent_fingerprints += fingerprint(slot(first, stride, i)->sequence);
    pass_on(op, worker, first, count);
    lead->ring.release(count);
    ready -= count;
  }
}

// Joins the next typed tuple of all inputs: copies the attributes of each.
template <class Platform>
void Path<Platform>::join_typed(TypedState* typed, BarrierState* state) {
  int64_t born_ns = 0;
  const auto* column = state->columns;
  const auto* end = column + state->column_count;
  for (uint32_t i = 0; i < state->count; ++i) {
    Tuple* part;
    state->inputs[i].ring.front(1, &part);
    for (; column != end && column->input == i; ++column)
      std::memcpy(typed->context.room[0] + column->to, payload_of(part) + column->from,
                  column->bytes);
    if (part->born_ns != 0 && (born_ns == 0 || part->born_ns < born_ns)) born_ns = part->born_ns;
    state->inputs[i].ring.release(1);
  }
  if (enter(typed, 0, born_ns, typed->outgoing[0].most)) deliver_typed(typed);
}

// Adds the next tuples of an input to those of input 0. A whole is as old as its oldest part.
template <class Platform>
void Path<Platform>::join(BarrierInput* input, Tuple* first, size_t stride, uint32_t count) {
  for (uint32_t done = 0; done < count;) {
    Tuple* added;
    const auto part = static_cast<uint32_t>(input->ring.front(count - done, &added));
    for (uint32_t i = 0; i < part; ++i, ++added) {
      Tuple* to = slot(first, stride, done + i);
      to->value += added->value;
      if (added->born_ns != 0 && (to->born_ns == 0 || added->born_ns < to->born_ns))
        to->born_ns = added->born_ns;
    }
    input->ring.release(part);
    done += part;
  }
}

// An input has no tuple left, and gets none any more: nothing goes on from here.
template <class Platform>
void Path<Platform>::end_barrier(Operator* op, Worker* worker, BarrierState* state) {
  state->over = true;
  for (uint32_t i = 0; i < state->count; ++i) {
    while (state->inputs[i].ring.size_guess() > 0) {
      Tuple* first;
      const size_t count = state->inputs[i].ring.front(MAX_BATCH, &first);
      state->inputs[i].ring.release(count);
      state->discarded += count;
    }
  }
  op->ended = true;
  send_final(worker, op);
}

// A stream into an input has ended, perhaps the last one.
template <class Platform>
void Path<Platform>::input_ended(Operator* op, Worker* worker) {
  auto* state = static_cast<BarrierState*>(op->own);
  BarrierInput& input = state->inputs[worker->input];
  --input.open_streams;
  if (!state->over && input.open_streams == 0 && input.ring.size_guess() == 0)
    end_barrier(op, worker, state);
}

// Ends a window punctuation: a tuple made of several inputs is in no single window. Its order is
// checked as at a sink.
template <class Platform>
bool Path<Platform>::mark_barrier(Operator* op, Worker* worker, Tuple* mark) {
  auto* state = static_cast<BarrierState*>(op->own);
  ++state->windows;
  check_mark(state->inputs[worker->input], *state, mark);
  return false;
}

// Waits a while for tuples of other inputs. The operator's lock is free meanwhile, and held again
// on return.
template <class Platform>
void Path<Platform>::wait_for_others(Operator* op, Worker* worker, uint32_t* round) {
  const uint32_t at = now_doing(worker);
  turn_to(worker, Activity::TUPLES, op);
  if (op->lock != nullptr) op->lock->unlock();
  wait_a_little(worker, round);
  if (op->lock != nullptr) acquire(worker, op->lock, op);
  turn_back(worker, at);
}

}  // namespace millrace
