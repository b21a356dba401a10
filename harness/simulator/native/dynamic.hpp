// dynamic.hpp - scheduler threads: harness/runtime/native/dynamic.hpp in virtual time, and, where
// Software::printed says so, P17 Figures 4 to 6.
//
// READY holds as there: a port with tuples is on the list, or in the hands of a thread that looks
// again when it lets go. As P17 prints it, every port that no thread holds is on the list, with
// tuples or without, and an idle thread comes back after a time.
#pragma once

#include <array>

#include "simulation.hpp"
#include "submit.hpp"

namespace millrace::sim {

inline constexpr uint32_t NO_PORT = UINT32_MAX;
inline constexpr uint32_t SPIN_STEP =
    8;  // rounds of spinning that are one event here, where nobody tells who waits

// -- flags and the list ---------------------------------------------------------------------------

inline bool Simulation::try_flag(Worker& w, Flag& flag) {
  if (!software.printed) {  // a look comes first, which takes the line from nobody
    look(w, flag.line);
    if (flag.held) return false;
  }
  atomic(w, flag.line, false, software.flag);
  if (flag.held) return false;
  flag.held = true;
  return true;
}

inline void Simulation::drop_flag(Worker& w, Port& port, Flag& flag) {
  flag.held = false;
  flag.line.store(w.core);
  tell_spinning(port);
}

// Who waits for the port sees that it has changed.
inline void Simulation::tell_spinning(Port& port) {
  for (Worker* waiting : port.spinning) system.hasten(*waiting, machine.load[SAME_CHIP]);
}

inline void Simulation::push_list(Worker& w, uint32_t port) {
  atomic(w, list_.link, true, software.list_push / 2);  // a compare-exchange on each
  atomic(w, list_.tail, true, software.list_push - software.list_push / 2);
  ports[port].node.store(w.core);
  list_.ports.push_back(port);
}

inline uint32_t Simulation::pop_list(Worker& w) {
  if (list_.ports.empty()) {
    look(w, list_.head);
    return NO_PORT;
  }
  look(w, list_.tail);
  atomic(w, list_.head, true, software.list_pop);
  const uint32_t port = list_.ports.front();
  list_.ports.pop_front();
  look(w, ports[port].node);
  return port;
}

inline void Simulation::wake_idle(Worker& w) {
  look(w, idle_.line);
  if (idle_.sleepers.empty() || waking_) return;
  look(w, list_.head);
  if (list_.ports.empty()) return;
  waking_ = true;
  system.wake_one(w, idle_);
}

inline void Simulation::tuples_ready(Worker& w, Target& target) {
  if (software.printed) return;
  Port& port = *target.port;
  look(w, port.ready_line);
  if (!port.ready) {
    put_on_list(w, port);
  } else if (w.unannounced != &port) {
    announce(w);
    w.unannounced = &port;
  }
}

inline void Simulation::announce(Worker& w) {
  if (w.unannounced == nullptr) return;
  Port& port = *w.unannounced;
  w.unannounced = nullptr;
  put_on_list(w, port);
}

inline void Simulation::put_on_list(Worker& w, Port& port) {
  rmw(w, port.ready_line, false);
  if (port.ready) return;
  port.ready = true;
  push_list(w, port.index);
  if (!w.pooled || w.slow) wake_idle(w);
}

// -- scheduler threads ----------------------------------------------------------------------------

inline void Simulation::scheduler_body(Worker& w) {
  for (;;) {
    Port* port = next_port(w);
    if (port == nullptr) break;
    ++w.drains;
    w.mixed += software.drain;
    touch(w, port->emptied, CONSUMER_BYTES);
    const uint64_t done = drain(w, *port, software.whole_queue ? UINT64_MAX : port->most, true);
    const bool lingering = !software.printed && lingers(port->wary, done > 0),
               cheap = port->batch >= CHEAP_BATCH;
    announce(w);
    pass(w);
    w.at = 0;
    drop_flag(w, *port, port->consuming);
    if (software.printed || lingering || port->ring.size() > 0) {
      push_list(w, port->index);
    } else {
      rmw(w, port->ready_line, false);
      port->ready = false;
      look_again(w, *port);
    }
    if (lingering && cheap && done < CHEAP_BATCH) w.waiting += REST_NS * NANOSECOND;
  }
}

inline uint64_t Simulation::drain(Worker& w, Port& port, uint64_t most, bool yielding) {
  Ring& ring = port.ring;
  std::array<Tuple, MAX_BATCH> batch;
  uint64_t done = 0;
  const bool slow = w.slow;  // a drain within a drain: what is done behind it is as slow as before
  while (done < most) {
    pass(w);
    if (ring.tail_seen - ring.head < port.batch) {
      look(w, ring.tail_line, publications(port.batch));
      ring.tail_seen = ring.tail;
    }
    const uint64_t place = ring.head % ring.capacity();
    const Count count = static_cast<Count>(
        std::min({uint64_t{port.batch}, ring.tail_seen - ring.head, ring.capacity() - place}));
    if (count == 0) break;
    if (done > 0 && pool && !software.printed) wake_idle(w);
    w.slow = port.batch <= SLOW_BATCH && !software.printed;
    w.mixed += software.take_batch * publications(count);
    ring.copy(count, batch.data());
    came_from(w, ring, count);
    take(w, port, batch.data(), count);
    if (count < CHEAP_BATCH) announce(w);
    ring.pop(count);
    ring.head_line.store(w.core);
    tell_spinning(port);
    done += count;
    if (over || (yielding && w.suspended)) break;
  }
  w.slow = slow;
  return done;
}

inline void Simulation::release(Worker& w, Port& port) {
  drop_flag(w, port, port.consuming);
  if (software.printed) return;
  rmw(w, port.ready_line, false);
  if (!port.ready) look_again(w, port);
}

inline void Simulation::look_again(Worker& w, Port& port) {
  if (port.ring.size() == 0 || port.consuming.held) return;
  rmw(w, port.ready_line, false);
  port.ready = true;
  push_list(w, port.index);
  wake_idle(w);
}

inline Port* Simulation::next_port(Worker& w) {
  if (software.printed) return walk(w);
  uint32_t misses = 0;
  while (!over) {
    ++w.searches;
    if (w.suspended) {
      idle(w, false);
      suspend(w);
      continue;
    }
    pass(w);
    const uint32_t index = pop_list(w);
    if (index != NO_PORT) {
      Port& port = ports[index];
      if (try_flag(w, port.consuming)) {
        idle(w, false);
        wake_idle(w);
        return &port;
      }
      rmw(w, port.ready_line, false);
      port.ready = false;
      look_again(w, port);
      continue;
    }
    idle(w, true);
    w.mixed += software.search;
    if (++misses <= LIST_YIELDS) {
      w.mixed += machine.yield;
      pass(w);
      system.yield(w);
      continue;
    }
    ++w.waits;
    rmw(w, idle_.line, false);
    pass(w);
    if (list_.ports.empty() && !over && !w.suspended) {
      w.rest = IDLE;
      system.sleep_in(w, idle_);
      w.rest = AWAKE;
      waking_ = false;
    }
    rmw(w, idle_.line, false);
  }
  idle(w, false);
  return nullptr;
}

// P17 Figure 5: findWorkBlocking and findWorkNonBlocking.
inline Port* Simulation::walk(Worker& w) {
  Time delay = software.back_off_first;
  while (!over) {
    ++w.searches;
    if (w.suspended) {
      idle(w, false);
      suspend(w);
    }
    pass(w);
    uint32_t first = NO_PORT;
    for (;;) {
      const uint32_t index = pop_list(w);
      if (index == NO_PORT || over) break;
      Port& port = ports[index];
      if (try_flag(w, port.consuming)) {
        look(w, port.ring.tail_line);
        if (port.ring.size() > 0) {
          idle(w, false);
          return &port;
        }
        drop_flag(w, port, port.consuming);
      }
      w.mixed += software.search;
      pass(w);
      push_list(w, index);
      pass(w);
      if (index == first) break;
      if (first == NO_PORT) first = index;
    }
    idle(w, true);
    ++w.waits;
    pass(w);
    w.rest = IDLE;
    system.sleep(w, system.now + delay + machine.timer_slack);
    w.rest = AWAKE;
    if (delay < software.back_off_most) delay *= software.back_off_factor;
  }
  idle(w, false);
  return nullptr;
}

inline void Simulation::suspend(Worker& w) {
  pass(w);
  if (!software.printed)
    wake_idle(w);  // it may have been woken for a port that it now leaves to others
  ++w.waits;
  pass(w);
  if (!w.suspended || over) return;
  w.asleep_began = system.now;
  w.rest = SUSPENDED;
  system.sleep(w);
  w.asleep_time += system.now - w.asleep_began;
  w.asleep_began = NEVER;
  w.rest = AWAKE;
}

// -- full queues ----------------------------------------------------------------------------------

inline void Simulation::reschedule(Worker& w, Port& port, uint32_t& round) {
  const uint32_t at = w.at;
  const Slots slots = w.slots;
  w.at = 0;
  announce(w);
  pass(w);
  if (!software.printed)
    look(w, port.ring.tail_line);  // as in the runtime, the flag of an empty queue is left alone
  if ((software.printed || port.ring.size() > 0) && try_flag(w, port.consuming)) {
    if (port.ring.size() > 0) {
      ++w.reschedules;
      const uint64_t most = software.printed ? port.ring.capacity() / 4 + 1
                                             : rescheduled(port.ring.capacity(), port.most);
      drain(
          w, port, most,
          software.printed);  // P17 Figure 6 asks after each tuple whether the thread is suspended
      announce(w);
      round = 0;
      pass(w);
    }
    release(w, port);
    if (!software.printed) wake_idle(w);
  } else if (!software.printed) {
    wait_a_little(w, round, &port);
  } else {
    // P17 Figure 6 tries again and again; what looks often is looked at less often here, up to
    // SPIN_STEP rounds at a time
    round = std::min(2 * round + 1, 2 * SPIN_STEP);
    w.mixed += software.wait_round * round;
  }
  w.at = at;
  w.slots = slots;
}

// thread.hpp, spin(): pauses, then yields, then naps. Who spins looks in each round; here it goes
// on in the round in which it is told that the port, if it waits for one, has changed.
inline void Simulation::wait_a_little(Worker& w, uint32_t& round, Port* port) {
  hand_over(w);
  w.rest = BLOCKED;
  if (round >= SPINS) idle(w, true);
  if (round < SPINS * YIELDS) {
    uint32_t rounds = SPIN_STEP;
    const Time each = software.wait_round + (round >= SPINS ? 2 * software.clock : 0);
    if (port == nullptr) {
      w.mixed += each * rounds;
    } else {
      pass(w);
      const bool changed = port->ring.size() < port->ring.capacity() && !port->producing.held;
      rounds = changed ? 1 : SPINS - round % SPINS;
      w.mixed += each * rounds;
      const Time began = system.now, length = std::max<Time>(system.take_owed(w), 1);
      port->spinning.push_back(&w);
      system.spin(w, began + length);
      std::erase(port->spinning, &w);
      rounds = static_cast<uint32_t>(
          std::clamp<Time>((system.now - began) * rounds / length, 1, rounds));
    }
    round += rounds;
    if (round % SPINS == 0) {
      w.mixed += machine.yield;
      pass(w);
      system.yield(w);
    }
    pass(w);
  } else {
    const Time nap = nap_ns(round / SPINS - YIELDS) * NANOSECOND;
    round += SPINS;
    pass(w);
    system.sleep(w, system.now + nap + machine.timer_slack);
  }
  idle(w, false);
  w.rest = AWAKE;
}

}  // namespace millrace::sim
