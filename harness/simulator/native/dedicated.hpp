// dedicated.hpp - threaded ports: harness/runtime/native/dedicated.hpp in virtual time. Who sleeps
// when and who wakes them is told there.
#pragma once

#include <array>

#include "dynamic.hpp"
#include "simulation.hpp"

namespace millrace::sim {

// Where threads sleep (parking.hpp). Who is about to takes a mutex, and who finds somebody there.
inline void Simulation::announce_sleep(Worker& w, WaitQueue& queue) {
  rmw(w, queue.line, false);
  atomic(w, queue.line, true, software.lock);
}

inline void Simulation::wake_one(Worker& w, WaitQueue& queue) {
  rmw(w, queue.line, false);
  if (!queue.sleepers.empty()) atomic(w, queue.line, true, software.lock);
  system.wake_one(w, queue);
}

inline void Simulation::port_body(Worker& w) {
  Port& port = *w.port;
  Ring& ring = port.ring;
  std::array<Tuple, MAX_BATCH> batch;
  Count batches = 0;
  while (port.open_streams > 0 && !over) {
    pass(w);
    if (ring.tail_seen - ring.head < port.batch) {
      look(w, ring.tail_line, publications(port.batch));
      ring.tail_seen = ring.tail;
    }
    const uint64_t place = ring.head % ring.capacity();
    const Count count = static_cast<Count>(
        std::min({uint64_t{port.batch}, ring.tail_seen - ring.head, ring.capacity() - place}));
    if (count == 0) {
      w.at = 0;
      hand_over(w);
      wake_producer(w, port);
      wait_for_tuples(w, port);
      continue;
    }
    ++w.drains;
    w.mixed += software.take_batch * publications(count);
    ring.copy(count, batch.data());
    came_from(w, ring, count);
    take(w, port, batch.data(), count);
    if (++batches % BATCHES_IN_SILENCE == 0) {
      hand_over(w);
    } else if (count < CHEAP_BATCH && pool) {
      announce(w);
    }
    ring.pop(count);
    ring.head_line.store(w.core);
    for (Worker* producer : port.patient_producers)
      system.hasten(*producer, machine.load[SAME_CHIP]);
    if (!port.room->sleepers.empty() && ring.size() * 2 <= ring.capacity()) wake_producer(w, port);
    made_room(w, port);
  }
  hand_over(w);
  w.at = 0;
  pass(w);
}

inline void Simulation::wait_for_tuples(Worker& w, Port& port) {
  Ring& ring = port.ring;
  pass(w);
  if (patience > 0 && ring.size() == 0 && !over) {
    port.patient = &w;
    system.spin(w, system.now + patience);
    port.patient = nullptr;
  }
  if (ring.size() > 0 || over) return;
  ++w.waits;
  announce_sleep(w, port.arrivals);
  pass(w);
  if (ring.size() == 0 && !over) {
    system.sleep_in(w, port.arrivals);
  }
}

inline void Simulation::wake_producer(Worker& w, Port& port) {
  if (port.balance != nullptr) {
    rmw(w, port.balance->freed_line, false);
    ++port.balance->freed;
  }
  wake_one(w, *port.room);
}

inline void Simulation::wait_for_room(Worker& w, Port& port, uint32_t& round) {
  pass(w);
  if (port.ring.size() <
      port.ring
          .capacity()) {  // not full: another producer is copying its tuples in, which is soon done
    wait_a_little(w, round, &port);
  } else if (w.coroutine != Worker::NO_COROUTINE) {
    wake_one(w, port.arrivals);
    wait_for_room_as_coroutine(w, port);
  } else {
    sleep_for_room(w, port);
  }
}

// The queue is full: the thread looks for a while, then sleeps until half of it is empty.
inline void Simulation::sleep_for_room(Worker& w, Port& port) {
  Ring& ring = port.ring;
  const uint64_t head = ring.head;
  const Slots slots = w.slots;
  const uint32_t at = w.at;
  hand_over(w);
  wake_one(w, port.arrivals);
  pass(w);
  if (patience > 0 && ring.head == head && !over) {
    port.patient_producers.push_back(&w);
    system.spin(w, system.now + patience);
    std::erase(port.patient_producers, &w);
  }
  if (ring.head != head || over) return;
  ++w.waits;
  w.at = 0;
  w.rest = BLOCKED;
  idle(w, true);
  announce_sleep(w, *port.room);
  pass(w);
  if (ring.head == head && !over) {
    system.sleep_in(w, *port.room);
  }
  idle(w, false);
  w.rest = AWAKE;
  w.at = at;
  w.slots = slots;
}

inline void Simulation::tuples_published(Worker& w, Target& target) {
  Port& port = *target.port;
  const uint64_t waiting = port.ring.size();
  if (port.patient != nullptr) system.hasten(*port.patient, machine.load[SAME_CHIP]);
  if (port.shared && waiting < port.ring.capacity() && !port.room->sleepers.empty())
    wake_one(w, *port.room);
  if (port.shared) another_sender(w, port);
  if (waiting >= port.wake_at || !target.lazy_wake) {
    wake_one(w, port.arrivals);
  } else if (!target.wake_owed) {
    target.wake_owed = true;
    w.owed.push_back(&target);
  }
}

// One call after the other: who is woken first may run before the last one is.
inline void Simulation::wake_owed(Worker& w) {
  for (Target* target : w.owed) {
    target->wake_owed = false;
    if (target->port->discipline->resumed) {
      announce_to_coroutine(*target->port);
    } else {
      wake_one(w, target->port->arrivals);
    }
    pass(w);
  }
  w.owed.clear();
}

}  // namespace millrace::sim
