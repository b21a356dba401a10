// simulation.hpp - a graph on a described machine: the algorithms of harness/runtime/ executed by
// virtual threads.
//
//   sim_path.hpp   the path of a tuple (harness/native/path.hpp) on virtual threads
//   slots.hpp      costs of slots
//   primitives.hpp locks, flags, queues and places to sleep
//   printed.hpp    P17's own way of finding work
//   coroutine.hpp  operators as co-routines: the scheduler of
//                  harness/native/coroutines.hpp, on virtual threads; what that sees of a
//                  graph is in coroutine_graph.hpp, and replicas of operators in crew.hpp
//   disciplines.hpp  what each kind of queue means to a tuple
//   operators.hpp  kinds of operators; sources
//   filling.hpp    a run that begins with tuples in its queues
//   control.hpp    what the engine does: levels, periods, the end
//
// How time passes. What a thread does costs it time, which it *owes* (Thread::fp, mixed, waiting)
// until it touches something that others touch: then it waits (`pass`) until that time has passed,
// and acts on what is there then. So a batch of tuples is one event, and every look at a queue,
// flag, list or lock sees what others did before it in virtual time. Costs of touching a line are
// charged after the touch.
//
// What is left out: the flags by which threads are told to stop (read by all, written once),
// counters, the oracle's arithmetic at sinks beyond its measured cost, allocation, page faults and
// translation look-asides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "contexts.hpp"
#include "machine.hpp"
#include "policies.hpp"
#include "sizes.hpp"
#include "software.hpp"
#include "state.hpp"
#include "system.hpp"
#include "time_use.hpp"
#include "virtual_platform.hpp"

namespace millrace::sim {

// Lines of the runtime's records (harness/native/state.hpp): what a call uses of an
// operator, a producer and a consumer of a port.
inline constexpr uint64_t OPERATOR_BYTES = 64, PRODUCER_BYTES = 192, CONSUMER_BYTES = 192;

// What a kind of queue means to those who send to a port and to the threads that execute it
// (disciplines.hpp).
struct Discipline {
  bool pooled;           // the pool executes its ports, whose queues may be switched off
  bool resumed;          // a co-routine executes it, which the pool resumes
  void* (*body)(void*);  // of the threads that execute its ports
  void (*published)(Worker*, Target*);                     // what follows a publication
  void (*wait_for_room)(Worker*, Port*, uint32_t* round);  // one round before a full queue
};

class Simulation {
 public:
  Simulation(const Machine& machine_, const Software& software_, uint64_t seed,
             uint32_t operator_count, uint32_t port_count, uint32_t worker_count, uint32_t buckets)
      : machine(machine_),
        software(software_),
        system(machine, worker_count, seed, buckets),
        operators(operator_count),
        ports(port_count),
        workers(worker_count),
        touches_(machine_.cores, 0) {
    for (uint32_t i = 0; i < worker_count; ++i) {
      workers[i].id = i;
      enroll(workers[i]);
      bearers_.push_back(&workers[i]);
    }
    final_.kind = FINAL;
    system.make_queue(ready_.idle);
    open_operators = operator_count;
  }
  Simulation(const Simulation&) = delete;
  ~Simulation() {
    delete contexts;
    delete sizes;
  }

  const Machine machine;
  const Software software;
  System system;
  std::deque<Operator> operators;
  std::deque<Port> ports;
  // its own; null: no port is fed from more than one context, whichever queues are on
  millrace::Contexts* contexts = nullptr;
  Sizes* sizes = nullptr;  // its own
  std::deque<Worker> workers;
  std::deque<Mutex> mutexes;
  std::deque<SinkState> sinks;
  std::deque<SourceState> sources;
  std::deque<MergeState> merges;
  std::deque<SplitState> splits;
  std::deque<BarrierState> barriers;
  std::deque<BalanceState> balances;
  std::deque<Profile> profiles;
  std::deque<std::vector<uint64_t>> blocks;
  // Zeroed memory that lives as long as this.
  char* block(size_t bytes) {
    return reinterpret_cast<char*>(blocks.emplace_back(bytes / 8 + 1, 0).data());
  }
  Mutex* make_mutex() {
    Mutex& mutex = mutexes.emplace_back();
    system.make_queue(mutex.queue);
    return &mutex;
  }
  // Tuples are headers here, whatever the slots' size is there.
  static constexpr size_t stride = sizeof(Tuple);
  static constexpr uint32_t payload = 0;
  uint32_t slot_bytes = 64, payload_bytes = 0;
  Tuple* final_punctuation = &final_;
  const Discipline* pool = nullptr;  // of the pool's threads; null: no port is scheduled
  uint32_t own_threads = 0;          // of sources and threaded ports: all but the pool's
  const Policy* policy = nullptr;    // of co-routines, which the pool resumes; null: there are none
  int64_t quantum_ns = 0;            // after which one of them is preempted
  // how long a thread looks for what it waits for before it sleeps; 0 where threads outnumber CPUs
  Time patience = 0;
  uint64_t ring_bytes = 0;  // memory of all queues and merges
  uint64_t filled = 0;      // bytes that were ever put into one
  Word<uint32_t> open_operators;
  uint64_t executed = 0;         // batches, by operators
  uint64_t most_contenders = 1;  // for one cache line at once
  Word<bool> finishing, over;
  Word<bool> failed;   // a merge had too few slots
  Word<bool> gave_up;  // a blocked producer dropped what it had, when the run was cut short
  class Coroutines;
  Coroutines* coroutines = nullptr;  // null: the model has none
  ReadyPorts* ready = nullptr;       // null: no port is scheduled
  void add_ready() { ready = &ready_; }

  // -- for the engine -----------------------------------------------------------------------------

  void start(uint32_t worker);
  // Let virtual time pass up to `until`, or until the run is over, or it has taken `events` more:
  // turns of threads, and batches that operators execute. Returns how many it took. Where the
  // calendar is empty, every thread sleeps and nothing will wake one: time stands still. Throws
  // what a thread's program throws, std::bad_alloc. Then that thread can go on no more, and nothing
  // but reading is left.
  uint64_t run(Time until, uint64_t events);
  void cut();
  void run_out(uint64_t events);
  void set_suspended(uint32_t worker, bool suspended);
  Thread::State state(uint32_t worker) const noexcept { return bearers_[worker]->state; }
  void size_batches();
  void activate(Operator& op, uint32_t outputs);
  void set_replicas(uint32_t op, uint32_t number);
  uint32_t replicas(uint32_t op) const;
  uint32_t living_replicas(uint32_t op);
  void left_in_slots(uint32_t op, std::vector<Tuple>& taken, std::vector<Tuple>& made);
  std::vector<uint64_t> useful_ns() const;
  // Where no thread will be woken any more: which co-routines wait for what. `names`: of operators.
  std::string deadlock(const std::vector<std::string>& names);
  uint64_t full_time(const Port& port) const noexcept;
  // Look what every thread executes, every so often (M19 s3); counts by operator.
  void profile(Time period) {
    profile_period_ = period, next_look_ = system.now + period, looks.assign(operators.size(), 0);
  }
  std::vector<uint64_t> looks;
  uint64_t looked = 0;  // times that it looked at all threads
  TimeUse time_use;     // off, unless somebody asks before the start
  std::vector<TimeUse::Entry> time_spent() const;
  // Fill the queues, in no time (filling.hpp). `shares`: of each port's queue; empty: `all_alike`.
  void fill_queues(const std::vector<std::vector<uint32_t>>& levels,
                   const std::vector<double>& shares, double all_alike);

  // -- for the path of a tuple --------------------------------------------------------------------

  using Count = uint32_t;

  Worker* advance();
  void enroll(Worker& w) {
    w.run = this;
    w.stop.over = &over;
    w.idle.now = w.asleep.now = &system.now;
  }

  // -- coroutine.hpp
  class CoroutineGraph;
  class Crew;
  void make_coroutines();
  void prepare_to_resume(const Worker& w);
  template <class Coroutine>
  static void coroutine_body(Coroutine& self);
  template <class Coroutine>
  void join_replicas(Worker& w, Coroutine& self);
  void make_replicas(uint32_t co);
  void stamp(Worker& w, Port& port, Count count);
  void made_room(Port& port);
  void check_for_preemption(Worker& w);
  void wait_for_room_as_coroutine(Worker& w, Port& port);
  void wait_to_be_given(Worker& w);
  void sleep_as_coroutine(Worker& w, Time until);
  template <class Wait>
  void let_others_run(Worker& w, Wait wait);
  void gave(Operator& op);

  // -- operators.hpp
  void charge(Worker& w, Operator& op, const Tuple* first, Count count);
  void spend(Worker& w, Operator& op, const Tuple* first, Count count);
  void enter_interpreter(Worker& w, Operator& op);
  void leave_interpreter(Worker& w, Operator& op);
  Route* charge_source(Worker& w, Operator& op, Count count);
  Count profiled_output(Operator& source, Count count);
  void compute(Worker& w, const Operator& op, const Tuple* first, Count count);

  // -- filling.hpp
  void pour(const std::vector<uint64_t>& holds, Operator* op, Tuple* first, Count count);
  void make_room(const std::vector<uint64_t>& holds, Port& port, Count count);
  void pour_out(const std::vector<uint64_t>& holds, Route& route, Tuple* first, Count count);

  // -- waiting.hpp
  void spin(Worker& w, uint32_t& round, Port* port);
  void tell_spinning(const Port& port) {
    for (Worker* waiting : port.spinning) system.hasten(*waiting, machine.load[SAME_CHIP]);
  }
  void tell_watching(const Index& index) {
    for (Worker* waiting : index.watching) system.hasten(*waiting, machine.load[SAME_CHIP]);
  }
  // Room for the tuples at the front of a queue, for the thread that works on them.
  Tuple* take_batch() {
    if (free_batches_.empty()) return batches_.emplace_back().data();
    Tuple* batch = free_batches_.back();
    free_batches_.pop_back();
    return batch;
  }
  void give_batch(Tuple* batch) {
    if (batch != nullptr) free_batches_.push_back(batch);
  }

  // -- costs
  void pass(Worker& w) { system.pass(w); }
  void rmw(Worker& w, Line& line, bool cas) noexcept {
    w.waiting += line.rmw(machine, w.core, system.now + system.owed(w), cas, most_contenders);
  }
  // A step of the software around an atomic operation: it takes as long as the step, or as the line
  // is busy.
  void atomic(Worker& w, Line& line, bool cas, uint64_t step) noexcept {
    const Time before = system.owed(w),
               took = line.rmw(machine, w.core, system.now + before, cas, most_contenders);
    w.mixed += step;
    w.waiting += took - std::min(took, system.owed(w) - before);
  }
  void look(Worker& w, Line& line, Count times = 1) noexcept {
    const bool elsewhere = line.is_elsewhere(w.core);
    w.waiting += line.load(machine, w.core) * (elsewhere ? times : 1);
  }
  Count publications(Count count) const noexcept { return software.batch == 1 ? count : 1; }
  void came_from(Worker& w, Count count, const Visit& since);
  void came_from(Worker& w, Ring& ring, Count count) {
    came_from(w, count, ring.filled.since(ring.head(), system.caches, filled));
    ring.worked.note(ring.head(), count, {w.core, system.caches[w.core].used(), filled});
  }
  void copy(Worker& w, Count count, const Visit& since);
  void touch_slots(const Worker& w, Count count, const Visit& since) noexcept;
  bool is_near(const Visit& since) const noexcept;
  bool is_nearest(const Visit& since) const noexcept;
  uint64_t part_beyond(uint64_t age) const noexcept;
  Visit untouched() const noexcept { return {Line::NOBODY, 0, ring_bytes}; }
  void touch(Worker& w, Touch& record, uint64_t bytes);
  void touch_moved(Worker& w, Touch& record, uint64_t bytes);

  Acting acting_{*this, system, machine, software, most_contenders, bearers_, time_use};
  std::vector<Worker*> bearers_;  // by process: the record that the thread is in now
  std::unique_ptr<Coroutines, void (*)(Coroutines*)> coroutines_{nullptr, nullptr};
  ReadyPorts ready_{*this};
  std::deque<std::array<Tuple, MAX_BATCH>> batches_;
  std::vector<Tuple*> free_batches_;
  std::vector<uint64_t> touches_;  // by core: bytes of records that it has used
  Time profile_period_ = 0, next_look_ = NEVER;
  // Until when time passes now, and how many events may have happened by then.
  Time until_ = 0;
  uint64_t turns_ = 0, most_events_ = 0;
  bool ending_ = false;
  Tuple final_{};
  bool listed_ = false;
};

}  // namespace millrace::sim
