// submit.hpp - the one path of a tuple to a port: harness/runtime/native/submit.hpp in virtual
// time. Batches, nesting, ORDER and ONCE are as there.
#pragma once

#include "simulation.hpp"
#include "tuple.hpp"

namespace millrace::sim {

inline Tuple* slot(Tuple* first, uint32_t spacing, uint32_t index) noexcept {
  return first + static_cast<size_t>(spacing) * index;
}
inline const Tuple* slot(const Tuple* first, uint32_t spacing, uint32_t index) noexcept {
  return first + static_cast<size_t>(spacing) * index;
}

// -- what slots cost ------------------------------------------------------------------------------

// What lies between two values, `part` of the way.
inline uint64_t between(uint64_t one, uint64_t other, uint64_t part) noexcept {
  return (one * (Machine::PART - part) + other * part) / Machine::PART;
}

// The thread begins to work on `count` slots that were filled some time ago. They are in the near
// caches of the core that filled them until it has used as much else as these hold. Of shared
// caches those count that have a busy core; what is about as large as they are is found there in
// part.
inline void Simulation::came_from(Worker& w, Count count, const Visit& since) {
  const uint32_t writer = since.core == Line::NOBODY ? w.core : since.core;
  const Distance distance = machine.distance(w.core, writer);
  const bool near = is_near(since);
  Slots slots{.near = near, .beyond = near ? 0 : part_beyond(since.filled)};
  Place place = is_nearest(since) ? OWN_L1 : near ? OWN_L2 : L3;
  const Place memory = distance == OTHER_SOCKET ? DRAM_REMOTE : DRAM_LOCAL;
  slots.kib = machine.fetch_kib[place];
  Time first_line = machine.latency[place];  // the others are fetched ahead
  if (writer != w.core) {
    if (near) slots.kib = std::max(slots.kib, machine.fetch_kib[Machine::modified(distance)]);
    if (near || distance == OTHER_SOCKET) first_line = machine.load[distance] * publications(count);
    slots.evicted = !near && slots.beyond < Machine::PART;
    if (slots.evicted) slots.kib = std::max(slots.kib, machine.evicted_fetch_kib[distance]);
  }
  slots.kib = between(slots.kib, machine.fetch_kib[memory], slots.beyond);
  w.waiting += between(first_line, machine.latency[memory], slots.beyond);
  w.slots = slots;
  touch_slots(w, count, since);
}

// A core touches slots; what another one has touched last it has not had lately.
inline void Simulation::touch_slots(const Worker& w, Count count, const Visit& since) noexcept {
  system.caches[w.core].touch(static_cast<uint64_t>(count) * stride,
                              since.core == w.core ? since.used : Footprint::NEVER_BEFORE);
}

// Slots that nobody has touched in this run are where each busy core's share of what the queues
// hold leaves them.
inline bool Simulation::is_near(const Visit& since) const noexcept {
  if (since.core == Line::NOBODY) return since.filled / system.busy_cores() <= machine.l2;
  return since.used <= system.caches[since.core].window();
}
inline bool Simulation::is_nearest(const Visit& since) const noexcept {
  return (since.core == Line::NOBODY ? since.filled / system.busy_cores() : since.used) <=
         machine.l1 / 2;
}

// The thread uses an operator's or a port's record of so many bytes. It is where what the core has
// used since has left it: who goes round 1,000 operators finds each of them cold. Its lines are
// fetched together. What another core has written of it is charged apart (Line).
inline void Simulation::touch(Worker& w, Touch& record, uint64_t bytes) {
  uint64_t& used = touches_[w.core];
  used += bytes;
  if (record.core == w.core) {
    const uint64_t since = used - record.at;
    w.waiting += since <= machine.l1 / 2 ? 0
                                         : machine.latency[since <= machine.l2 / 2 ? OWN_L2
                                                           : since <= machine.l3   ? L3
                                                                                   : DRAM_LOCAL];
  }
  record = {w.core, used};
}

// The same of a record that whoever uses it also writes to: as a whole it is where it was used
// last, perhaps in another core's caches.
inline void Simulation::touch_moved(Worker& w, Touch& record, uint64_t bytes) {
  if (record.core != w.core && record.core != Line::NOBODY) {
    const uint64_t since = touches_[record.core] - record.at;
    w.waiting += since <= machine.l2 / 2 ? machine.load[machine.distance(w.core, record.core)]
                                         : machine.latency[since <= machine.l3 ? L3 : DRAM_LOCAL];
  }
  touch(w, record, bytes);
}

// Which part of what was touched so many bytes ago comes from memory. In between others were filled
// and others read, at most all there are.
inline uint64_t Simulation::part_beyond(uint64_t age) const noexcept {
  return Machine::part_beyond(std::min(2 * age, ring_bytes), system.busy_l3());
}

// Copy `count` slots from where they are into a ring, some time after a core has worked on those.
// To fetch what is elsewhere and to overwrite what is elsewhere take the same few buffers of a
// core, for the most part one after the other. What another core has left to a shared cache is at
// least as far away as what this one has. Of the traffic of a copy from memory to memory a third is
// what is read, and the rest what is overwritten: read as well, and written back.
inline void Simulation::copy(Worker& w, Count count, const Visit& since) {
  const uint64_t bytes = static_cast<uint64_t>(count) * stride;
  const bool near = is_near(since);
  const Place place = is_nearest(since) ? OWN_L1 : near ? OWN_L2 : L3;
  const uint64_t beyond = near ? 0 : part_beyond(since.filled);
  const Distance distance =
      since.core == Line::NOBODY ? SAME_CORE : machine.distance(w.core, since.core);
  uint64_t fetch = w.slots.kib, store = machine.store_kib[place], call = machine.copy_call;
  int64_t overlap = machine.overlap_kib[L3];
  if (distance != SAME_CORE && near) {
    call = machine.returned_call[distance];
    store = machine.returned_kib[distance];
    fetch -= std::min(fetch, machine.fetch_kib[OWN_L2]);  // which is in what was measured
  } else if (distance != SAME_CORE && beyond < Machine::PART) {
    store = std::max(store, machine.evicted_store_kib[distance]);
    if (w.slots.evicted) overlap = machine.evicted_overlap_kib[distance];
  }
  store = between(store, machine.store_kib[DRAM_LOCAL], beyond);
  if (!near && !w.slots.near) {  // as far as both are in the same place
    const auto in_cache = static_cast<int64_t>(Machine::PART - std::max(w.slots.beyond, beyond)),
               in_memory = static_cast<int64_t>(std::min(w.slots.beyond, beyond));
    overlap = (overlap * in_cache + machine.overlap_kib[DRAM_LOCAL] * in_memory) /
              static_cast<int64_t>(Machine::PART);
    fetch -= std::min(overlap, static_cast<int64_t>(fetch));
  }
  Time time = call * count + (bytes * (fetch + store) >> 10);
  const uint64_t traffic = bytes * (w.slots.beyond + 2 * beyond) / (3 * Machine::PART);
  if (traffic > 0) time = std::max(time, system.memory(w, traffic, system.now + system.owed(w)));
  w.waiting += time;
  touch_slots(w, count, since);
}

// -- execute, deliver, send -----------------------------------------------------------------------

inline void Simulation::execute(Worker& w, Operator* op, Tuple* first, Count count) {
  for (;;) {
    const bool locked = op->lock != nullptr;
    if (locked) acquire(w, *op->lock);
    w.at = op->index + 1;
    op->processed += count;
    ++executed;
    touch(w, op->touch, OPERATOR_BYTES);
    if (op->kind == SINK || op->kind == CONTROL) {
      sink(w, *op, first, count);
    } else {
      w.mixed += op->kind == TYPED
                     ? op->profiled * count
                     : software.call_batch * publications(count) + software.call_tuple * count;
      if (op->kind == WORK || op->kind == BURSTS) compute(w, *op, first, count);
      if (profile_period_ > 0 || system.owed(w) > System::LONGEST_STEP)
        pass(w);  // the profiler asks who spends which time
      if (chooses(*op)) {
        kernel(w, *op, first, count);
      } else if (!locked && op->routes[0].targets.size() == 1 &&
                 op->routes[0].targets[0].port == nullptr) {
        const Target& target = op->routes[0].targets[0];  // a chain of calls is walked, not climbed
        w.input = target.input;
        if (target.path_step != 0) {
          for (Count i = 0; i < count; ++i) first[i].path += target.path_step;
        }
        op = target.op;
        continue;
      } else {
        deliver(w, op->routes[0], first, count);
      }
    }
    // held until its tuples are in a queue or through the operators called behind it (ORDER)
    if (locked) {
      pass(w);
      unlock(w, *op->lock);
    }
    return;
  }
}

// A replica may have to hold tuples back until its turn comes.
inline void Simulation::deliver(Worker& w, Route& route, Tuple* first, Count count) {
  if (w.replica && !is_first(w)) {
    hold_back(w, first, count);
  } else {
    deliver_now(w, route, first, count);
  }
}

inline void Simulation::deliver_now(Worker& w, Route& route, Tuple* first, Count count) {
  if (route.targets.size() == 1) {
    send(w, route.targets[0], first, 1, count, nullptr);
    return;
  }
  Count called = 0;
  for (Target& target : route.targets) {
    target.early = target.port != nullptr && target.port->mode == QUEUED;
    if (target.early) {
      send(w, target, first, 1, count, route.scratch.data());
    } else {
      ++called;
    }
  }
  if (called > 0) announce(w);
  for (Target& target : route.targets) {
    if (!target.early)
      send(w, target, first, 1, count, --called > 0 ? route.scratch.data() : nullptr);
  }
}

inline void Simulation::deliver_every(Worker& w, Route& route, Tuple* first, Count count,
                                      Count every) {
  w.mixed += software.way * publications(count) + software.way_tuple * count;
  if (every == 1 || route.targets.size() > 1) {
    for (Count i = 0; i < count; ++i) deliver(w, route, slot(first, every, i), 1);
  } else {
    send(w, route.targets[0], first, every, count, nullptr);
  }
}

inline void Simulation::send(Worker& w, Target& target, Tuple* first, Count spacing, Count count,
                             Tuple* scratch) {
  if (target.port == nullptr) {
    call(w, target, first, spacing, count, scratch);
  } else {
    push(w, target, first, spacing, count, scratch);
  }
}

inline void Simulation::call(Worker& w, Target& target, Tuple* first, Count spacing, Count count,
                             Tuple* scratch) {
  const Count at_once = spacing == 1 ? count : 1;
  for (Count begin = 0; begin < count; begin += at_once) {
    Tuple* batch = slot(first, spacing, begin);
    if (scratch != nullptr) {
      copy(w, at_once, {});
      std::copy(batch, batch + at_once, scratch);
      batch = scratch;
    }
    for (Count i = 0; i < at_once; ++i) batch[i].path += target.path_step;
    w.input = target.input;
    execute(w, target.op, batch, at_once);
  }
}

// -- queues ---------------------------------------------------------------------------------------

// Returns how many fitted.
inline Simulation::Count Simulation::push_ring(Worker& w, Port& port, const Tuple* first,
                                               Count spacing, Count count, uint32_t path_step) {
  Ring& ring = port.ring;
  touch(w, port.filled, PRODUCER_BYTES);
  if (ring.tail - ring.head_seen + count > ring.capacity()) {
    look(w, ring.head_line, publications(count));
    ring.head_seen = ring.head;
  }
  const Count fitting =
      static_cast<Count>(std::min<uint64_t>(count, ring.capacity() - (ring.tail - ring.head_seen)));
  if (fitting == 0) return 0;
  w.mixed += software.push_batch * publications(fitting) + software.push_tuple * fitting;
  const uint64_t begin = ring.tail;
  copy(w, fitting,
       begin < ring.capacity() ? untouched()
                               : ring.worked.since(begin - ring.capacity(), system.caches, filled));
  ring.push(first, spacing, fitting, path_step);
  filled += fitting * stride;
  ring.filled.note(begin, fitting, {w.core, system.caches[w.core].used(), filled});
  ring.tail_line.store(w.core);
  return fitting;
}

inline void Simulation::push(Worker& w, Target& target, Tuple* first, Count spacing, Count count,
                             Tuple* scratch) {
  Port& port = *target.port;
  uint32_t round = 0;
  bool waited = false;
  for (;;) {
    pass(w);
    if (port.mode != QUEUED && call_instead(w, target, first, spacing, count, scratch)) return;
    const Count pushed = put(w, target, first, spacing, count, waited);
    if (pushed == count) return;
    if (pushed > 0) {
      waited = false;
      round = 0;
      count -= pushed;
      first = slot(first, spacing, pushed);
    } else if (port.mode & NOW_CALLED) {
      continue;  // the queue was switched off while this thread waited for its turn
    }
    if (over) {
      give_up(w, port, first, spacing, count);
      return;
    }
    waited = true;
    (this->*port.discipline->wait_for_room)(w, port, round);
  }
}

// Copy tuples, or a punctuation, into the target's queue as far as there is room. Returns their
// number. `waited`: the queue was full before.
inline Simulation::Count Simulation::put(Worker& w, Target& target, Tuple* first, Count spacing,
                                         Count count, bool waited) {
  Port& port = *target.port;
  const bool flagged =
      port.shared ||
      (software.printed && port.discipline->pooled);  // a threaded port has no flags (P17 s2.2)
  if (flagged) {
    if (!try_flag(w, port.producing)) return 0;
    if (port.mode & NOW_CALLED) {
      drop_flag(w, port, port.producing);
      return 0;
    }
  }
  if (first->kind != DATA) ++port.marks;
  if (port.stamps != nullptr) stamp(w, port, count);
  const Count pushed = push_ring(w, port, first, spacing, count, target.path_step);
  if (pushed == 0 && first->kind != DATA) --port.marks;
  if (pushed > 0) {
    count_pushed(w, pushed);
    ++port.pushes;
    port.blocked += waited;
  }
  if (flagged) {
    if (port.shared) pass(w);  // others see the flag taken as long as the copy takes
    drop_flag(w, port, port.producing);
  }
  if (pushed > 0) (this->*port.discipline->published)(w, target);
  return pushed;
}

inline void Simulation::give_up(Worker& w, Port& port, const Tuple* first, Count spacing,
                                Count count) {
  for (Count i = 0; i < count; ++i) {
    const Tuple* tuple = slot(first, spacing, i);
    if (tuple->kind != DATA) continue;
    ++port.given_up;
    w.given_up_fingerprints += fingerprint(tuple->sequence) * port.op->copies;
  }
}

inline void Simulation::take(Worker& w, Port& port, Tuple* first, Count count) {
  w.input = port.input;
  if (port.marks == port.marks_taken) {
    execute(w, port.op, first, count);
    return;
  }
  Count start = 0;
  for (Count i = 0; i < count; ++i) {
    if (first[i].kind == DATA) continue;
    w.input = port.input;
    if (i > start) execute(w, port.op, first + start, i - start);
    start = i + 1;
    ++port.marks_taken;
    take_mark(w, port, first + i);
  }
  w.input = port.input;
  if (count > start) execute(w, port.op, first + start, count - start);
}

// -- locks ----------------------------------------------------------------------------------------

inline void Simulation::acquire(Worker& w, Mutex& mutex) {
  pass(w);
  atomic(w, mutex.queue.line, true, software.lock);
  if (!mutex.held) {
    mutex.held = true;
    return;
  }
  const uint32_t at = w.at;
  hand_over(w);
  w.at = 0;  // no operator costs what waiting takes
  w.rest = BLOCKED;
  idle(w, true);
  for (;;) {
    pass(w);
    if (!mutex.held) break;
    system.sleep_in(w, mutex.queue);
    rmw(w, mutex.queue.line, true);
    pass(w);
    if (!mutex.held) break;  // else somebody who was awake came before: the lock is not fair
  }
  mutex.held = true;
  idle(w, false);
  w.rest = AWAKE;
  w.at = at;
}

inline void Simulation::unlock(Worker& w, Mutex& mutex) {
  mutex.held = false;
  mutex.queue.line.store(w.core);
  system.wake_one(w, mutex.queue);
}

// Before this thread waits for another: what it has sent and made ready shall not have to wait for
// it.
inline void Simulation::hand_over(Worker& w) {
  if (!w.owed.empty()) wake_owed(w);
  if (pool) {
    announce(w);
    wake_idle(w);
  }
}

// -- punctuation ----------------------------------------------------------------------------------

inline void Simulation::take_mark(Worker& w, Port& port, Tuple* mark) {
  w.input = port.input;
  if (mark->kind == WINDOW) {
    receive_mark(w, *port.op, *mark);
  } else {
    --port.open_streams;
    end_stream(w, *port.op);
  }
}

inline void Simulation::pass_mark(Worker& w, Operator& op, Tuple mark) {
  if (w.replica && !is_first(w)) {
    hold_back(w, &mark, 1);
  } else {
    pass_mark_now(w, op, mark);
  }
}

inline void Simulation::pass_mark_now(Worker& w, Operator& op, Tuple mark) {
  w.mixed += software.mark;
  for (Route& route : op.routes) {
    for (Target& target : route.targets) {
      Tuple copy = mark;
      if (target.port != nullptr) {
        push(w, target, &copy, 1, 1, nullptr);
      } else {
        copy.path += target.path_step;
        w.input = target.input;
        receive_mark(w, *target.op, copy);
      }
    }
  }
}

inline void Simulation::receive_mark(Worker& w, Operator& op, Tuple mark) {
  if (op.lock != nullptr) acquire(w, *op.lock);
  bool goes_on = true;
  if (op.kind == SPLIT) {
    mark.order = op.order;
    mark.mark = ++op.marks;
  } else if (op.kind == MERGE) {
    goes_on = false;
    if (mark.mark > op.last_mark) {
      op.last_mark = mark.mark;
      op.waiting_marks.push_back(mark);
      pass_on_waiting(w, op);
    }
  } else if (op.kind == SINK || op.kind == CONTROL || op.kind == BARRIER) {
    goes_on = false;
    ++op.seen_windows;
    std::vector<uint64_t>& next_of_path =
        op.kind == BARRIER ? op.inputs[w.input].next_of_path : op.next_of_path;
    if (!next_of_path.empty()) {
      if (mark.sequence < next_of_path[mark.path]) {
        ++op.violations;
      } else {
        next_of_path[mark.path] = mark.sequence;
      }
    }
  }
  if (goes_on) pass_mark(w, op, mark);
  if (op.lock != nullptr) {
    pass(w);
    unlock(w, *op.lock);
  }
}

inline void Simulation::end_stream(Worker& w, Operator& op) {
  if (op.lock != nullptr) {
    acquire(w, *op.lock);
    unlock(w, *op.lock);
  }
  --op.open_streams;
  if (op.kind == BARRIER) input_ended(w, op);
  if (op.open_streams == 0) close_operator(w, &op);
}

inline void Simulation::send_final(Worker& w, Operator& op) {
  Tuple final{};
  final.kind = FINAL;
  for (Route& route : op.routes) {
    for (Target& target : route.targets) {
      if (target.port != nullptr) {
        push(w, target, &final, 1, 1, nullptr);
      } else {
        w.input = target.input;
        end_stream(w, *target.op);
      }
    }
  }
}

inline void Simulation::close_operator(Worker& w, Operator* op) {
  for (;;) {
    w.mixed += software.mark;
    Target* next = nullptr;
    if (op->routes.size() == 1 && op->routes[0].targets.size() == 1 &&
        op->routes[0].targets[0].port == nullptr && !op->over) {
      next = &op->routes[0].targets[0];
    } else if (!op->over) {
      send_final(w, *op);
    }
    if (--open_operators == 0) end_run();
    if (next == nullptr) return;
    op = next->op;
    --op->open_streams;
    w.input = next->input;
    if (op->kind == BARRIER) input_ended(w, *op);
    if (op->open_streams > 0) return;
  }
}

}  // namespace millrace::sim
