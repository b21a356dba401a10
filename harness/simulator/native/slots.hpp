// slots.hpp - what it costs to work on slots of queues and on records of operators and ports: where
// in the machine's caches they are.
#pragma once

#include "simulation.hpp"

namespace millrace::sim {

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
  system.caches[w.core].touch(static_cast<uint64_t>(count) * slot_bytes,
                              since.core == w.core ? since.used : Footprint::NEVER_BEFORE);
}

// Slots that no core has touched in this run are where each busy core's share of what the queues
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
// used since has left it: a thread that goes round 1,000 operators finds each of them cold. Its
// lines are fetched together. What another core has written of it is charged apart (Line).
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

// The same of a record that its user also writes to: as a whole it is where it was used last,
// perhaps in another core's caches.
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
  const uint64_t bytes = static_cast<uint64_t>(count) * slot_bytes;
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

}  // namespace millrace::sim
