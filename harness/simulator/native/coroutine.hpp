// coroutine.hpp - operators as co-routines (C-Stream s3) in virtual time: the scheduler that real
// threads execute (coroutines.hpp), on virtual ones (virtual_platform.hpp), and here what is at its
// ports, what a co-routine does, and what policies see.
//
// Every operator with a resumed port, and every source, is a co-routine, which also executes the
// operators that are called behind it. Its loop waits for a tuple at any of its ports and executes
// a batch of each that has some. Sends, kinds of operators, punctuation and the end are those of
// the other models, which a co-routine executes on its own stack, so a full queue stops it wherever
// it is.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "coroutine_graph.hpp"
#include "crew.hpp"
#include "deadlock.hpp"
#include "primitives.hpp"
#include "simulation.hpp"
#include "virtual_platform.hpp"

namespace millrace::sim {

class Simulation::Coroutines {
 public:
  using All = millrace::Coroutines<VirtualPlatform, CoroutineGraph>;

  using Replicated = millrace::Replicas<All, Crew>;

  Coroutines(Simulation& simulation, const Policy& policy, int64_t quantum_ns) : graph(simulation) {
    graph.build();
    const auto most = static_cast<uint32_t>(graph.regions.capacity()),
               own = static_cast<uint32_t>(graph.regions.size());
    all = std::make_unique<All>(graph, most, static_cast<uint32_t>(simulation.ports.size()), policy,
                                quantum_ns, most - own);
    replicated.resize(own);
    places.resize(most);
  }

  struct OfOperator {  // that has had replicas
    std::unique_ptr<Crew> flow;
    std::unique_ptr<Replicated> replicas;
    bool (*may)(const void*) = nullptr;  // what the first one waits for as a replica
  };

  // for the path of a tuple (path.hpp)
  uint32_t inputs(const Worker* w) const {
    return static_cast<uint32_t>(graph.regions[w->coroutine].inputs.size());
  }
  Port* input(const Worker* w, uint32_t i) const { return graph.regions[w->coroutine].inputs[i]; }
  void need(const Worker* w, uint32_t i, uint32_t count) {
    (*all)[w->coroutine].need[i].store(count, std::memory_order_relaxed);
  }
  // Returns false: here a co-routine finds out when it looks once more, and pays for that.
  bool close_input(const Worker*, uint32_t) const noexcept { return false; }
  // For a tuple at any port; until the operator has replicas, of which this is one.
  bool wait(Worker* w) {
    const OfOperator& of = replicated[w->coroutine];
    if (of.replicas != nullptr) return false;
    w->mixed += w->run->software.coroutine_wait;
    return all->wait((*all)[w->coroutine], WaitMode::ANY) == Waited::DONE;
  }
  bool first(const Worker* w) const { return places[w->coroutine]->first; }
  uint32_t send(Worker* w, Tuple* first, uint32_t count) {
    w->run->pass(*w);
    Replicated::Replica& self = *places[w->coroutine];
    return static_cast<uint32_t>(self.all->send(self, first, count));
  }
  Tuple* take(Worker* w, uint32_t* count) {
    size_t taken = 0;
    w->mixed += w->run->software.coroutine_wait;
    w->run->pass(*w);
    Replicated::Replica& self = *places[w->coroutine];
    Tuple* first = self.all->take(self, &taken);
    *count = static_cast<uint32_t>(taken);
    return first;
  }
  size_t stride(const Worker* w) const noexcept { return w->run->stride; }
  bool marked(const Worker*) const noexcept { return true; }
  // Whether the replica is the last one, and the operator has not come to its end by itself.
  bool ends(Worker* w) {
    Replicated::Replica& self = *places[w->coroutine];
    return self.all->ends(self) && w->op->open_streams > 0;
  }
  void wait_for_merge(Worker* w, const MergeState* merge, uint32_t least) {
    graph.regions[w->coroutine].merge = merge;
    graph.regions[w->coroutine].least = least;
    w->run->wait_to_be_given(*w);
  }
  void wait_for_buffers(Worker* w, const Operator* op) {
    graph.regions[w->coroutine].merge = nullptr;
    graph.regions[w->coroutine].balance = op;
    w->run->wait_to_be_given(*w);
  }
  void gave(uint32_t co) { all->gave(co); }
  void written(uint32_t port) { all->written(port); }
  void written_by_one_of(uint32_t port) { all->written_by_one_of(port); }
  void taken(uint32_t port) {
    Simulation& simulation = current()->simulation;
    simulation.made_room(simulation.ports[port]);
  }
  void gave_room(Port* port) { current()->simulation.made_room(*port); }

  CoroutineGraph graph;
  std::unique_ptr<All> all;
  std::vector<OfOperator> replicated;        // by the operators' own co-routines
  std::vector<Replicated::Replica*> places;  // by co-routine; null: it is no replica
  std::deque<All::Thread> threads;           // by worker, of those that have begun
};

// -- threads --------------------------------------------------------------------------------------

inline void Simulation::make_coroutines() {
  coroutines_ = {new Coroutines(*this, *policy, quantum_ns),
                 [](Coroutines* coroutines) { delete coroutines; }};
  coroutines = coroutines_.get();
  Coroutines::All& all = *coroutines_->all;
  if ((policy->looks & TIMES) != 0) {
    for (Port& port : ports) {
      if (port.discipline->resumed) port.stamps = std::make_unique<Stamps>(port.ring.capacity());
    }
  }
  for (uint32_t co = 0; co < coroutines_->graph.regions.size(); ++co) {
    CoroutineGraph::Region& region = coroutines_->graph.regions[co];
    Worker& w = workers.emplace_back();
    enroll(w);
    w.resumed = true;
    w.coroutine = co;
    w.op = region.op;
    region.worker = &w;
    all[co].chance = system.random() | 1;
    all[co].body = coroutine_body;
    all[co].fibre.worker = &w;
    for (const Port* port : region.inputs) all[co].inputs.push_back(port->index);
  }
  if (!all.begin(system.stack_bytes, System::STACK_REACH)) throw std::bad_alloc();
  for (uint32_t co = 0; co < coroutines_->graph.regions.size(); ++co) {
    for (size_t i = 0; i < all[co].inputs.size(); ++i)
      all[co].need[i].store(1, std::memory_order_relaxed);
  }
}

inline void Simulation::prepare_to_resume(const Worker& w) {
  if (coroutines_ == nullptr) make_coroutines();
  Coroutines::All::Thread& thread = coroutines_->threads.emplace_back();
  thread.index = w.id - own_threads;
  thread.chance ^= system.random() | 1;
}

// What a thread of the pool does: it resumes co-routines.
inline void* resuming_body(void* worker) {
  Worker& w = *static_cast<Worker*>(worker);
  Simulation::Coroutines& coroutines = *w.run->coroutines;
  SimPath::turn_to(&w, Activity::SEARCH);
  coroutines.all->work(coroutines.threads[w.id]);
  w.run->pass(w);
  return nullptr;
}

template <class Coroutine>
void Simulation::coroutine_body(Coroutine& self) {
  Simulation& simulation = current()->simulation;
  Worker& w = *self.fibre.worker;
  simulation.system.guard(w, [&] {
    if (w.op->kind == SOURCE) {
      SimPath::source_body(&w);
    } else if (w.replica) {
      SimPath::replica_body(&w);
    } else {
      SimPath::operator_body(&w);
      simulation.join_replicas(w, self);
    }
  });
  SimPath::turn_to(&w, Activity::NONE);
}

// The operator's own co-routine goes on as the first of its replicas, if there are some.
template <class Coroutine>
void Simulation::join_replicas(Worker& w, Coroutine& self) {
  const Coroutines::OfOperator& of = coroutines_->replicated[self.index];
  if (of.replicas == nullptr || over) return;
  self.may = of.may;
  w.replica = true;
  SimPath::replica_body(&w);
}

// -- what others tell co-routines, and what those wait for ----------------------------------------

// Before tuples are pushed. What a thread sends is taken for new.
inline void Simulation::stamp(Worker& w, Port& port, Count count) {
  const auto now = [this] { return static_cast<int64_t>(system.now / NANOSECOND); };
  coroutines_->graph.touch_stamps(port);
  port.stamps->stamp(port.ring.tail(), port.ring.head(), count,
                     w.coroutine != Worker::NO_COROUTINE ? w.born_ns : now(), now);
}
// Tuples of the port were taken: co-routines may wait for that, and threads of threaded ports that
// send to one that is resumed.
inline void Simulation::check_for_preemption(Worker& w) {
  coroutines_->all->check_for_preemption((*coroutines_->all)[w.coroutine]);
}
inline void Simulation::made_room(Port& port) {
  if (coroutines_ == nullptr) return;
  coroutines_->all->read(port.index);
  coroutines_->graph.not_full(port);
  if (port.balance != nullptr) gave(*port.balance);
  const uint32_t co = coroutines_->graph.of_operator[port.op->index];
  if (co != NO_CO) {
    for (const uint32_t split : coroutines_->graph.regions[co].splits) gave(operators[split]);
  }
  if (port.discipline->resumed && port.room->somebody_guess()) port.room->wake_one();
}

// What an operator may wait for that is no port.
inline void Simulation::gave(Operator& op) {
  if (op.kind == BALANCE) static_cast<BalanceState*>(op.own)->freed.add();
  const uint32_t co = coroutines_ == nullptr ? NO_CO : coroutines_->graph.of_operator[op.index];
  if (co != NO_CO) coroutines_->all->gave(co);
}

inline void Simulation::wait_for_room_as_coroutine(Worker& w, Port& port) {
  coroutines_->graph.full(port);
  let_others_run(w, [&](auto& all, auto& self) { all.wait_for_room(self, port.index); });
}
// A round of waiting for room at a port of any kind, of a thread or of a co-routine.
inline void wait_as_either(Worker* w, Port* port, uint32_t* round) {
  if (!w->resumed) return SimPath::wait_for_room(w, port, round);
  w->run->pass(*w);
  if (port->ring.size() < port->ring.capacity()) {
    SimPath::wait_a_little(w, round, port);  // another one is copying its tuples in
  } else {
    if (port->arrivals != nullptr) port->arrivals->wake_one();
    w->run->wait_for_room_as_coroutine(*w, *port);
  }
}

inline void Simulation::wait_to_be_given(Worker& w) {
  let_others_run(w, [](auto& all, auto& self) { all.wait_for_other(self); });
}
inline void Simulation::sleep_as_coroutine(Worker& w, Time until) {
  let_others_run(w, [until](auto& all, auto& self) {
    all.sleep_until(self, static_cast<int64_t>(until / NANOSECOND));
  });
}

// -- replicas: for the engine, once the run has begun ---------------------------------------------

inline void Simulation::set_replicas(uint32_t index, uint32_t number) {
  const Present present(acting_);
  const uint32_t co = coroutines_->graph.of_operator[index];
  Coroutines::OfOperator& of = coroutines_->replicated[co];
  if (of.replicas == nullptr) {
    if (number == 1) return;
    make_replicas(co);
  }
  of.replicas->set(number);
}

inline void Simulation::make_replicas(uint32_t co) {
  CoroutineGraph& graph = coroutines_->graph;
  Coroutines::All& all = *coroutines_->all;
  Coroutines::OfOperator& of = coroutines_->replicated[co];
  Operator& op = *graph.regions[co].op;
  Port& port = *graph.regions[co].inputs[0];
  ReplicaSizes sizes = sizes_for(op.most_replicas, port.batch, slot_bytes, op.keys, slot_bytes);
  sizes.stride = sizes.output_stride = stride;
  ring_bytes += uint64_t{sizes.window} * (sizes.batch + sizes.outputs) * slot_bytes;
  const auto extra = static_cast<uint32_t>(graph.regions.size());
  for (uint32_t i = extra; i < extra + op.most_replicas - 1; ++i) {
    Worker& w = workers.emplace_back();
    enroll(w);
    w.resumed = true;
    w.coroutine = i;
    w.op = &op;
    w.replica = true;
    all[i].fibre.worker = &w;
    graph.add_replica(co, w);
  }
  of.flow = std::make_unique<Crew>(*this, graph, port);
  of.replicas =
      std::make_unique<Coroutines::Replicated>(all, *of.flow, sizes, all[co], &all[extra]);
  of.replicas->prepare();
  // it still waits as an operator without replicas does
  of.may = std::exchange(all[co].may, nullptr);
  for (uint32_t i = 0; i < op.most_replicas; ++i)
    coroutines_->places[i == 0 ? co : extra + i - 1] = &(*of.replicas)[i];
}

inline uint32_t Simulation::replicas(uint32_t index) const {
  const Coroutines::OfOperator& of = coroutines_->replicated[coroutines_->graph.of_operator[index]];
  return of.replicas == nullptr ? 1 : of.replicas->wanted();
}
inline uint32_t Simulation::living_replicas(uint32_t index) {
  const Present present(acting_);
  const Coroutines::OfOperator& of = coroutines_->replicated[coroutines_->graph.of_operator[index]];
  return of.replicas == nullptr ? 1 : of.replicas->living();
}
// When the run has ended: tuples that replicas have taken and not worked on, and such that they
// have made and not sent.
inline void Simulation::left_in_slots(uint32_t index, std::vector<Tuple>& taken,
                                      std::vector<Tuple>& made) {
  const uint32_t co = coroutines_ == nullptr ? NO_CO : coroutines_->graph.of_operator[index];
  if (co == NO_CO || coroutines_->replicated[co].replicas == nullptr) return;
  const Present present(acting_);
  coroutines_->replicated[co].replicas->left_behind(
      [&](const Tuple* tuple) { taken.push_back(*tuple); },
      [&](const Tuple* tuple) { made.push_back(*tuple); });
}
// By operator: time for which threads have executed it, all its co-routines together [ns].
inline std::vector<uint64_t> Simulation::useful_ns() const {
  std::vector<uint64_t> useful(operators.size(), 0);
  if (coroutines_ == nullptr) return useful;
  const auto now = static_cast<int64_t>(system.now / NANOSECOND);
  const CoroutineGraph& graph = coroutines_->graph;
  for (uint32_t co = 0; co < graph.regions.size(); ++co)
    useful[graph.regions[co].op->index] += graph.regions[co].does.useful_ns(now);
  return useful;
}
inline std::string Simulation::deadlock(const std::vector<std::string>& names) {
  const Present present(acting_);
  const CoroutineGraph& graph = coroutines_->graph;
  const auto name = [&](uint32_t co) { return names[graph.regions[co].op->index]; };
  const auto input = [&](uint32_t port) { return ports[port].input; };
  const auto owner = [&](uint32_t port) { return names[ports[port].op->index]; };
  return who_waits(*coroutines_->all, graph, name, input, owner);
}
// Time for which co-routines have found the queue full [ps].
inline uint64_t Simulation::full_time(const Port& port) const noexcept {
  return port.full_time + (port.full_since == NEVER ? 0 : system.now - port.full_since);
}

// A co-routine lets others run, by what is called.
template <class Wait>
void Simulation::let_others_run(Worker& w, Wait wait) {
  SimPath::hand_over(&w);
  const uint32_t at = SimPath::now_doing(&w);
  SimPath::turn_to(&w, Activity::SEARCH, w.op);
  wait(*coroutines_->all, (*coroutines_->all)[w.coroutine]);
  SimPath::turn_back(&w, at);
}

}  // namespace millrace::sim
