// coroutine_graph.hpp - what the scheduler of co-routines (coroutines.hpp) and its policies see of
// a simulated graph: which operators a co-routine executes, what is at its ports, and how it does.
//
// A co-routine also waits for what is no port: a split for its merge, a load balance for room in
// any of its buffers (given), a source for its time.
//
// Records of the runtime (coroutine_run.hpp) are touched here as a thread there touches them: those
// of a co-routine where it is looked at and where it is resumed, its stack included, and those of a
// port where its reader or its writers are looked up. Which records a turn touches was read from
// the source, and their sizes are those of the structs. A count of cache lines agrees: with 300
// operators callgrind finds 40 lines a turn that are no slots and not in a cache of 64 KiB any
// more, and these records make 45, besides seven of operators and ports.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "coroutines.hpp"
#include "primitives.hpp"
#include "seen.hpp"

namespace millrace::sim {

// Bytes of the runtime's records that a turn touches, in whole lines.
// Of a co-routine (coroutines.hpp), what other threads look at.
inline constexpr uint64_t CO_STATE_BYTES = 64;
// The rest of its 232 bytes, and two arrays by input port.
inline constexpr uint64_t CO_OWN_BYTES = 192 + 2 * 64;
// Of its stack, as much as was ever written there in a pipeline.
inline constexpr uint64_t CO_STACK_BYTES = 15 * 64;
// Of its Worker, which has 320.
inline constexpr uint64_t CO_WORKER_BYTES = 4 * 64;
// Of what is known of it (RunPorts::Of), and an array of ports.
inline constexpr uint64_t CO_ABOUT_BYTES = 192 + 64;
// Of an operator that may have replicas, even if it has none (replicas.hpp).
inline constexpr uint64_t CO_CREW_BYTES = 256 + 2 * 64;
// Of the readers and writers of a port (RunPorts::Port).
inline constexpr uint64_t CO_PORT_BYTES = 2 * 64;
// Of the times since which tuples wait: the front, and the stamp of one.
inline constexpr uint64_t CO_STAMPS_BYTES = 2 * 64;

class Simulation::CoroutineGraph {
 public:
  explicit CoroutineGraph(Simulation& simulation) : simulation_(simulation) {}

  // What one co-routine executes.
  struct Region {
    Worker* worker = nullptr;
    Operator* op = nullptr;
    std::vector<Port*> inputs;
    std::vector<Target*> sends;    // to ports, of all operators here
    std::vector<uint32_t> splits;  // operators whose merge is here
    uint32_t first = NO_CO;        // of a replica: its operator's own co-routine
    // what it waits for that is no port: a merge that has to get as far as `least`, or room in a
    // load balance
    const MergeState* merge = nullptr;
    const Operator* balance = nullptr;
    uint32_t least = 0;
    // where the runtime's records of it were touched last
    mutable Touch state, own, stack, record, about, crew;
    Performance<SimPlatform> does;
  };

  std::vector<Region> regions;                  // by co-routine
  std::vector<uint32_t> of_operator;            // its co-routine; NO_CO: a thread executes it
  std::vector<std::vector<uint32_t>> writers_;  // by port: co-routines that send there

  // -- for the scheduler (coroutines.hpp) ---------------------------------------------------------

  uint64_t size(uint32_t port) const noexcept {
    look(port);
    return simulation_.ports[port].ring.size();
  }
  uint64_t room(uint32_t port) const noexcept {
    look(port);
    const Ring& ring = simulation_.ports[port].ring;
    return ring.capacity() - ring.size();
  }
  bool given(uint32_t co) const noexcept {
    if (const MergeState* merge = regions[co].merge; merge != nullptr)
      return has_reached(*merge, regions[co].least);
    const Operator& op = *regions[co].balance;
    return has_room(*static_cast<const BalanceState*>(op.own), op, [this](uint32_t port) {
      const Ring& ring = simulation_.ports[port].ring;  // free of charge: no look at its lines
      return ring.capacity() - ring.size();
    });
  }
  bool closed(uint32_t port) const noexcept { return simulation_.ports[port].open_streams == 0; }
  // The caller looks at the state of that co-routine next; of several writers only if one of them
  // waits.
  uint32_t reader(uint32_t port) const noexcept {
    const uint32_t co = of_operator[simulation_.ports[port].op->index];
    touch(port_touches_[port], CO_PORT_BYTES);
    if (co != NO_CO) touch(regions[co].state, CO_STATE_BYTES);
    return co;
  }
  const std::vector<uint32_t>& writers(uint32_t port) const noexcept {
    touch(port_touches_[port], CO_PORT_BYTES);
    if (writers_[port].size() == 1) touch(regions[writers_[port][0]].state, CO_STATE_BYTES);
    return writers_[port];
  }
  void leaves(uint32_t co) const { SimPath::hand_over(regions[co].worker); }
  void turn_begins(uint32_t thread, uint32_t co, int64_t now_ns) noexcept {
    regions[co].does.begins(now_ns);
    Worker& w = simulation_.workers[simulation_.own_threads + thread];
    w.searches.add(1);
    w.drains.add(1);
    const Region& region = regions[co];
    touch(region.state, CO_STATE_BYTES);
    touch_moved(region.own, CO_OWN_BYTES);
    touch_moved(region.about, CO_ABOUT_BYTES);
    touch_moved(region.stack, CO_STACK_BYTES);
    touch_moved(region.record, CO_WORKER_BYTES);
    if (region.op->most_replicas > 1)
      touch_moved((region.first == NO_CO ? region : regions[region.first]).crew, CO_CREW_BYTES);
  }
  void turn_ends(uint32_t, uint32_t co, int64_t began_ns, int64_t now_ns) noexcept {
    Region& region = regions[co];
    region.does.ends(began_ns, now_ns);
    region.does.measure(now_ns - began_ns, region.worker->taken, region.worker->pushed,
                        region.sends.size());
  }
  void rests(uint32_t thread, bool suspended) const noexcept {
    Worker& w = simulation_.workers[simulation_.own_threads + thread];
    SimPath::turn_to(&w, suspended ? Activity::PAUSE : Activity::TUPLES);
    rest_of(w, suspended);
  }
  void wakes(uint32_t thread, bool suspended) const noexcept {
    Worker& w = simulation_.workers[simulation_.own_threads + thread];
    SimPath::turn_to(&w, Activity::SEARCH);
    w.rest = AWAKE;
    end_rest_of(w, suspended);
  }
  void stuck() const noexcept {}  // every thread sleeps then, which the engine sees (engine.pyx)
  // Only users' policies refuse, and those are not simulated.
  void refused(uint32_t) const noexcept {}
  Seen seen(uint32_t index, int64_t scheduled_ns, uint32_t looks) {
    if (Worker* w = simulation_.acting_.worker; w != nullptr)
      w->mixed += simulation_.software.coroutine_look;
    touch_moved(regions[index].own, CO_OWN_BYTES);
    touch_moved(regions[index].about, CO_ABOUT_BYTES);
    if ((looks & GAIN) != 0 && simulation_.system.now >= look_again_) {
      look_again_ = simulation_.system.now + GAINS_EVERY_NS * NANOSECOND;
      find_gains_of(*this, order_);
    }
    return see(*this, index, scheduled_ns, looks);
  }

  // for policies (seen.hpp)
  Port& port(Port* port) const noexcept { return *port; }
  Port& port(const Target* target) const noexcept { return *target->port; }
  const std::vector<Port*>& inputs(uint32_t co) const noexcept { return regions[co].inputs; }
  const std::vector<Target*>& outputs(uint32_t co) const noexcept { return regions[co].sends; }
  uint64_t queued_before(Port& port) const noexcept {
    const uint64_t queued = size(port.index);
    touch(port.emptied, CONSUMER_BYTES);
    return queued;
  }
  uint64_t queued_behind(Port& port) const noexcept {
    const uint64_t queued = size(port.index);
    touch(port.filled, PRODUCER_BYTES);
    return queued;
  }
  Stamps::Stamp stamp_of(const Port& port) const noexcept {
    touch_stamps(port);
    return port.stamps->at(port.ring.head());
  }
  int64_t age_of_none(int64_t) const noexcept { return INT64_MAX; }
  Performance<SimPlatform>& performance(uint32_t co) noexcept { return regions[co].does; }
  uint64_t taken(uint32_t co) const noexcept { return regions[co].worker->taken; }
  uint64_t pushed(uint32_t co) const noexcept { return regions[co].worker->pushed; }
  uint32_t own(uint32_t co) const noexcept {
    return regions[co].first == NO_CO ? co : regions[co].first;
  }
  uint32_t index(uint32_t co) const noexcept { return regions[co].op->index; }
  uint32_t batch(uint32_t co) const noexcept {
    uint32_t most = 0;
    for (const Port* port : regions[co].inputs) most = std::max<uint32_t>(most, port->batch);
    return most;
  }

  void build();
  // A further co-routine of an operator.
  void add_replica(uint32_t first, Worker& worker) {
    const Region& own = regions[first];
    Region& region = regions.emplace_back();
    region.worker = &worker;
    region.op = own.op, region.inputs = own.inputs, region.sends = own.sends, region.first = first;
  }
  void touch_stamps(const Port& port) const noexcept {
    touch(stamp_touches_[port.index], CO_STAMPS_BYTES);
  }
  // A co-routine waits for room at the port; tuples were taken there, and a sender that was
  // notified may have filled it again.
  void full(Port& port) const noexcept {
    if (port.full_since == NEVER) port.full_since = simulation_.system.now;
  }
  void not_full(Port& port) const noexcept {
    if (port.full_since == NEVER || port.ring.size() == port.ring.capacity()) return;
    port.full_time += simulation_.system.now - std::exchange(port.full_since, NEVER);
  }

 private:
  void look(uint32_t port) const noexcept {
    Worker* w = simulation_.acting_.worker;
    if (w == nullptr) return;
    Ring& ring = simulation_.ports[port].ring;
    simulation_.look(*w, ring.head_line);
    simulation_.look(*w, ring.tail_line);
  }
  void touch(Touch& record, uint64_t bytes) const noexcept {
    if (Worker* w = simulation_.acting_.worker; w != nullptr) simulation_.touch(*w, record, bytes);
  }
  void touch_moved(Touch& record, uint64_t bytes) const noexcept {
    if (Worker* w = simulation_.acting_.worker; w != nullptr)
      simulation_.touch_moved(*w, record, bytes);
  }
  void enter(uint32_t co, Operator& op);

  Simulation& simulation_;
  mutable std::vector<Touch> port_touches_, stamp_touches_;  // by port, likewise
  std::vector<uint32_t> order_;  // co-routines, those behind before those before them
  Time look_again_ = 0;
};

// Which operators each co-routine executes, and where it sends.
inline void Simulation::CoroutineGraph::build() {
  size_t most = 0;
  for (const Operator& op : simulation_.operators) most += op.resumed ? op.most_replicas : 0;
  regions.reserve(most);  // they stay where they are
  of_operator.assign(simulation_.operators.size(), NO_CO);
  writers_.resize(simulation_.ports.size());
  port_touches_.resize(simulation_.ports.size());
  stamp_touches_.resize(simulation_.ports.size());
  for (Operator& op : simulation_.operators) {
    if (op.resumed) {
      of_operator[op.index] = static_cast<uint32_t>(regions.size());
      regions.emplace_back().op = &op;
    }
  }
  for (Port& port : simulation_.ports) {
    if (port.discipline->resumed) regions[of_operator[port.op->index]].inputs.push_back(&port);
  }
  for (uint32_t co = 0; co < regions.size(); ++co) enter(co, *regions[co].op);
  // in topological order: a co-routine comes behind all that send to it; one on a cycle, through a
  // control port, comes last
  std::vector<uint32_t> before(regions.size(), 0);
  const auto each_reader = [&](uint32_t co, auto tell) {
    for (const Target* target : regions[co].sends) {
      const uint32_t to = of_operator[target->port->op->index];
      if (to != NO_CO && target->port->op->kind != CONTROL) tell(to);
    }
  };
  for (uint32_t co = 0; co < regions.size(); ++co)
    each_reader(co, [&](uint32_t to) { ++before[to]; });
  for (uint32_t co = 0; co < regions.size(); ++co) {
    if (before[co] == 0) order_.push_back(co);
  }
  for (size_t place = 0; place < order_.size(); ++place)
    each_reader(order_[place], [&](uint32_t to) {
      if (--before[to] == 0) order_.push_back(to);
    });
  std::reverse(order_.begin(), order_.end());
}

inline void Simulation::CoroutineGraph::enter(uint32_t co, Operator& op) {
  of_operator[op.index] = co;
  Region& region = regions[co];
  if (op.kind == MERGE) {
    for (const Operator& split : simulation_.operators) {
      if (split.kind == SPLIT && static_cast<SplitState*>(split.own)->behind == &op)
        region.splits.push_back(split.index);
    }
  }
  for (Route& route : op.routes) {
    for (Target& target : route.targets) {
      if (target.port == nullptr) {
        enter(co, *target.op);
      } else {
        region.sends.push_back(&target);
        std::vector<uint32_t>& writers = writers_[target.port->index];
        if (std::find(writers.begin(), writers.end(), co) == writers.end()) writers.push_back(co);
      }
    }
  }
}

}  // namespace millrace::sim
