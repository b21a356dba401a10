// loop_path.hpp - operators with a loop of their own, which ask for the tuples that they need
// (C-Stream s2.3, Algorithms 1 to 3).
//
//   loop_body   a co-routine: the operator's function, then the end of its streams, then what it
//               has left at its input ports
//   wait        waits until enough tuples are there; it keeps the thread if they are there already
//   pop, push   of one tuple each. Pushed ones are collected, and those of all output ports are
//               sent together: when those of one port are a batch, before the co-routine stops for
//               anything, and when they are due (coarse_clock.hpp)
//
// A compiled function runs on the co-routine's stack, so it may wait wherever it is.
// python_loops.pyx has those in Python.
//
// The oracle. It cannot know which tuples a loop makes of those it takes. So a tuple ends where it
// is popped, checked as at a sink, and a pushed tuple begins there: each output port numbers its
// tuples and fills their payloads as a source does, and the tuples that arrive behind it are
// compared with that (ONCE, ORDER). Typed tuples are checked and sealed as everywhere
// (typed_path.hpp). Tuples that a loop leaves behind when it returns end there too, once its
// streams have.
//
// A loop that returns has completed (C-Stream s3.2.3), whatever waits for it: its streams end, and
// tuples that still come end here.
//
// A loop without input ports is a source. It sees that it is stopping when sources are to end, and
// when it has pushed as many tuples as it may; what it pushes then is not sent.
#pragma once

#include "path.hpp"

namespace millrace {

// -- a loop's calls -------------------------------------------------------------------------------

template <class Platform>
bool Path<Platform>::stopped(LoopState* state) {
  return state->worker->stop.load(std::memory_order_acquire);
}

// Returns true if it is a source and sends nothing more.
template <class Platform>
bool Path<Platform>::exhausted(LoopState* state) {
  return state->source && (state->pushed >= state->limit ||
                           state->worker->run->finishing.load(std::memory_order_relaxed));
}

// Returns true if `count` tuples wait. It reads the queue, whose line a sender writes to, only if
// it has not seen as many before.
template <class Platform>
bool Path<Platform>::has(LoopInput* from, uint32_t count) {
  if (from->by_tickets) return from->data >= count;
  return from->looked >= from->place() + from->marks + count || from->at_hand() >= count;
}

// Returns LOOP_DONE if the tuples that `counts` ask for are there, LOOP_OVER if they never will be,
// or LOOP_BLOCKED.
template <class Platform>
int32_t Path<Platform>::verdict_on(LoopState* state, bool any) {
  bool later = false;
  for (uint32_t i = 0; i < state->context.inputs; ++i) {
    const uint32_t count = state->counts[i];
    if (count == 0) continue;
    LoopInput* from = &state->inputs[i];
    if (has(from, count)) {
      if (any) return LOOP_DONE;
    } else if (!from->ended()) {
      later = true;
    } else if (!any) {
      return LOOP_OVER;
    }
  }
  if (later) return LOOP_BLOCKED;
  return any ? LOOP_OVER : LOOP_DONE;
}

// Waits on the co-routine's stack.
template <class Platform>
int32_t Path<Platform>::wait(LoopState* state, bool any) {
  Worker* worker = state->worker;
  int32_t verdict;
  for (;;) {
    if (stopped(state)) return LOOP_OVER;
    verdict = verdict_on(state, any);
    if (verdict != LOOP_BLOCKED) break;
    if (deliver_pushed(state)) continue;
    if (state->first != nullptr) {
      take_ticket(state, state->inputs);
      continue;
    }
    for (uint32_t i = 0; i < state->context.inputs; ++i) {
      LoopInput* from = &state->inputs[i];
      give_back(state, from);
      uint32_t count = state->counts[i];
      if (count > 0 && any && from->ended()) {
        count = 0;
      } else if (count > 0) {
        if (count + from->marks > from->port->ring.capacity()) compact(state, from);
        count += from->marks;
      }
      worker->run->coroutines->need(worker, i, count);
    }
    worker->run->coroutines->wait_for(worker, any);
  }
  waited(state);
  return verdict;
}

template <class Platform>
void Path<Platform>::waited(LoopState* state) {
  state->born_ns = 0;
}

// Gives back the slots of what was popped.
template <class Platform>
void Path<Platform>::give_back(LoopState* state, LoopInput* from) {
  if (from->popped == 0) return;
  release_slots(state->worker->run, from->port, from->popped);
  from->popped = 0;
}

// Makes room if the tuples that it waits for do not fit beside the punctuations. Their place among
// the tuples is then not checked.
template <class Platform>
void Path<Platform>::compact(LoopState* state, LoopInput* from) {
  Run* run = state->worker->run;
  const uint64_t capacity = from->port->ring.capacity();
  Tuple* front;
  // so that the ring has seen all that it has looked at, and lets go of it
  from->port->ring.front(capacity, &front);
  const uint32_t count = from->compact(static_cast<SinkState*>(state->op->own)->windows);
  const uint64_t head = from->port->ring.head().load(std::memory_order_relaxed);
  const auto first = static_cast<uint32_t>(std::min<uint64_t>(count, capacity - head % capacity));
  if (first > 0) release_slots(run, from->port, first);
  if (count > first) release_slots(run, from->port, count - first);
}

// Returns the next tuple, which stays in place until the next pop or wait; null if there is none.
// Punctuations before it end here.
template <class Platform>
auto Path<Platform>::pop(LoopState* state, LoopInput* from) -> Tuple* {
  if (from->by_tickets) return pop_from_ticket(state, from);
  Operator* op = state->op;
  Worker* worker = state->worker;
  Tuple* tuple;
  for (;;) {
    if (from->popped >= from->port->batch.load(std::memory_order_relaxed) || from->at_end())
      give_back(state, from);
    tuple = from->next();
    if (tuple == nullptr) return nullptr;
    if (tuple->kind == DATA) break;
    if (tuple->kind == WINDOW) mark_sink(op, worker, tuple);
  }
  if (from->port->stamps != nullptr)
    worker->born_ns = from->port->stamps->at(from->place() - 1).born_ns;
  if (from->taken_out != nullptr) {  // the queue is shorter than a batch
    std::memcpy(static_cast<void*>(from->taken_out), tuple, from->port->ring.stride());
    tuple = from->taken_out;
    give_back(state, from);
  }
  op->processed.add(1);
  ++worker->taken;
  if (tuple->born_ns != 0 && (state->born_ns == 0 || tuple->born_ns < state->born_ns))
    state->born_ns = tuple->born_ns;
  from->sequence = tuple->sequence;
  if (op->typed != nullptr) {
    take_typed(worker, op->typed, tuple);
  } else {
    sink(op, worker, tuple, 1);
  }
  return tuple;
}

// Gets the next ticket of a replica, on the co-routine's stack.
template <class Platform>
void Path<Platform>::take_ticket(LoopState* state, LoopInput* from) {
  Worker* worker = state->worker;
  from->in_ticket = from->taken = from->data = 0;
  from->ticket = worker->run->coroutines->take(worker, &from->in_ticket);
  from->over = from->ticket == nullptr;
  for (uint32_t i = 0; i < from->in_ticket; ++i)
    from->data += slot(from->ticket, from->port->ring.stride(), i)->kind == DATA;
}

template <class Platform>
auto Path<Platform>::pop_from_ticket(LoopState* state, LoopInput* from) -> Tuple* {
  Operator* op = state->op;
  if (from->data == 0) return nullptr;
  Tuple* tuple;
  do {
    tuple = slot(from->ticket, from->port->ring.stride(), from->taken++);
  } while (tuple->kind != DATA);
  --from->data;
  op->processed.add(1);
  ++state->worker->taken;
  if (tuple->born_ns != 0 && (state->born_ns == 0 || tuple->born_ns < state->born_ns))
    state->born_ns = tuple->born_ns;
  from->sequence = tuple->sequence;
  if (op->typed != nullptr) take_typed(state->worker, op->typed, tuple);
  return tuple;
}

// Tuples pushed to an output port and not yet sent.
template <class Platform>
uint32_t Path<Platform>::filled(LoopState* state, uint32_t output) {
  return state->op->typed == nullptr ? state->outputs[output].filled
                                     : state->op->typed->outgoing[output].filled;
}

// Completes the typed tuple in the room of an output port. Returns true if the port's slots are
// full.
template <class Platform>
bool Path<Platform>::enter_room(LoopState* state, uint32_t output) {
  begin_push(state, filled(state, output) == 0);
  return enter(state->op->typed, output, state->born_ns, state->outputs[output].most);
}

// Sends what was pushed, on the co-routine's stack. Returns true if there was anything.
template <class Platform>
bool Path<Platform>::deliver_pushed(LoopState* state) {
  Worker* worker = state->worker;
  bool some = false;
  worker->collects = false;
  if (state->first != nullptr && state->inputs->ticket == nullptr && filled(state, 0) > 0) {
    set_problem(
        state,
        "pushed before it had a tuple, or when a wait had said that it is over: an operator "
        "that may have replicas sends only for tuples that it has");
    fail(state);
  }
  if (state->op->typed != nullptr) {
    some = deliver_typed(state->op->typed);
  } else {
    Target* before = worker->begun;
    for (uint32_t output = 0; output < state->context.outputs; ++output) {
      if (state->outputs[output].filled == 0) continue;
      begin_pushed(state, output);
      some = true;
    }
    end(worker, before);
  }
  if (some) {
    hand_over(worker);  // its function may take long now
    turn_to(worker, Activity::WORK, state->op);
  }
  return some;
}

template <class Platform>
void Path<Platform>::begin_pushed(LoopState* state, uint32_t output) {
  auto& out = state->outputs[output];
  Operator* op = state->op;
  Worker* worker = state->worker;
  const uint32_t count = out.filled;
  out.filled = 0;
  if (keeps_back(worker, state->first != nullptr, out.slots, count)) return;
  for (uint32_t i = 0; i < count; ++i) out.fingerprints += fingerprint(out.sent + i);
  out.sent += count;
  op->routes[output].sent.add(count);
  op->emitted.add(count);
  if (state->source) push_from_source(worker, op, out.slots, count);
  begin(worker, &op->routes[output], out.slots, worker->run->stride, count);
}

// Counts tuples that a source has made.
template <class Platform>
void Path<Platform>::push_from_source(Worker* worker, Operator* op, Tuple* first, uint32_t count) {
  op->processed.add(count);
  worker->taken += count;
  worker->born_ns = first->born_ns;
}

// Sends the pushed tuples, and gives back all slots but that of the last popped tuple, before the
// co-routine stops for anything.
template <class Platform>
void Path<Platform>::let_go(LoopState* state) {
  for (uint32_t i = 0; i < state->context.inputs; ++i) {
    LoopInput* from = &state->inputs[i];
    if (from->popped <= 1) continue;
    release_slots(state->worker->run, from->port, from->popped - 1);
    from->popped = 1;
  }
  if (state->running) deliver_pushed(state);
}

template <class Platform>
void Path<Platform>::fail(LoopState* state) {
  state->worker->run->failed.store(true, std::memory_order_release);
  end_run(state->worker->run);
}

// Sleeps on the co-routine's stack, until the time is over or the loop is to end.
template <class Platform>
void Path<Platform>::sleep(LoopState* state, int64_t ns) {
  Worker* worker = state->worker;
  int64_t now = Platform::now_ns(worker);
  const int64_t until = ns > std::numeric_limits<int64_t>::max() - now
                            ? std::numeric_limits<int64_t>::max()
                            : now + ns;
  deliver_pushed(state);
  for (; now < until && !stopped(state) && !exhausted(state); now = Platform::now_ns(worker))
    sleep_until(worker, until, now);
  turn_to(worker, Activity::WORK, state->op);
}

// -- the co-routine -------------------------------------------------------------------------------

template <class Platform>
void* Path<Platform>::loop_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  LoopState* state = worker->op->loop;
  run_loop(worker, state);
  for (uint32_t i = 0; i < state->context.inputs; ++i) give_back(state, &state->inputs[i]);
  turn_to(worker, Activity::NONE);
  return nullptr;
}

template <class Platform>
void Path<Platform>::run_loop(Worker* worker, LoopState* state) {
  Run* run = worker->run;
  Operator* op = worker->op;
  call_function(worker, state);
  if (stopped(state)) {
    deliver_pushed(state);  // gives it up
    return;
  }
  // its streams end here; it has ended when those into it have
  run->open_operators.fetch_add(1, std::memory_order_acq_rel);
  deliver_pushed(state);
  close_operator(worker, op);
  turn_to(worker, Activity::WORK, op);
  absorb_rest(state);
  if (run->open_operators.fetch_sub(1, std::memory_order_acq_rel) == 1) end_run(run);
}

template <class Platform>
void Path<Platform>::call_function(Worker* worker, LoopState* state) {
  state->worker = worker;
  if (worker->op->typed != nullptr) worker->op->typed->worker = worker;
  turn_to(worker, Activity::WORK, worker->op);
  state->running = true;
  state->answer = state->run(&state->context, state->state);
  if (state->answer < 0) fail(state);
  state->running = false;
}

// A loop that may have replicas: its function is called whenever a replica begins, and ends when
// the replica leaves or its stream has ended. It cannot return before, since the others would go
// on.
template <class Platform>
void* Path<Platform>::replica_loop_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  Operator* op = worker->op;
  LoopState* state = op->loop;
  LoopInput* from = state->inputs;
  from->ticket = nullptr;
  from->in_ticket = from->taken = from->data = 0;
  from->over = false;
  call_function(worker, state);
  // once another has failed, its function is not called, also if the run has not ended yet
  if (!from->over && !stopped(state) && !worker->run->failed.load(std::memory_order_relaxed)) {
    set_problem(state,
                "returned early: an operator that may have replicas must go on until a wait says "
                "that it is over");
    fail(state);
  }
  deliver_pushed(state);
  if (from->data > 0) {  // cut short
    op->left += from->data;
    worker->run->gave_up.store(true, std::memory_order_relaxed);
  }
  if (!from->over) take_ticket(state, from);  // closes the last one: the run is over
  if (worker->run->coroutines->ends(worker)) close_operator(worker, op);
  turn_to(worker, Activity::NONE);
  return nullptr;
}

// Takes the tuples that still come after the function has returned.
template <class Platform>
void Path<Platform>::absorb_rest(LoopState* state) {
  Worker* worker = state->worker;
  while (!stopped(state)) {
    bool open = false;
    for (uint32_t i = 0; i < state->context.inputs; ++i) {
      LoopInput* from = &state->inputs[i];
      while (pop(state, from) != nullptr) {
      }
      give_back(state, from);
      worker->run->coroutines->need(worker, i, from->ended() ? 0 : 1);
      open = open || !from->ended();
    }
    if (!open) return;
    worker->run->coroutines->wait_for(worker, true);
  }
}

// The function of a loop in Python: resumes it again and again, and waits for what it asks for.
template <class Platform>
int32_t Path<Platform>::resume_in_slices(millrace_loop* context, void*) {
  auto* state = reinterpret_cast<LoopState*>(context);
  Worker* worker = state->worker;
  for (;;) {
    worker->run->coroutines->on_thread(worker, state->resume, state);
    if (state->request == LoopState::ENDED) return 0;
    for (uint32_t i = 0; i < context->inputs; ++i) give_back(state, &state->inputs[i]);
    deliver_pushed(state);
    if (state->request == LoopState::SLEEP) {
      sleep(state, state->sleep_ns);
    } else if (state->request != LoopState::GO_ON) {
      state->verdict = wait(state, state->request == LoopState::WAIT_ANY);
    }
    worker->run->coroutines->check_for_preemption(worker);
  }
}

// -- compiled -------------------------------------------------------------------------------------

template <class Platform>
int32_t Path<Platform>::refuse(LoopState* state, const char* text) {
  set_problem(state, text);
  fail(state);
  return LOOP_ERROR;
}

// Returns true if a call is refused: there is no such port, or the function has returned.
template <class Platform>
bool Path<Platform>::lacks(LoopState* state, uint32_t port, uint32_t count, const char* call,
                           const char* kind) {
  if (state->running && port < count) [[likely]]
    return false;
  refuse_port(state, port, count, call, kind);
  return true;
}

// Refuses a call for a port that is not there, or of a function that has returned.
template <class Platform>
void Path<Platform>::refuse_port(LoopState* state, uint32_t port, uint32_t count, const char* call,
                                 const char* kind) {
  char text[200];
  if (!state->running) {
    std::snprintf(text, sizeof text, "%s: its run has returned", call);
  } else {
    std::snprintf(text, sizeof text, "%s: %s port must be from 0 to %d, not %u", call, kind,
                  static_cast<int>(count) - 1, port);
  }
  refuse(state, text);
}

template <class Platform>
int32_t Path<Platform>::asked(millrace_loop* context, const uint32_t* counts, bool any,
                              const char* call) {
  auto* state = reinterpret_cast<LoopState*>(context);
  if (lacks(state, 0, 1, call, "")) return LOOP_ERROR;
  char text[200];
  bool some = false;
  for (uint32_t i = 0; i < context->inputs; ++i) {
    some = some || counts[i] > 0;
    const uint64_t capacity = state->inputs[i].port->ring.capacity();
    if (state->first != nullptr && counts[i] > 1) {
      std::snprintf(text, sizeof text,
                    "%s: count must be 1, since the operator may have replicas, not %u", call,
                    counts[i]);
      return refuse(state, text);
    }
    if (counts[i] > capacity) {
      std::snprintf(text, sizeof text,
                    "%s: count must be at most %llu, the capacity of the queue before input port "
                    "%u, not %u",
                    call, static_cast<unsigned long long>(capacity), i, counts[i]);
      return refuse(state, text);
    }
    state->counts[i] = counts[i];
  }
  if (!some) {
    std::snprintf(text, sizeof text, "%s: counts must be above 0 for one port at least", call);
    return refuse(state, text);
  }
  const int32_t verdict = wait(state, any);
  if (batch_is_due(state->worker)) deliver_pushed(state);
  state->worker->run->coroutines->check_for_preemption(state->worker);
  return verdict;
}

template <class Platform>
int32_t Path<Platform>::c_wait_all(millrace_loop* context, const uint32_t* counts) {
  return asked(context, counts, false, "wait_all");
}

template <class Platform>
int32_t Path<Platform>::c_wait_any(millrace_loop* context, const uint32_t* counts) {
  return asked(context, counts, true, "wait_any");
}

template <class Platform>
int64_t Path<Platform>::c_waiting(millrace_loop* context, uint32_t port) {
  auto* state = reinterpret_cast<LoopState*>(context);
  if (lacks(state, port, context->inputs, "waiting", "input")) return LOOP_ERROR;
  return static_cast<int64_t>(state->inputs[port].at_hand());
}

template <class Platform>
int32_t Path<Platform>::c_pop(millrace_loop* context, uint32_t port, millrace_tuple* popped) {
  auto* state = reinterpret_cast<LoopState*>(context);
  if (lacks(state, port, context->inputs, "pop", "input")) return LOOP_ERROR;
  if (stopped(state)) return LOOP_OVER;
  Tuple* tuple = pop(state, &state->inputs[port]);
  if (tuple == nullptr) return 0;
  popped->sequence = tuple->sequence;
  popped->value = state->op->typed == nullptr ? tuple->value : 0.0;
  popped->payload = payload_of(tuple);
  return 1;
}

template <class Platform>
int32_t Path<Platform>::c_push(millrace_loop* context, uint32_t port, double value) {
  auto* state = reinterpret_cast<LoopState*>(context);
  if (lacks(state, port, context->outputs, "push", "output")) return LOOP_ERROR;
  if (stopped(state)) {
    state->worker->run->gave_up.store(true, std::memory_order_relaxed);
    return LOOP_OVER;
  }
  if (state->op->typed != nullptr)
    return refuse(state,
                  "push: its streams have schemas: write the tuple into millrace_room, and call "
                  "millrace_send");
  if (exhausted(state)) return LOOP_OVER;
  const auto& out = state->outputs[port];
  enter(state, port, value);
  if (out.filled == out.most || batch_is_due(state->worker)) {
    deliver_pushed(state);
    state->worker->run->coroutines->check_for_preemption(state->worker);
  }
  return 1;
}

// Sends the typed tuple that the function has written.
template <class Platform>
void Path<Platform>::c_send(millrace_context* context, uint32_t output) {
  LoopState* state = reinterpret_cast<TypedState*>(context)->op->loop;
  if (lacks(state, output, state->context.outputs, "send", "output")) return;
  if (stopped(state)) {
    state->worker->run->gave_up.store(true, std::memory_order_relaxed);
  } else if (exhausted(state)) {
    return;
  } else if (enter_room(state, output) || batch_is_due(state->worker)) {
    deliver_pushed(state);
    state->worker->run->coroutines->check_for_preemption(state->worker);
  }
}

template <class Platform>
int32_t Path<Platform>::c_stopping(millrace_loop* context) {
  auto* state = reinterpret_cast<LoopState*>(context);
  return stopped(state) || exhausted(state);
}

template <class Platform>
int32_t Path<Platform>::c_sleep(millrace_loop* context, int64_t ns) {
  auto* state = reinterpret_cast<LoopState*>(context);
  if (lacks(state, 0, 1, "sleep", "")) return LOOP_ERROR;
  for (uint32_t i = 0; i < context->inputs; ++i) give_back(state, &state->inputs[i]);
  sleep(state, ns);
  return stopped(state) || exhausted(state) ? LOOP_OVER : LOOP_DONE;
}

template <class Platform>
double Path<Platform>::c_control(millrace_loop* context) {
  return control_value(reinterpret_cast<LoopState*>(context)->op);
}

// Gives a loop its calls.
template <class Platform>
void Path<Platform>::connect(LoopState* state) {
  state->context.wait_all = c_wait_all;
  state->context.wait_any = c_wait_any;
  state->context.waiting = c_waiting;
  state->context.stopping = c_stopping;
  state->context.pop = c_pop;
  state->context.push = c_push;
  state->context.control = c_control;
  state->context.sleep = c_sleep;
  if (state->op->typed == nullptr) return;
  state->op->typed->context.send = c_send;
  state->context.context = &state->op->typed->context;
}

}  // namespace millrace
