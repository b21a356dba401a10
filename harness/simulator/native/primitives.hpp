// primitives.hpp - locks and queues that charge the thread that acts.
#pragma once

#include "sim_path.hpp"

namespace millrace::sim {

template <class T>
T LineWord<T>::load(std::memory_order) const noexcept {
  const Acting& acting = *current();
  if (acting.worker != nullptr)
    acting.worker->waiting += line_.load(acting.machine, acting.worker->core);
  return value_;
}

template <class T>
void LineWord<T>::store(T value, std::memory_order) noexcept {
  if (const Acting& acting = *current(); acting.worker != nullptr) line_.store(acting.worker->core);
  value_ = value;
}

template <class T>
void LineWord<T>::modify(bool cas) noexcept {
  Acting& acting = *current();
  if (Worker* w = acting.worker; w != nullptr)
    w->waiting += line_.rmw(acting.machine, w->core, acting.system.now + acting.system.owed(*w),
                            cas, acting.most_contenders);
}

inline bool Flag::try_lock() {
  Worker& w = *current()->worker;
  Simulation& simulation = *w.run;
  // A look comes first, which takes the line from no core. P17 prints none, but a compare-exchange
  // that fails is one where it reserves the line. Elsewhere threads that try again and again keep
  // the line from the holder of the flag, so that each turn of a holder takes a turn of them all.
  if (!simulation.software.printed || simulation.machine.reserves) {
    simulation.look(w, line_);
    if (held_) return false;
  }
  simulation.atomic(w, line_, false, simulation.software.flag);
  return !std::exchange(held_, true);
}

inline void Flag::unlock() {
  Worker& w = *current()->worker;
  held_ = false;
  line_.store(w.core);
  w.run->tell_spinning(*port);
}

inline bool Mutex::try_lock() {
  Worker& w = *current()->worker;
  Simulation& simulation = *w.run;
  simulation.pass(w);
  simulation.atomic(w, queue.line, true, simulation.software.lock);
  return !std::exchange(held_, true);
}

inline bool Mutex::try_enter() {
  Worker& w = *current()->worker;
  w.run->pass(w);
  return !std::exchange(held_, true);
}

inline void Mutex::lock() {
  Worker& w = *current()->worker;
  Simulation& simulation = *w.run;
  for (;;) {
    simulation.pass(w);
    if (!held_) break;
    simulation.system.sleep_in(w, queue);
    simulation.rmw(w, queue.line, true);
    simulation.pass(w);
    if (!held_) break;  // else a thread that was awake came before: the lock is not fair
  }
  held_ = true;
}

inline void Mutex::unlock() {
  Worker& w = *current()->worker;
  held_ = false;
  queue.line.store(w.core);
  w.run->system.wake_one(w, queue);
}

inline size_t Queue::push(Tuple* first, size_t count, size_t spacing, uint32_t path_step) {
  Worker& w = *current()->worker;
  Simulation& simulation = *w.run;
  simulation.touch(w, port->filled, PRODUCER_BYTES);
  if (tail_ - head_seen + count > capacity()) {
    simulation.look(w, head_line, simulation.publications(static_cast<uint32_t>(count)));
    head_seen = head_;
  }
  const auto fitting =
      static_cast<uint32_t>(std::min<uint64_t>(count, capacity() - (tail_ - head_seen)));
  if (fitting == 0) return 0;
  const Software& software = simulation.software;
  w.mixed += software.push_batch * simulation.publications(fitting) + software.push_tuple * fitting;
  const uint64_t begin = tail_;
  simulation.copy(w, fitting,
                  begin < capacity() ? simulation.untouched()
                                     : worked.since(begin - capacity(), simulation.system.caches,
                                                    simulation.filled));
  append(first, static_cast<uint32_t>(spacing / sizeof(Tuple)), fitting, path_step);
  simulation.filled += fitting * simulation.slot_bytes;
  filled.note(begin, fitting, {w.core, simulation.system.caches[w.core].used(), simulation.filled});
  tail_line.store(w.core);
  return fitting;
}

inline size_t Queue::room(size_t wanted) {
  Worker& w = *current()->worker;
  if (tail_ - head_seen + wanted > capacity()) {
    w.run->look(w, head_line);
    head_seen = head_;
  }
  return capacity() - (tail_ - head_seen);
}

inline size_t Queue::front(size_t most, Tuple** first) {
  Worker& w = *current()->worker;
  Simulation& simulation = *w.run;
  const bool resumed = port->discipline->resumed;
  if (resumed && size() == 0) return 0;  // its co-routine has looked when it waited
  simulation.pass(w);
  // a co-routine takes a batch of each of its ports, a drain has come for this one (drains)
  if (resumed) simulation.touch(w, port->emptied, CONSUMER_BYTES);
  const size_t batch = port->batch;  // as it is now
  if (tail_seen - head_ < batch) {
    simulation.look(w, tail_line, simulation.publications(static_cast<uint32_t>(batch)));
    tail_seen = tail_;
  }
  const uint64_t place = head_ % capacity();
  size_t count = std::min<uint64_t>({batch, tail_seen - head_, capacity() - place});
  if (resumed) count = std::min(count, most);  // a barrier may have less room
  if (count == 0) return 0;
  if (front_ == nullptr) front_ = simulation.take_batch();
  copy(count, front_);
  *first = front_;
  return count;
}

inline void Queue::release(size_t count) {
  Worker& w = *current()->worker;
  pop(count);
  head_line.store(w.core);
  w.run->give_batch(std::exchange(front_, nullptr));
  if (port->arrivals != nullptr) {
    w.run->tell_watching(head_);
  } else {
    w.run->tell_spinning(*port);
  }
}

// As P17 prints it every port that no thread holds is on the list.
inline bool ReadyFlag::release(const Queue& ring, Flag& consuming) {
  if (!current()->software.printed) return BasicReadyFlag::release(ring, consuming);
  consuming.unlock();
  return false;
}

inline void Parking::wake_one() {
  Worker& w = *current()->worker;
  w.run->rmw(w, queue.line, false);
  if (!queue.sleepers.empty()) w.run->atomic(w, queue.line, true, w.run->software.lock);
  w.run->system.wake_one(w, queue);
}

inline void Parking::sleep() {
  Worker& w = *current()->worker;
  w.run->system.sleep_in(w, queue);
}

inline void Parking::wake_all() {
  for (Thread* sleeper : std::exchange(queue.sleepers, {}))
    current()->system.wake(*sleeper, sleeper->cpu);
}

inline void Pause::sleep_while(const Word<uint64_t>& word, uint64_t seen, const Word<bool>& stop) {
  Worker& w = *current()->worker;
  if (word == seen && !stop) w.run->system.sleep(w);
}

inline void ReadyPorts::push(uint32_t port) {
  Worker& w = *current()->worker;
  const uint64_t step = simulation_.software.list_push;
  simulation_.atomic(w, link_, true, step / 2);  // a compare-exchange on each
  simulation_.atomic(w, tail_, true, step - step / 2);
  simulation_.ports[port].node.store(w.core);
  ports.push_back(port);
}

inline uint32_t ReadyPorts::pop() {
  Worker& w = *current()->worker;
  if (ports.empty()) {
    simulation_.look(w, head_);
    return NONE;
  }
  simulation_.look(w, tail_);
  simulation_.atomic(w, head_, true, simulation_.software.list_pop);
  const uint32_t port = ports.front();
  ports.pop_front();
  simulation_.look(w, simulation_.ports[port].node);
  return port;
}

inline void ReadyPorts::wake_one() {
  Worker& w = *current()->worker;
  simulation_.look(w, idle.line);
  if (idle.sleepers.empty() || waking_) return;
  simulation_.look(w, head_);
  if (ports.empty()) return;
  waking_ = true;
  simulation_.system.wake_one(w, idle);
}

inline void ReadyPorts::sleep(const Word<bool>& stop, const Word<uint64_t>& suspended) {
  Worker& w = *current()->worker;
  if (ports.empty() && !stop && suspended == 0) {
    simulation_.system.sleep_in(w, idle);
    waking_ = false;
  }
  simulation_.rmw(w, idle.line, false);
}

// Rounds of spinning that are one event here, where no thread notifies the one that waits.
inline constexpr uint32_t SPIN_STEP = 8;

// thread.hpp, spin(): pauses, then yields, then naps. A thread that spins looks in each round; here
// it goes on in the round in which it is notified that the port, if it waits for one, has changed.
inline void Simulation::spin(Worker& w, uint32_t& round, Port* port) {
  if (round < SPINS * YIELDS) {
    uint32_t rounds = SPIN_STEP;
    const Time each = software.wait_round + (round >= SPINS ? 2 * software.clock : 0);
    if (port == nullptr) {
      w.mixed += each * rounds;
    } else {
      pass(w);
      const bool changed = port->ring.size() < port->ring.capacity() && !port->producing.held();
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
      system.make_call(w, machine.yield);
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
}

}  // namespace millrace::sim
