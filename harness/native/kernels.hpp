// kernels.hpp - the work of each kind of operator on a batch of tuples.
//
// A kernel works on the tuples where they lie and returns the output port to which all of them go
// on; one that sends tuples different ways, keeps or drops them delivers them itself and returns
// HANDLED. Its batch is never empty and holds data tuples only. It runs alone (ALONE), so its state
// needs no atomics. A mark kernel does the same for a window punctuation, which then goes out of
// every output port.
#pragma once

#include "path.hpp"

namespace millrace {

// Fills in the source's next tuple; `born_ns` is the caller's.
template <class Platform>
void Path<Platform>::make_tuple(SourceState* source, Tuple* tuple, uint32_t payload) {
  tuple->sequence = source->sent;
  tuple->value = value_for(source->sent);
  tuple->path = 0;
  tuple->kind = DATA;
  tuple->order = 0;
  fill_payload(tuple, payload);
  source->fingerprints += fingerprint(source->sent);
  ++source->sent;
}

// -- work -----------------------------------------------------------------------------------------

template <class Platform>
int32_t Path<Platform>::work(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  multiply_batch(first, worker->run->stride, count, op->factor, op->cost);
  return 0;
}

template <class Platform>
int32_t Path<Platform>::work_round_robin(Operator* op, Worker* worker, Tuple* first,
                                         uint32_t count) {
  work(op, worker, first, count);
  return round_robin(op, worker, first, count);
}

template <class Platform>
int32_t Path<Platform>::work_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  multiply_in_bursts(op, worker, first, count);
  return op->outputs == 1 ? 0 : round_robin(op, worker, first, count);
}

// Multiplies at a cost that depends on a tuple's sequence number: `bursty cost` of the
// ElasticLoadBalance tests.
template <class Platform>
void Path<Platform>::multiply_in_bursts(Operator* op, Worker* worker, Tuple* first,
                                        uint32_t count) {
  const auto* bursts = static_cast<BurstState*>(op->own);
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, worker->run->stride, i);
    const uint64_t place = tuple->sequence % bursts->ends[bursts->count - 1];
    uint32_t stretch = 0;
    while (place >= bursts->ends[stretch]) ++stretch;
    multiply_batch(tuple, worker->run->stride, 1, op->factor, bursts->costs[stretch]);
  }
}

// A tuple that goes no further has cost as much as the others (C-Stream s5.1).
template <class Platform>
int32_t Path<Platform>::selective_work(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  work(op, worker, first, count);
  return filter(op, worker, first, count);
}

template <class Platform>
int32_t Path<Platform>::selective_work_in_bursts(Operator* op, Worker* worker, Tuple* first,
                                                 uint32_t count) {
  multiply_in_bursts(op, worker, first, count);
  return filter(op, worker, first, count);
}

// Passes on a share of the tuples, the same ones in every run. Those that pass stay in runs:
// neighbours go on together.
template <class Platform>
int32_t Path<Platform>::filter(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  const auto* chosen = op->chosen;
  const size_t stride = worker->run->stride;
  uint32_t start = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t sequence = slot(first, stride, i)->sequence;
    if (chosen == nullptr || passes(fingerprint(sequence ^ chosen->seed), chosen->threshold))
      continue;
    op->dropped += fingerprint(sequence) * op->copies;
    if (i > start) {
      Platform::step(worker, Step::CUT, 1);
      pass_on(op, worker, slot(first, stride, start), i - start);
    }
    start = i + 1;
  }
  if (count > start) pass_on(op, worker, slot(first, stride, start), count - start);
  return HANDLED;
}

template <class Platform>
void Path<Platform>::pass_on(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  op->emitted.add(count);
  Platform::passes_on(worker, op, first, count);
  if (op->outputs == 1) {
    deliver(worker, op->routes, first, count);
  } else {
    round_robin(op, worker, first, count);
  }
  turn_to(worker, Activity::WORK, op);
}

// -- one of several ways --------------------------------------------------------------------------

// Sends each tuple to the next output port; those of a batch that go the same way are sent there
// together.
template <class Platform>
int32_t Path<Platform>::round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  const uint32_t turn = op->turn, outputs = op->outputs, ways = std::min(count, outputs);
  const size_t stride = worker->run->stride;
  op->turn = (turn + count) % outputs;
  const auto each_way = [&](auto send_some) {
    for (uint32_t i = 0; i < ways; ++i) {
      const uint32_t way = turn + i < outputs ? turn + i : turn + i - outputs;
      send_some(&op->routes[way], slot(first, stride, i), (count - i + outputs - 1) / outputs);
    }
  };
  if constexpr (Platform::BEGINS_SEVERAL) {
    if (worker->run->coroutines != nullptr) {
      Target* before = worker->begun;
      each_way([&](Route* route, Tuple* share, uint32_t tuples) {
        begin(worker, route, share, stride * outputs, tuples);
      });
      end(worker, before);
      return HANDLED;
    }
  }
  each_way([&](Route* route, Tuple* share, uint32_t tuples) {
    deliver_every(worker, route, share, tuples, outputs);
  });
  return HANDLED;
}

// Sends tuples round-robin, after numbering them for the merge downstream (C-Stream s4.2).
template <class Platform>
int32_t Path<Platform>::split(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  if (is_ahead(op, static_cast<SplitState*>(op->own), count)) wait_for_merge(op, worker, count);
  for (uint32_t i = 0; i < count; ++i) slot(first, worker->run->stride, i)->order = op->order++;
  return round_robin(op, worker, first, count);
}

// Sends all tuples of a key the same way, so that a replica sees all tuples of its keys (C-Stream
// s4.2).
template <class Platform>
int32_t Path<Platform>::split_by_key(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  const auto* state = static_cast<SplitState*>(op->own);
  if (is_ahead(op, state, count)) wait_for_merge(op, worker, count);
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, worker->run->stride, i);
    tuple->order = op->order++;
    Route* route = &op->routes[way_of(key_of(tuple->sequence, state->keys), op->outputs)];
    route->sent.add(1);
    Platform::step(worker, Step::CHOOSE_KEY, 1);
    deliver(worker, route, tuple, 1);
  }
  return HANDLED;
}

// Returns true if the merge behind a split has no slots yet for `count` tuples more.
template <class Platform>
bool Path<Platform>::is_ahead(const Operator* op, const SplitState* state, uint32_t count) {
  return state->merge != nullptr &&
         op->order + count - state->merge->next.load(std::memory_order_relaxed) > state->ahead;
}

// Waits for a slow branch, or a rare key, that holds up the merge: others run ahead only as far as
// it has slots (BOUND).
//
// Meanwhile this thread executes scheduled ports between the two, as one does before a full queue;
// they are downstream of here.
template <class Platform>
void Path<Platform>::wait_for_merge(Operator* op, Worker* worker, uint32_t count) {
  const auto* state = static_cast<SplitState*>(op->own);
  const uint32_t at = now_doing(worker);
  uint32_t round = 0;
  while (is_ahead(op, state, count) && !worker->stop.load(std::memory_order_acquire)) {
    if (worker->resumed) {
      // until the merge gets on, or there is room for a tuple still to be sent
      lack_begun(worker);
      worker->run->coroutines->wait_for_merge(worker, state->merge,
                                              op->order + count - state->ahead);
      continue;
    }
    bool helped = false;
    announce(worker);
    Platform::looks_at_merge(worker, op);
    for (uint32_t i = 0; i < state->port_count; ++i) {
      Port* port = state->ports[i];
      if (port->discipline->pooled && port->ring.size_guess() > 0 && port->consuming.try_lock()) {
        drain(worker, port, port->most.load(std::memory_order_relaxed), false);
        Platform::pass(worker);
        release(worker, port);
        helped = true;
      }
    }
    if (helped) continue;
    turn_to(worker, Activity::ROOM, op);
    wait_a_little(worker, &round);
  }
  turn_back(worker, at);
}

// Sends a window punctuation every way, with its place among the tuples and a number by which the
// merge recognises its copies.
template <class Platform>
bool Path<Platform>::mark_split(Operator* op, Worker*, Tuple* mark) {
  auto* state = static_cast<SplitState*>(op->own);
  ++state->marks;
  mark->order = op->order;
  mark->value = static_cast<double>(state->marks);
  return true;
}

// A buffer is no more than its queue and its thread.
template <class Platform>
int32_t Path<Platform>::pass_through(Operator*, Worker*, Tuple*, uint32_t) {
  return 0;
}

// -- merge ----------------------------------------------------------------------------------------

// Passes tuples on in the order of their numbers; those that come early wait in slots of their own.
//
// BOUND: a tuple is at most as early as there are slots: the split waits before it gets further
// ahead (wait_for_merge), while the run goes on.
template <class Platform>
int32_t Path<Platform>::merge(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  auto* state = static_cast<MergeState*>(op->own);
  const size_t stride = worker->run->stride;
  uint32_t start = 0, next = state->next.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, stride, i);
    if (tuple->order == next) {
      ++next;
      state->next.store(next, std::memory_order_relaxed);
      if (state->waiting.size_guess() == 0 &&
          (state->held == 0 || !state->present[next & state->mask]))
        continue;
      pass_on(op, worker, slot(first, stride, start), i + 1 - start);
      start = i + 1;
      pass_on_waiting(op, worker, state);
      next = state->next.load(std::memory_order_relaxed);
      continue;
    }
    if (i > start) pass_on(op, worker, slot(first, stride, start), i - start);
    start = i + 1;
    if (tuple->order - next > state->mask) {
      // in a run cut short the split does not wait: there is no slot for this one
      if (worker->run->over.load(std::memory_order_acquire)) {
        ++state->given_up;
        worker->given_up_fingerprints += fingerprint(tuple->sequence) * op->copies;
        worker->run->gave_up.store(true, std::memory_order_relaxed);
        continue;
      }
      overrun(worker, state);
      return HANDLED;
    }
    const uint32_t place = tuple->order & static_cast<uint32_t>(state->mask);
    Platform::holds(worker, op, 1);
    std::memcpy(state->slots + place * stride, static_cast<const void*>(tuple), stride);
    state->present[place] = 1;
    ++state->held;
  }
  merge_advanced(worker->run, state);
  Platform::has_merged(worker, op);
  if (count > start) pass_on(op, worker, slot(first, stride, start), count - start);
  return HANDLED;
}

// More came early than the queues between the split and this can hold: the run has failed.
template <class Platform>
void Path<Platform>::overrun(Worker* worker, MergeState* state) {
  state->overrun = true;
  worker->run->failed.store(true, std::memory_order_relaxed);
  end_run(worker->run);
}

// Passes on everything in the slots that is next, and the window punctuations between.
template <class Platform>
void Path<Platform>::pass_on_waiting(Operator* op, Worker* worker, MergeState* state) {
  const size_t stride = worker->run->stride;
  for (;;) {
    const uint32_t next = state->next.load(std::memory_order_relaxed);
    Tuple* waiting = nullptr;
    while (state->waiting.front(1, &waiting) > 0 && waiting->order == next) {
      *state->mark = *waiting;
      state->waiting.release(1);
      pass_mark(worker, op, state->mark);
    }
    const uint32_t most =
        state->waiting.size_guess() == 0 ? MAX_BATCH : std::min(MAX_BATCH, waiting->order - next);
    const uint32_t place = next & static_cast<uint32_t>(state->mask);
    // tuples that lie side by side and are next, up to the end of the slots or a punctuation
    uint32_t ready = 0;
    for (; ready < most && place + ready <= state->mask && state->present[place + ready]; ++ready)
      state->present[place + ready] = 0;
    if (ready == 0) return;
    state->next.store(next + ready, std::memory_order_relaxed);
    state->held -= ready;
    pass_on(op, worker, reinterpret_cast<Tuple*>(state->slots + place * stride), ready);
  }
}

// A window punctuation comes once from every branch. The first one waits until the tuples before it
// have passed.
//
// That puts it at its place: whichever branch brings the tuple behind it has brought the
// punctuation before. First ones come in the order in which the split sent them, since every branch
// gets all.
//
// BOUND: the tuple that is next is on a branch behind which the same punctuations queue, so no more
// wait here than fit into its queues.
template <class Platform>
bool Path<Platform>::mark_merge(Operator* op, Worker* worker, Tuple* mark) {
  auto* state = static_cast<MergeState*>(op->own);
  if (mark->value <= state->last_mark) return false;
  state->last_mark = mark->value;
  if (state->waiting.push(mark, 1, 0, 0) > 0) {
    pass_on_waiting(op, worker, state);
    merge_advanced(worker->run, state);
  } else if (worker->run->over.load(std::memory_order_acquire)) {
    // cut short, a branch may have given up the one that is next
    worker->run->gave_up.store(true, std::memory_order_relaxed);
  } else {
    overrun(worker, state);
  }
  return false;
}

// Room for what it still has to send is among what the co-routine waits for next.
template <class Platform>
void Path<Platform>::lack_begun(Worker* worker) {
  if constexpr (Platform::BEGINS_SEVERAL) {
    hand_on(worker);
    lack_rooms(worker);
  }
}

// Wakes the co-routine whose split waits for the merge.
template <class Platform>
void Path<Platform>::merge_advanced(Run* run, MergeState* state) {
  if (run->coroutines != nullptr && state->splits_on != MergeState::NO_SPLIT)
    run->coroutines->gave(state->splits_on);
}

// -- ends -----------------------------------------------------------------------------------------

// Checks and stamps; the caller counts: the oracle's end.
template <class Platform>
int32_t Path<Platform>::sink(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  auto* state = static_cast<SinkState*>(op->own);
  uint64_t fingerprints = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Tuple* tuple = slot(first, worker->run->stride, i);
    fingerprints += check_end(*state, *state, tuple, worker->run->payload);
    if (tuple->born_ns != 0) state->latency.record(Platform::now_ns(worker) - tuple->born_ns);
  }
  state->fingerprints += fingerprints;
  return HANDLED;
}

// A control port: checked as at a sink, and the last value is there for the operator to read.
template <class Platform>
int32_t Path<Platform>::absorb(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  auto* state = static_cast<SinkState*>(op->own);
  sink(op, worker, first, count);
  state->latest.store(slot(first, worker->run->stride, count - 1)->value,
                      std::memory_order_relaxed);
  return HANDLED;
}

template <class Platform>
bool Path<Platform>::mark_sink(Operator* op, Worker*, Tuple* mark) {
  auto* state = static_cast<SinkState*>(op->own);
  state->windows.add(1);
  check_mark(*state, *state, mark);
  return false;
}

}  // namespace millrace
