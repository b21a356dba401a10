// balance.hpp - `threaded_split` and `elastic_load_balance`: each tuple goes into the next buffer
// that has room.
//
//   buffer   before each output port: a threaded port like any other (dedicated.hpp), whose thread
//            passes its tuples on and so executes the operators behind it. This file has only the
//            side that fills the buffers.
//   active   the first output ports, which alone get tuples. The thread of another one empties its
//            buffer and sleeps, as any thread does whose queue is empty; punctuation is pushed to
//            every port and wakes it.
//   full     full buffers are skipped. If all active ones are full the thread waits until one is
//            half empty, or more become active. Meanwhile they count as full (engine.pyx). The
//            thread does not fill each slot as it gets free, because a switch of threads should be
//            worth many tuples.
//
// One thread at a time fills the buffers, so the room that it has seen in a buffer can only grow: a
// push of as many tuples as there is room for never waits, and tuples are dealt in rounds. ORDER
// holds for each port, since a round ends before the next one begins.
//
// No lost wake-up: BalanceState::freed changes after there is room, before its waiter is woken. The
// waiter reads it first, then looks at the buffers, then sleeps while it is the same. All buffers
// full means that each is going to be emptied, and the thread that has emptied one changes the word
// before it sleeps. Edge FREED: that change (release) -> the waiter's read (acquire).
#pragma once

#include "path.hpp"

namespace millrace {

template <class Platform>
int32_t Path<Platform>::balance(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
  auto* state = static_cast<BalanceState*>(op->own);
  const size_t stride = worker->run->stride;
  uint32_t place = 0;
  bool waited = false;
  while (place < count) {
    uint32_t most;
    Platform::pass(worker);
    const uint32_t ways = look_for_room(op, state, count - place, &most);
    if (ways == 0) {
      if (worker->stop.load(std::memory_order_acquire)) {
        // which gives them up
        fill(worker, &op->routes[0], slot(first, stride, place), stride, count - place);
        return HANDLED;
      }
      wait_for_buffers(op, worker, state);
      waited = true;
      continue;
    }
    if (waited) op->routes[state->ways[0]].targets->port->blocked.add(1);
    waited = false;
    const auto dealt =
        static_cast<uint32_t>(std::min<uint64_t>(count - place, uint64_t{ways} * most));
    for (uint32_t i = 0; i < ways; ++i)
      fill(worker, &op->routes[state->ways[i]], slot(first, stride, place + i), stride * ways,
           (dealt - i + ways - 1) / ways);
    op->turn = state->ways[(dealt - 1) % ways] + 1;
    place += dealt;
  }
  return HANDLED;
}

template <class Platform>
void Path<Platform>::fill(Worker* worker, Route* route, Tuple* first, size_t spacing,
                          uint32_t count) {
  route->sent.add(count);
  Platform::step(worker, Step::CHOOSE_WAY, count);
  push(worker, route->targets, first, spacing, count, nullptr);
}

// Puts into `state.ways` the active ports whose buffers have room, from the one whose turn it is,
// and returns their number: `wanted` at most. `most` becomes the tuples that each of them has room
// for.
template <class Platform>
uint32_t Path<Platform>::look_for_room(Operator* op, BalanceState* state, uint32_t wanted,
                                       uint32_t* most) {
  const uint32_t active = state->active.load(std::memory_order_relaxed);
  const uint32_t turn = op->turn < active ? op->turn : 0, share = (wanted + active - 1) / active;
  uint32_t ways = 0;
  *most = wanted;
  for (uint32_t i = 0; i < active && ways < wanted; ++i) {
    const uint32_t way = turn + i < active ? turn + i : turn + i - active;
    const size_t room = op->routes[way].targets->port->ring.room(share);
    if (room == 0) continue;
    *most = static_cast<uint32_t>(std::min<size_t>(*most, room));
    state->ways[ways++] = way;
  }
  return ways;
}

template <class Platform>
bool Path<Platform>::has_room(Operator* op, BalanceState* state) {
  const uint32_t active = state->active.load(std::memory_order_relaxed);
  for (uint32_t way = 0; way < active; ++way) {
    if (op->routes[way].targets->port->ring.room(1) > 0) return true;
  }
  return false;
}

// Returns when a buffer has room, perhaps, or the run is over.
template <class Platform>
void Path<Platform>::wait_for_buffers(Operator* op, Worker* worker, BalanceState* state) {
  const uint64_t freed = state->freed.load(std::memory_order_acquire);  // FREED
  hand_over(worker);
  if (worker->resumed) {
    // until an active buffer has room, or there is room for a tuple still to be sent
    state->waiting.store(true, std::memory_order_relaxed);
    lack_begun(worker);
    worker->run->coroutines->wait_for_buffers(worker, op);
    state->waiting.store(false, std::memory_order_relaxed);
    turn_to(worker, Activity::WORK, op);
    return;
  }
  turn_to(worker, Activity::ROOM, op);
  if (Platform::watch(worker, [&] { return has_room(op, state); })) {
    turn_to(worker, Activity::WORK, op);
    return;
  }
  worker->waits.add(1);
  Platform::goes_to_sleep(worker, state->room);
  worker->rest.store(BLOCKED, std::memory_order_relaxed);
  state->waiting.store(true, std::memory_order_relaxed);
  worker->idle.start();
  state->room.sleep_while(state->freed, freed, worker->stop);
  worker->idle.stop();
  state->waiting.store(false, std::memory_order_relaxed);
  worker->rest.store(AWAKE, std::memory_order_relaxed);
  turn_to(worker, Activity::WORK, op);
}

// Sets the number of active ports, from the next tuple on; a thread that waits for room sees the
// new ports. Any thread may call it.
template <class Platform>
void Path<Platform>::set_active(BalanceState* state, uint32_t active) {
  state->active.store(active, std::memory_order_release);
  state->freed.fetch_add(1, std::memory_order_acq_rel);  // FREED
  state->room.wake_all();
}

}  // namespace millrace
