// users.hpp - operators whose logic is a user's: a compiled function or a Python callable.
//
// Neither may return soon, or ever. So before a batch this thread hands on the tuples that others
// could wait for, and Worker::at says where it is (pool.pxi, and the account of a run that had to
// be cut short). A callable's tuple goes on before the next call; those of a compiled function,
// which may be cheap, are kept until one is dropped or the batch ends: it must not wait for them
// (docs/how-to/operators.md). The oracle finds changed or lost tuples, unless the operator was
// declared to change or drop some. A run that is cut short waits for one call of theirs, not for
// the rest of a batch.
#pragma once

#include "path.hpp"

namespace millrace {

// Returns the value of the last tuple at an operator's control port; 0: none has come, or it has no
// such port.
template <class Platform>
double Path<Platform>::control_value(Operator* op) {
  if (op->control == nullptr) return 0.0;
  return static_cast<SinkState*>(op->control->own)->latest.load(std::memory_order_relaxed);
}

// Releases the lock around a user's function that locks its own state: tuples of other input ports
// may be in it at the same time.
//
// Counting and delivering stay under the lock. Tuples of one port cannot overtake each other, for
// one thread at a time executes a port.
template <class Platform>
void Path<Platform>::let_others_in(Operator* op) {
  if (op->reentrant) op->lock->unlock();
}

template <class Platform>
void Path<Platform>::keep_others_out(Operator* op, Worker* worker) {
  if (op->reentrant) acquire(worker, op->lock, op);
}

// Leaves the rest of a batch of a run that was cut short: it counts as not yet given to the
// operator (ONCE).
template <class Platform>
void Path<Platform>::leave(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  op->processed.add(0 - uint64_t{count});
  op->left += count;
  for (uint32_t i = 0; i < count; ++i)
    worker->given_up_fingerprints +=
        fingerprint(slot(first, worker->run->stride, i)->sequence) * op->copies;
  worker->run->gave_up.store(true, std::memory_order_relaxed);
}

// -- compiled -------------------------------------------------------------------------------------

template <class Platform>
struct Path<Platform>::NativeCalls {
  Operator* op;
  Worker* worker;
  Tuple* first;
  uint32_t place, count;
  int32_t verdict;
};

// Calls the function on tuples from `place` on, until it does not pass one on, none is left, or the
// run is over.
template <class Platform>
void Path<Platform>::call_native(void* argument) {
  auto& calls = *static_cast<NativeCalls*>(argument);
  Operator* op = calls.op;
  Worker* worker = calls.worker;
  const auto* state = static_cast<NativeState*>(op->own);
  const double control = control_value(op);
  calls.verdict = 1;
  while (calls.place < calls.count && !worker->stop.load(std::memory_order_acquire)) {
    Tuple* tuple = slot(calls.first, worker->run->stride, calls.place);
    let_others_in(op);
    calls.verdict = state->function(tuple->sequence, &tuple->value, payload_of(tuple),
                                    worker->run->payload, control, state->state);
    keep_others_out(op, worker);
    if (calls.verdict <= 0) return;
    ++calls.place;
  }
}

// Calls a C function on a batch. Tuples that it passes on stay in runs: neighbours go on together,
// when the last of them is done.
template <class Platform>
int32_t Path<Platform>::native(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  auto* state = static_cast<NativeState*>(op->own);
  const size_t stride = worker->run->stride;
  NativeCalls calls{op, worker, first, 0, count, 1};
  uint32_t start = 0;
  hand_over(worker);
  while (calls.place < count) {
    on_own_stack(worker, call_native, &calls);
    if (calls.place == count) break;
    Tuple* tuple = slot(first, stride, calls.place);
    if (calls.verdict > 0) {  // stopped
      leave(op, worker, tuple, count - calls.place);
      count = calls.place;
      break;
    }
    if (calls.place > start) {
      pass_on(op, worker, slot(first, stride, start), calls.place - start);
      hand_over(worker);
    }
    ++calls.place;
    start = calls.place;
    if (calls.verdict < 0) {
      // the first one; under the operator's lock, if others can be here
      if (state->error.load(std::memory_order_relaxed) == 0) {
        state->failed_at = tuple->sequence;
        state->error.store(calls.verdict, std::memory_order_release);
      }
      worker->run->failed.store(true, std::memory_order_release);
      end_run(worker->run);
      return HANDLED;
    }
    if (op->drops) op->dropped += fingerprint(tuple->sequence) * op->copies;
  }
  if (count > start) pass_on(op, worker, slot(first, stride, start), count - start);
  return HANDLED;
}

// -- Python ---------------------------------------------------------------------------------------

template <class Platform>
struct Path<Platform>::PythonCalled {
  Operator* op;
  Worker* worker;
  Tuple* tuple;
  double value;
  bool kept;
};

template <class Platform>
void Path<Platform>::call_python(void* argument) {
  auto& called = *static_cast<PythonCalled*>(argument);
  Operator* op = called.op;
  let_others_in(op);
  called.kept = static_cast<PythonState*>(op->own)->call(op, called.worker, called.tuple->sequence,
                                                         called.tuple->value, &called.value);
  keep_others_out(op, called.worker);
}

template <class Platform>
int32_t Path<Platform>::python(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  hand_over(worker);
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, worker->run->stride, i);
    if (worker->stop.load(std::memory_order_acquire)) {
      leave(op, worker, tuple, count - i);
      break;
    }
    turn_to(worker, Activity::WORK, op);
    PythonCalled called{op, worker, tuple, 0.0, false};
    on_own_stack(worker, call_python, &called);
    if (called.kept) {
      tuple->value = called.value;
      pass_on(op, worker, tuple, 1);
      hand_over(worker);
    } else if (op->drops) {
      op->dropped += fingerprint(tuple->sequence) * op->copies;
    }
  }
  return HANDLED;
}

}  // namespace millrace
