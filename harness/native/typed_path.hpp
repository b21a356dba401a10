// typed_path.hpp - operators whose tuples have attributes, and that send none, one or many for each
// they get, on any output port.
//
// Tuples that such an operator sends are collected in slots of each output port. All are delivered
// when those of one port are full, when they are due (coarse_clock.hpp), and when the operator
// is done with its batch: then nothing is held back. A delivery in the middle of a call
// waits where a queue is full, as any other does, and so holds up the function that sends (BOUND).
// The slots are the operator's, which is executed by one thread at a time (ALONE), and that thread
// does not come back to it from a delivery, which leads downstream only.
//
// Once a run is cut short nothing more is sent: a sender that found a queue full may have given up
// earlier tuples, and a receiver must not see a gap. The thread that gave up had seen Worker::stop,
// before which Run::over was written, and the thread that executes the operator after it sees both
// (edge HANDOVER, or the operator's lock).
//
// A compiled function runs on the stack of the co-routine, if it is one, since it waits where it
// sends; the stack is as large as a thread's. A callable runs on that of the thread, as the
// interpreter requires: its tuples are taken from it one by one, and sent when it has returned.
//
// As other functions of users (users.hpp) they may take long, so before a call this thread hands on
// the tuples that others could wait for. Tuples sent are counted by output port, numbered and
// sealed, and checked where they arrive (typed.hpp).
#pragma once

#include "path.hpp"

namespace millrace {

// Calls the function once a tuple. The tuples that a Python callable sends for one go on before the
// next call, which may take long.
//
// Most operators are plain: compiled, no sink, without replicas, and without the promise to send
// one tuple for each. So none is between a split and its merge, and the order of its tuples does
// not matter. The plan chooses (connect_typed), so a plain operator checks none of this at a tuple.
template <class Platform>
int32_t Path<Platform>::typed(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  return process<false>(op, worker, first, count);
}
template <class Platform>
int32_t Path<Platform>::typed_plain(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  return process<true>(op, worker, first, count);
}

template <class Platform>
template <bool PLAIN>
int32_t Path<Platform>::process(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  TypedState* state = op->typed;
  const size_t stride = state->incoming[first->path].stride;
  const bool in_python = !PLAIN && state->python != nullptr;
  state->worker = worker;
  hand_over(worker);
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, stride, i);
    if (worker->stop.load(std::memory_order_acquire)) {
      leave_typed(op, worker, count - i);
      break;
    }
    const uint32_t port = check<PLAIN>(state, tuple).port;
    state->born_ns = tuple->born_ns;
    if constexpr (!PLAIN) state->order = tuple->order;
    const uint64_t sent = !PLAIN && !op->drops ? state->outgoing[0].entered : 0;
    if (in_python)
      state->failed_at =
          state->first == nullptr ? op->processed.read() - (count - i) : tuple->sequence;
    int32_t answer = state->process(&state->context, port, payload_of(tuple), state->state);
    if (!PLAIN && !op->drops && answer >= 0 && state->outgoing[0].entered != sent + 1 &&
        !worker->stop.load(std::memory_order_acquire))
      answer = NOT_ONE_FOR_ONE;
    if (answer < 0) {
      fail_typed(state, answer,
                 state->first == nullptr ? op->processed.read() - (count - i) : tuple->sequence);
      return HANDLED;
    }
    if (!PLAIN && state->latency != nullptr && tuple->born_ns != 0)
      state->latency->record(Platform::now_ns(worker) - tuple->born_ns);
    if (in_python || batch_is_due(worker)) {
      deliver_typed(state);
      hand_over(worker);
    }
  }
  if (worker->collects) deliver_typed(state);  // else its slots are empty, as a sink's are
  return HANDLED;
}

// Ends a tuple that a loop has taken.
template <class Platform>
void Path<Platform>::take_typed(Worker* worker, TypedState* state, Tuple* tuple) {
  check(state, tuple);
  if (state->latency != nullptr && tuple->born_ns != 0)
    state->latency->record(Platform::now_ns(worker) - tuple->born_ns);
}

// Leaves the rest of a batch of a run that was cut short: it counts as not yet given to the
// operator (ONCE).
template <class Platform>
void Path<Platform>::leave_typed(Operator* op, Worker* worker, uint32_t count) {
  op->processed.add(0 - uint64_t{count});
  op->left += count;
  worker->run->gave_up.store(true, std::memory_order_relaxed);
}

// Ends the run because the function has returned an error, at tuple `at` of those that came to it.
template <class Platform>
void Path<Platform>::fail_typed(TypedState* state, int32_t answer, uint64_t at) {
  state->failed_at = at;
  state->error.store(answer, std::memory_order_release);
  state->worker->run->failed.store(true, std::memory_order_release);
  end_run(state->worker->run);
}

// -- sending --------------------------------------------------------------------------------------

// Sends the tuple that the function has written.
template <class Platform>
void Path<Platform>::send_typed(millrace_context* context, uint32_t output) {
  collect<false>(reinterpret_cast<TypedState*>(context), output);
}
template <class Platform>
void Path<Platform>::send_plain(millrace_context* context, uint32_t output) {
  collect<true>(reinterpret_cast<TypedState*>(context), output);
}

template <class Platform>
template <bool PLAIN>
void Path<Platform>::collect(TypedState* state, uint32_t output) {
  Worker* worker = state->worker;
  if (enter<PLAIN>(state, output, state->born_ns, state->outgoing[output].most) ||
      batch_is_due(worker)) {
    deliver_typed(state);
    hand_over(worker);
  }
}

template <class Platform>
void Path<Platform>::send_from_source(millrace_context* context, uint32_t output) {
  auto* state = reinterpret_cast<TypedState*>(context);
  Worker* worker = state->worker;
  auto* source = state->source;
  ++source->sent;
  const uint32_t most =
      std::min(source->batch.load(std::memory_order_relaxed), state->outgoing[output].most);
  const int64_t born_ns = state->outgoing[output].filled == 0 ? Platform::now_ns(worker) : 0;
  if (!enter<true>(state, output, born_ns, most) && !batch_is_due(worker)) return;
  deliver_typed(state);
  ++state->batches;
  if (state->batches % BATCHES_IN_SILENCE == 0) {
    hand_over(worker);
  } else if (most < source->room) {  // a region that takes its time
    announce(worker);
  }
  if (worker->resumed) worker->run->coroutines->check_for_preemption(worker);
}

// Sends on the tuples in the slots of all output ports. Returns true if there were any.
template <class Platform>
bool Path<Platform>::deliver_typed(TypedState* state) {
  Worker* worker = state->worker;
  Target* before = worker->begun;
  bool some = false;
  worker->collects = false;
  for (uint32_t output = 0; output < state->outputs; ++output) {
    if (state->outgoing[output].filled == 0) continue;
    begin_typed(state, output);
    some = true;
  }
  end(worker, before);
  return some;
}

template <class Platform>
void Path<Platform>::begin_typed(TypedState* state, uint32_t output) {
  auto& out = state->outgoing[output];
  Operator* op = state->op;
  Worker* worker = state->worker;
  const uint32_t count = out.filled;
  rewind(state, output);  // nothing is written into the slots until all is sent
  if (keeps_back(worker, state->first != nullptr, out.slots, count)) return;
  op->routes[output].sent.add(count);
  if (state->source != nullptr) {
    op->processed.add(count);
    worker->taken += count;
    worker->born_ns = out.slots->born_ns;
  } else {
    op->emitted.add(count);
  }
  if (op->loop != nullptr && op->loop->source) push_from_source(worker, op, out.slots, count);
  begin(worker, &op->routes[output], out.slots, out.stride, count);
  turn_to(worker, state->source == nullptr ? Activity::WORK : Activity::MAKE, op);
}

// Calls an operator's `finish` when its last stream has ended, before its own streams end. Nothing
// in a run that is cut short.
template <class Platform>
void Path<Platform>::finish_typed(Operator* op, Worker* worker) {
  TypedState* state = op->typed;
  if (state->source != nullptr || worker->stop.load(std::memory_order_acquire)) return;
  state->worker = worker;
  state->born_ns = 0;
  turn_to(worker, Activity::WORK, op);
  hand_over(worker);
  const int32_t answer =
      state->finish == nullptr ? 0 : state->finish(&state->context, state->state);
  if (answer < 0) {
    fail_typed(state, answer, op->processed.read());
  } else {
    deliver_typed(state);
  }
}

// -- replicas -------------------------------------------------------------------------------------

// Checks a tuple that a replica takes from the port, in the order of the port. `op` is the
// operator's own.
template <class Platform>
void Path<Platform>::taken_in_order(Worker* worker, Operator* op, Tuple* tuple) {
  if (op->typed != nullptr) {
    check_next(op->typed, tuple);
  } else if (tuple->kind == DATA) {
    sink(op, worker, tuple, 1);
  } else {
    mark_sink(op, worker, tuple);
  }
}

// Returns true if tuples that an operator has made are not to be sent by its thread now: the run
// was cut short, and what came before may have been given up; or a replica has made them, and they
// are held back until its turn comes.
template <class Platform>
bool Path<Platform>::keeps_back(Worker* worker, bool replicated, Tuple* first, uint32_t count) {
  if (worker->run->over.load(std::memory_order_acquire)) {
    worker->run->gave_up.store(true, std::memory_order_relaxed);
    return true;
  }
  if (replicated) keep_back(worker, first, count);
  return replicated;
}

template <class Platform>
void Path<Platform>::keep_back(Worker* worker, Tuple* first, uint32_t count) {
  if (worker->run->coroutines->send(worker, first, count) < count)
    worker->run->gave_up.store(true, std::memory_order_relaxed);
  turn_to(worker, Activity::WORK, worker->op);
}

// Sends tuples that were held back, as send_held. Those of typed operators and of loops get their
// numbers now, and count as sent, unless the run was cut short.
template <class Platform>
void Path<Platform>::send_numbered(Worker* worker, Tuple* first, uint32_t count) {
  Operator* op = worker->op;
  if (op->typed != nullptr || op->loop != nullptr) {
    if (worker->run->over.load(std::memory_order_acquire)) {
      worker->run->gave_up.store(true, std::memory_order_relaxed);
      return;
    }
    if (op->typed != nullptr) {
      auto& out = op->typed->first->outgoing[0];
      for (uint32_t i = 0; i < count; ++i) number(out, slot(first, out.stride, i));
    } else {
      auto& out = op->loop->first->outputs[0];
      for (uint32_t i = 0; i < count; ++i) {
        Tuple* tuple = slot(first, worker->run->stride, i);
        tuple->sequence = out.sent++;
        out.fingerprints += fingerprint(tuple->sequence);
        fill_payload(tuple, worker->run->payload);
      }
    }
    op->routes[0].sent.add(count);
    op->emitted.add(count);
  }
  send_held(worker, first, count);
}

// -- regions --------------------------------------------------------------------------------------
//
// Between a split and the merge that restores its order, each operator sends one tuple for each
// that it gets, with the order that the split has given it (Tuple::order).

template <class Platform>
int32_t Path<Platform>::typed_split(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  TypedState* state = op->typed;
  const auto* split = static_cast<SplitState*>(op->own);
  const size_t stride = state->incoming[first->path].stride;
  if (is_ahead(op, split, count)) wait_for_merge(op, worker, count);
  state->worker = worker;
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, stride, i);
    check(state, tuple);
    const uint32_t way = state->key_count > 0
                             ? way_of(key_hash(*state, payload_of(tuple)), op->outputs)
                             : op->order % op->outputs;
    state->order = op->order++;
    auto& out = state->outgoing[way];
    std::memcpy(state->context.room[way], payload_of(tuple), out.stride - sizeof(Tuple));
    if (enter(state, way, tuple->born_ns, out.most)) deliver_typed(state);
  }
  deliver_typed(state);
  return HANDLED;
}

// As merge() (kernels.hpp).
template <class Platform>
int32_t Path<Platform>::typed_merge(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  TypedState* typed = op->typed;
  auto* state = static_cast<MergeState*>(op->own);
  const size_t stride = typed->incoming[first->path].stride;
  typed->worker = worker;
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, stride, i);
    check(typed, tuple);
    uint32_t next = state->next.load(std::memory_order_relaxed);
    if (tuple->order == next) {
      merge_on(worker, op, tuple);
      for (;;) {
        next = state->next.load(std::memory_order_relaxed);
        const uint32_t place = next & static_cast<uint32_t>(state->mask);
        if (state->held == 0 || !state->present[place]) break;
        state->present[place] = 0;
        --state->held;
        merge_on(worker, op, reinterpret_cast<Tuple*>(state->slots + place * worker->run->stride));
      }
    } else if (tuple->order - next <= state->mask) {
      const uint32_t place = tuple->order & static_cast<uint32_t>(state->mask);
      std::memcpy(state->slots + place * worker->run->stride, static_cast<const void*>(tuple),
                  stride);
      state->present[place] = 1;
      ++state->held;
    } else if (worker->run->over.load(std::memory_order_acquire)) {
      ++state->given_up;
      worker->run->gave_up.store(true, std::memory_order_relaxed);
    } else {
      overrun(worker, state);
      return HANDLED;
    }
  }
  merge_advanced(worker->run, state);
  deliver_typed(typed);
  return HANDLED;
}

// Sends on the tuple that is next in a merge.
template <class Platform>
void Path<Platform>::merge_on(Worker* worker, Operator* op, Tuple* tuple) {
  TypedState* typed = op->typed;
  auto* state = static_cast<MergeState*>(op->own);
  auto& out = typed->outgoing[0];
  std::memcpy(typed->context.room[0], payload_of(tuple), out.stride - sizeof(Tuple));
  state->next.store(tuple->order + 1, std::memory_order_relaxed);
  if (!enter(typed, 0, tuple->born_ns, out.most)) return;
  merge_advanced(worker->run, state);
  deliver_typed(typed);
}

// -- sources --------------------------------------------------------------------------------------

// A source's own thread: calls its function until that has nothing more, the run is over, or enough
// is sent.
template <class Platform>
void* Path<Platform>::typed_source_body(void* argument) {
  // after which a source that had nothing is asked again; twice as long each time, up to
  // LONGEST_SLEEP_NS (ASLEEP)
  constexpr int64_t IDLE_NS = 50'000;
  auto* worker = static_cast<Worker*>(argument);
  Run* run = worker->run;
  Operator* op = worker->op;
  TypedState* state = op->typed;
  int64_t idle_ns = IDLE_NS;
  state->worker = worker;
  while (!run->finishing.load(std::memory_order_relaxed) &&
         !worker->stop.load(std::memory_order_acquire) &&
         state->source->sent < state->source->limit) {
    turn_to(worker, Activity::MAKE, op);
    const int32_t answer = state->step(&state->context, state->state);
    if (answer == MILLRACE_MORE) {
      idle_ns = IDLE_NS;
      if (batch_is_due(worker) && deliver_typed(state)) hand_over(worker);
      continue;
    }
    if (answer < 0) {
      fail_typed(state, answer, op->processed.read());
      break;
    }
    deliver_typed(state);
    hand_over(worker);
    if (answer != MILLRACE_IDLE) break;
    const int64_t now = Platform::now_ns(worker);
    sleep_until(worker, now + idle_ns, now);
    idle_ns = std::min(2 * idle_ns, Platform::LONGEST_SLEEP_NS);
  }
  deliver_typed(state);
  close_operator(worker, op);
  hand_over(worker);
  turn_to(worker, Activity::NONE);
  if (!worker->resumed) worker->thread.finish();
  return nullptr;
}

}  // namespace millrace
