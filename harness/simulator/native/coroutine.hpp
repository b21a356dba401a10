// coroutine.hpp - operators as co-routines (C-Stream s3) in virtual time: the scheduler that real threads execute (coroutines.hpp), on virtual
// ones (virtual_platform.hpp), and here what is at its ports, what a co-routine does, and what policies see.
//
// Every operator with a resumed port, and every source, is a co-routine, which also executes the operators that are called behind it. Its loop
// waits for a tuple at any of its ports and executes a batch of each that has some. Sends, kinds of operators, punctuation and the end are those of
// the other models: tasks, which a co-routine executes on its own stack (drive), so a full queue stops it wherever it is.
//
// A co-routine also waits for what is no port: a split for its merge, a load balance for room in any of its buffers (given), a source for its
// time.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "coroutines.hpp"
#include "dedicated.hpp"
#include "simulation.hpp"
#include "submit.hpp"
#include "virtual_platform.hpp"

namespace millrace::sim {

class Simulation::CoroutineGraph {
 public:
  explicit CoroutineGraph(Simulation& simulation) : simulation_(simulation) {}

  // What one co-routine executes.
  struct Region {
    Worker* worker = nullptr;
    Operator* op = nullptr;
    std::vector<Port*> inputs;
    std::vector<Target*> sends;       // to ports, of all operators here
    std::vector<uint32_t> splits;     // operators whose merge is here
    const Operator* lacks = nullptr;  // that waits here for what is no port
    // how it does: at the end of its turns
    uint64_t taken = 0, pushed = 0;
    int64_t busy_ns = 0;
    uint64_t turn_taken = 0, turn_pushed = 0;  // before this turn
    double reads_per_s = 0.0, writes_per_s = 0.0;
    // what follows from that (find_gains)
    uint64_t gain_taken = 0, gain_pushed = 0;
    int64_t gain_busy_ns = 0;
    double cost_s = 0.0, selectivity = 1.0, arrives = 0.0, takes_s = 0.0, gain_per_s = 0.0;
  };

  std::vector<Region> regions;                  // by co-routine
  std::vector<uint32_t> of_operator;            // its co-routine; NO_CO: a thread executes it
  std::vector<std::vector<uint32_t>> writers_;  // by port: co-routines that send there

  // -- for the scheduler (coroutines.hpp) --------------------------------------------------------------------------------------------------

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
    const Operator& op = *regions[co].lacks;
    if (op.kind == SPLIT) return op.order + op.wanted - op.merge->next <= op.ahead;
    for (uint32_t way = 0; way < op.active; ++way) {
      const Ring& ring = op.routes[way].targets[0].port->ring;
      if (ring.size() < ring.capacity()) return true;
    }
    return false;
  }
  bool closed(uint32_t port) const noexcept { return simulation_.ports[port].open_streams == 0; }
  uint32_t reader(uint32_t port) const noexcept { return of_operator[simulation_.ports[port].op->index]; }
  const std::vector<uint32_t>& writers(uint32_t port) const noexcept { return writers_[port]; }
  void leaves(uint32_t co) const { simulation_.drive(*regions[co].worker, simulation_.hand_over(*regions[co].worker)); }
  void turn_begins(uint32_t thread, uint32_t, int64_t) const noexcept {
    Worker& w = simulation_.workers[simulation_.own_threads + thread];
    ++w.searches;
    ++w.drains;
  }
  void turn_ends(uint32_t, uint32_t co, int64_t began_ns, int64_t now_ns) noexcept {
    Region& region = regions[co];
    const auto average = [](double& value, double now) { value = value == 0.0 ? now : 0.75 * value + 0.25 * now; };
    const double took_s = static_cast<double>(std::max<int64_t>(now_ns - began_ns, 1)) * 1e-9;
    const auto ways = static_cast<double>(std::max<size_t>(region.sends.size(), 1));
    region.busy_ns += now_ns - began_ns;
    average(region.reads_per_s, static_cast<double>(region.taken - region.turn_taken) / took_s);
    average(region.writes_per_s, static_cast<double>(region.pushed - region.turn_pushed) / (took_s * ways));
    region.turn_taken = region.taken;
    region.turn_pushed = region.pushed;
  }
  void rests(uint32_t thread, bool suspended) const noexcept {
    Worker& w = simulation_.workers[simulation_.own_threads + thread];
    ++w.waits;
    if (suspended) {
      w.rest = SUSPENDED;
      w.asleep_began = simulation_.system.now;
    } else {
      w.rest = IDLE;
      w.idle(true, simulation_.system.now);
    }
  }
  void wakes(uint32_t thread, bool suspended) const noexcept {
    Worker& w = simulation_.workers[simulation_.own_threads + thread];
    w.rest = AWAKE;
    if (suspended) {
      w.asleep_time += simulation_.system.now - w.asleep_began;
      w.asleep_began = NEVER;
    } else {
      w.idle(false, simulation_.system.now);
    }
  }
  Seen seen(uint32_t index, int64_t scheduled_ns, uint32_t looks) {
    if (Worker* w = simulation_.acting_.worker; w != nullptr) w->mixed += simulation_.software.coroutine_look;
    if ((looks & GAIN) != 0 && simulation_.system.now >= look_again_) find_gains();
    const Region& region = regions[index];
    Seen seen{};
    seen.source = region.inputs.empty();
    seen.scheduled_ns = scheduled_ns;
    seen.enqueued_ns = seen.born_ns = seen.source ? scheduled_ns : INT64_MAX;
    seen.room = UINT64_MAX;
    for (const Port* port : region.inputs) {
      const uint64_t queued = size(port->index);
      seen.batch = std::max(seen.batch, port->batch);
      seen.queued += queued;
      if (queued == 0 || port->stamps == nullptr) continue;
      const Stamps::Stamp& stamp = port->stamps->at(port->ring.head);
      seen.enqueued_ns = std::min(seen.enqueued_ns, stamp.enqueued_ns);
      seen.born_ns = std::min(seen.born_ns, stamp.born_ns);
    }
    if ((looks & BEHIND) != 0) {
      for (const Target* target : region.sends) {
        const uint64_t queued = size(target->port->index);
        seen.room = std::min(seen.room, target->port->ring.capacity() - queued);
        seen.queued_behind = std::max(seen.queued_behind, queued);
      }
    }
    seen.reads_per_s = region.reads_per_s;
    seen.writes_per_s = region.writes_per_s;
    seen.gain_per_s = region.gain_per_s;
    return seen;
  }

  void build();

 private:
  void look(uint32_t port) const noexcept {
    Worker* w = simulation_.acting_.worker;
    if (w == nullptr) return;
    Ring& ring = simulation_.ports[port].ring;
    simulation_.look(*w, ring.head_line);
    simulation_.look(*w, ring.tail_line);
  }
  void find_gains();
  void enter(uint32_t co, Operator& op);

  static constexpr Time GAINS_EVERY = 10 * MILLISECOND;
  static constexpr uint64_t LEAST_TAKEN = 64;  // tuples that a cost is an average of
  Simulation& simulation_;
  std::vector<uint32_t> order_;  // co-routines, those behind before those before them
  Time look_again_ = 0;
};

class Simulation::Coroutines {
 public:
  using All = millrace::Coroutines<VirtualPlatform, CoroutineGraph>;

  Coroutines(Simulation& simulation, const Policy& policy, int64_t quantum_ns) : graph(simulation) {
    graph.build();
    all = std::make_unique<All>(graph, static_cast<uint32_t>(graph.regions.size()), static_cast<uint32_t>(simulation.ports.size()), policy,
                                quantum_ns);
  }

  struct Body {  // of a thread
    uint32_t id;
    millrace::Fibre stack;
    millrace::Stacks memory;
    All::Thread thread;
  };

  CoroutineGraph graph;
  std::unique_ptr<All> all;
  std::deque<Body> bodies;
  Body& body_of(uint32_t worker) {
    return *std::find_if(bodies.begin(), bodies.end(), [&](const Body& body) { return body.id == worker; });
  }
};

// Which operators each co-routine executes, and where it sends.
inline void Simulation::CoroutineGraph::build() {
  of_operator.assign(simulation_.operators.size(), NO_CO);
  writers_.resize(simulation_.ports.size());
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
  // in topological order: a co-routine comes once all that send to it have; who is on a cycle, through a control port, comes last
  std::vector<uint32_t> before(regions.size(), 0);
  const auto each_reader = [&](uint32_t co, auto tell) {
    for (const Target* target : regions[co].sends) {
      const uint32_t to = of_operator[target->port->op->index];
      if (to != NO_CO && target->port->op->kind != CONTROL) tell(to);
    }
  };
  for (uint32_t co = 0; co < regions.size(); ++co) each_reader(co, [&](uint32_t to) { ++before[to]; });
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
      if (split.merge == &op) region.splits.push_back(split.index);
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

// HR (Sharaf et al., TODS 33(1), 2008): of each co-routine, what becomes of a tuple until it is at a sink, over what it costs until then. Output
// ports are taken for equal.
inline void Simulation::CoroutineGraph::find_gains() {
  look_again_ = simulation_.system.now + GAINS_EVERY;
  for (const uint32_t co : order_) {
    Region& region = regions[co];
    if (region.taken - region.gain_taken >= LEAST_TAKEN) {
      const auto tuples = static_cast<double>(region.taken - region.gain_taken);
      region.cost_s = static_cast<double>(region.busy_ns - region.gain_busy_ns) * 1e-9 / tuples;
      region.selectivity = static_cast<double>(region.pushed - region.gain_pushed) / tuples;
      region.gain_taken = region.taken, region.gain_pushed = region.pushed, region.gain_busy_ns = region.busy_ns;
    }
    region.arrives = region.sends.empty() ? 1.0 : 0.0;
    region.takes_s = region.cost_s;
    const double share = region.selectivity / static_cast<double>(std::max<size_t>(region.sends.size(), 1));
    for (const Target* target : region.sends) {
      const uint32_t next = reader(target->port->index);
      region.arrives += share * (next == NO_CO ? 1.0 : regions[next].arrives);
      region.takes_s += share * (next == NO_CO ? 0.0 : regions[next].takes_s);
    }
    region.gain_per_s = region.arrives / std::max(region.takes_s, 1e-9);
  }
}

// -- threads ------------------------------------------------------------------------------------------------------------------------------

inline void Simulation::make_coroutines() {
  coroutines_ = {new Coroutines(*this, *policy, quantum_ns), [](Coroutines* coroutines) { delete coroutines; }};
  Coroutines::All& all = *coroutines_->all;
  if ((policy->looks & TIMES) != 0) {
    for (Port& port : ports) {
      if (port.discipline->resumed) port.stamps = std::make_unique<Stamps>(port.ring.capacity());
    }
  }
  for (uint32_t co = 0; co < coroutines_->graph.regions.size(); ++co) {
    CoroutineGraph::Region& region = coroutines_->graph.regions[co];
    Worker& w = workers.emplace_back();
    w.coroutine = co;
    w.op = region.op;
    region.worker = &w;
    all[co].own = this;
    all[co].chance = system.random() | 1;
    all[co].body = coroutine_body;
    all[co].fibre.worker = &w;
    for (const Port* port : region.inputs) all[co].inputs.push_back(port->index);
  }
  if (!all.begin(STACK_BYTES)) throw std::bad_alloc();
}

// What a thread does on a stack of its own.
inline void Simulation::start_on_stack(Worker& w, uint32_t cpu) {
  Coroutines::Body& body = coroutines_->bodies.emplace_back();
  if (!body.memory.reserve(1, STACK_BYTES)) throw std::bad_alloc();
  body.id = w.id;
  body.thread.index = w.id - own_threads;
  body.thread.chance ^= system.random() | 1;
  body.stack.begin(body.memory.stack(0), body.memory.bytes(), thread_body, &body.thread);
  w.stack = &body.stack;
  system.start(w, nullptr, cpu);
}

inline void Simulation::thread_body(void* argument, void*) {
  Acting& acting = *current();
  Worker& w = *acting.worker;
  Simulation& simulation = acting.simulation;
  w.stack->arrived();
  try {
    if (w.pooled) {
      simulation.coroutines_->all->work(*static_cast<Coroutines::All::Thread*>(argument));
      simulation.system.wait(w, simulation.pass(w));
      simulation.system.end(w);
    } else {
      simulation.drive(w, (simulation.*w.port->discipline->body)(w));  // which ends the thread
    }
  } catch (...) {
    simulation.system.failure = std::current_exception();
  }
  for (;;) simulation.system.suspend(*simulation.acting_.worker);
}

template <class Coroutine>
void Simulation::coroutine_body(Coroutine& self) {
  Simulation& simulation = *static_cast<Simulation*>(self.own);
  Worker& w = *self.fibre.worker;
  bool failed = false;
  try {
    if (self.inputs.empty()) {
      simulation.drive(w, simulation.source_body(w));
    } else {
      simulation.operator_loop(w, self);
    }
  } catch (...) {
    simulation.system.failure = std::current_exception();
    failed = true;
  }
  while (failed) simulation.system.suspend(w);
  w.at = 0;
}

// Execute a task to its end, on the stack of the caller, which stops as often as the task does.
inline void Simulation::drive(Worker& w, Task<> task) {
  const std::coroutine_handle<> program = task.release();
  for (std::coroutine_handle<> next = program;; next = w.resume) {
    next.resume();
    if (program.done()) break;
    system.suspend(w);
  }
  program.destroy();
}

// The loop of every operator: a tuple at any port is enough, and each port that has some is worked on in turn.
template <class Coroutine>
void Simulation::operator_loop(Worker& w, Coroutine& self) {
  Coroutines::All& all = *coroutines_->all;
  CoroutineGraph::Region& region = coroutines_->graph.regions[self.index];
  std::array<Tuple, MAX_BATCH> batch;
  for (size_t i = 0; i < self.inputs.size(); ++i) self.need[i].store(1, std::memory_order_relaxed);
  for (;;) {
    w.at = 0;
    w.mixed += software.coroutine_wait;
    // a barrier waits where it has room: it alone can make some, so it must never wait for that
    for (size_t i = 0; i < self.inputs.size() && region.op->kind == BARRIER; ++i)
      self.need[i].store(region.inputs[i]->open_streams > 0 && barrier_room(*region.inputs[i]) > 0, std::memory_order_relaxed);
    if (all.wait(self, WaitMode::ANY) == Waited::OVER) break;
    for (Port* port : region.inputs) {
      Ring& ring = port->ring;
      if (ring.size() == 0) continue;
      system.wait(w, pass(w));
      touch(w, port->emptied, CONSUMER_BYTES);
      if (ring.tail_seen - ring.head < port->batch) {
        look(w, ring.tail_line, publications(port->batch));
        ring.tail_seen = ring.tail;
      }
      const uint64_t place = ring.head % ring.capacity();
      Count count = static_cast<Count>(std::min({uint64_t{port->batch}, ring.tail_seen - ring.head, ring.capacity() - place}));
      if (region.op->kind == BARRIER) count = static_cast<Count>(std::min<uint64_t>(count, barrier_room(*port)));
      if (count == 0) continue;
      w.mixed += software.take_batch * publications(count);
      ring.copy(count, batch.data());
      if (port->stamps != nullptr) w.born_ns = port->stamps->at(ring.head).born_ns;
      came_from(w, ring, count);
      region.taken += count;
      drive(w, take(w, *port, batch.data(), count));
      ring.pop(count);
      ring.head_line.store(w.core);
      tell_spinning(*port);
      made_room(w, *port);
    }
  }
}

inline uint64_t Simulation::barrier_room(const Port& port) noexcept {
  return port.op->over ? MAX_BATCH : port.op->room_of_input - port.op->inputs[port.input].held.size();
}

// -- what others tell co-routines, and what those wait for --------------------------------------------------------------------------------

// Who reads need not be told of each batch: a switch is then worth many tuples.
inline void Simulation::tuples_resumable(Worker& w, Target& target) {
  Port& port = *target.port;
  if (port.ring.size() >= port.wake_at || !target.lazy_wake) {
    coroutines_->all->written(port.index);
  } else if (!target.wake_owed) {
    target.wake_owed = true;
    w.owed.push_back(&target);
  }
  if (port.shared) another_sender(w, port);
}

// Who has sent has been woken for that, perhaps, and has left room: another one waits.
inline void Simulation::another_sender(Worker& w, Port& port) {
  if (coroutines_ == nullptr) return;
  coroutines_->all->written_by_one_of(port.index);
  if (port.discipline->resumed && !port.room->sleepers.empty() && port.ring.size() < port.ring.capacity()) wake_one(w, *port.room);
}

inline void Simulation::announce_to_coroutine(const Port& port) { coroutines_->all->written(port.index); }

// Before tuples are pushed. What a thread sends is taken for new.
inline void Simulation::stamp(Worker& w, Port& port, Count count) {
  const auto now = [this] { return static_cast<int64_t>(system.now / NANOSECOND); };
  port.stamps->stamp(port.ring.tail, port.ring.head, count, w.coroutine != Worker::NO_COROUTINE ? w.born_ns : now(), now);
}
inline void Simulation::count_pushed(const Worker& w, Count count) {
  if (w.coroutine != Worker::NO_COROUTINE) coroutines_->graph.regions[w.coroutine].pushed += count;
}
inline void Simulation::source_has_sent(Worker& w, const Tuple* first, Count count) {
  if (w.coroutine == Worker::NO_COROUTINE) return;
  w.born_ns = first->born_ns;
  coroutines_->graph.regions[w.coroutine].taken += count;
  coroutines_->all->check_for_preemption((*coroutines_->all)[w.coroutine]);
}

// Tuples of the port were taken: co-routines may wait for that, and threads of threaded ports that send to one that is resumed.
inline void Simulation::made_room(Worker& w, Port& port) {
  if (coroutines_ == nullptr) return;
  coroutines_->all->read(port.index);
  if (port.balance != nullptr) gave(*port.balance);
  const uint32_t co = coroutines_->graph.of_operator[port.op->index];
  if (co != NO_CO) {
    for (const uint32_t split : coroutines_->graph.regions[co].splits) gave(operators[split]);
  }
  if (port.discipline->resumed && !port.room->sleepers.empty()) wake_one(w, *port.room);
}

// What an operator may wait for that is no port.
inline void Simulation::gave(Operator& op) {
  if (op.kind == BALANCE) ++op.freed;
  const uint32_t co = coroutines_ == nullptr ? NO_CO : coroutines_->graph.of_operator[op.index];
  if (co != NO_CO) coroutines_->all->gave(co);
}

// A round of waiting for room at a port; for a co-routine whatever the port is.
inline Task<> Simulation::wait_to_resume(Worker& w, Port& port, uint32_t& round) {
  co_await pass(w);
  if (port.ring.size() < port.ring.capacity()) {  // another one is copying its tuples in, which is soon done
    co_await wait_a_little(w, round, &port);
  } else if (w.coroutine != Worker::NO_COROUTINE) {
    co_await leave(w, [&](auto& all, auto& self) { all.wait_for_room(self, port.index); });
  } else {
    co_await sleep_for_room(w, port);
  }
}
inline Task<> Simulation::wait_to_be_given(Worker& w, const Operator& op) {
  coroutines_->graph.regions[w.coroutine].lacks = &op;
  return leave(w, [](auto& all, auto& self) { all.wait_for_other(self); });
}
inline Task<> Simulation::sleep_as_coroutine(Worker& w, Time until) {
  return leave(w, [until](auto& all, auto& self) { all.sleep_until(self, static_cast<int64_t>(until / NANOSECOND)); });
}

// A co-routine lets others run, by what is called.
template <class Wait>
Task<> Simulation::leave(Worker& w, Wait wait) {
  co_await hand_over(w);
  const uint32_t at = w.at;
  w.at = 0;
  wait(*coroutines_->all, (*coroutines_->all)[w.coroutine]);
  w.at = at;
}

}  // namespace millrace::sim
