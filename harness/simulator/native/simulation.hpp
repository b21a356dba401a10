// simulation.hpp - a graph on a described machine: the algorithms of harness/runtime/ executed by
// virtual threads.
//
//   submit.hpp     the one path of a tuple to a port: execute, deliver, send, push, punctuation
//   dynamic.hpp    scheduler threads: the list of ports, drains, reschedule, suspension; P17's own
//                  way of finding work
//   dedicated.hpp  threaded ports: who sleeps when, and who wakes them
//   coroutine.hpp  operators as co-routines: the scheduler of
//                  harness/runtime/native/coroutines.hpp, on virtual threads; what that sees of a
//                  graph is in coroutine_graph.hpp, and replicas of operators in crew.hpp
//   disciplines.hpp  what each kind of queue means to a tuple
//   operators.hpp  kinds of operators; sources
//   modes.hpp      queues that come and go
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
#include "virtual_platform.hpp"

namespace millrace::sim {

class Simulation;

// Lines of the runtime's records (harness/runtime/native/state.hpp): what a call uses of an
// operator, a producer and a consumer of a port.
inline constexpr uint64_t OPERATOR_BYTES = 64, PRODUCER_BYTES = 192, CONSUMER_BYTES = 192;

// What a kind of queue means to those who send to a port and to the threads that execute it
// (disciplines.hpp).
struct Discipline {
  bool pooled;   // the pool executes its ports, whose queues may be switched off
  bool resumed;  // a co-routine executes it, which the pool resumes
  void (Simulation::*body)(Worker&);                // of the threads that execute its ports
  void (Simulation::*published)(Worker&, Target&);  // what follows a publication
  void (Simulation::*wait_for_room)(Worker&, Port&,
                                    uint32_t& round);  // a round of waiting before a full queue
};

class Simulation {
 public:
  static const Discipline threaded, scheduled, resumed;

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
      bearers_.push_back(&workers[i]);
    }
    system.make_queue(idle_);
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
  millrace::Contexts* contexts =
      nullptr;  // its own; null: no port is fed from more than one context, whatever queues are on
  Sizes* sizes = nullptr;  // its own
  std::deque<Worker> workers;
  std::deque<Mutex> mutexes;
  std::deque<Histogram> histograms;  // of sinks
  Mutex* make_mutex() {
    Mutex& mutex = mutexes.emplace_back();
    system.make_queue(mutex.queue);
    return &mutex;
  }
  void add_histogram(Operator& sink) { sink.latency = &histograms.emplace_back(); }
  uint32_t stride = 64, payload = 0;
  const Discipline* pool = nullptr;  // of the pool's threads; null: no port is scheduled
  uint32_t own_threads = 0;          // of sources and threaded ports: all but the pool's
  const Policy* policy = nullptr;    // of co-routines, which the pool resumes; null: there are none
  int64_t quantum_ns = 0;            // after which one of them is preempted
  Time patience =
      // how long a thread looks for what it waits for before it sleeps; 0 where threads outnumber
      // CPUs
      0;
  uint64_t ring_bytes = 0;  // memory of all queues and merges
  uint64_t filled = 0;      // bytes that were ever put into one
  uint32_t open_operators = 0;
  uint64_t executed = 0;         // batches, by operators
  uint64_t most_contenders = 1;  // for one cache line at once
  bool finishing = false, over = false;

  // -- for the engine -----------------------------------------------------------------------------

  void start(uint32_t worker);
  // Let virtual time pass up to `until`, or until the run is over, or it has taken `events` more:
  // turns of threads, and batches that operators execute. Returns how many it took. Where the
  // calendar is empty, every thread sleeps and nothing will wake one: time stands still. Throws
  // what a thread's program throws, std::bad_alloc. Then that thread can go on no more, and nothing
  // but reading is left.
  uint64_t run(Time until, uint64_t events);
  void end_run();
  void cut();
  void run_out(uint64_t events);
  void suspend(uint32_t worker, bool suspended);
  Thread::State state(uint32_t worker) const noexcept { return bearers_[worker]->state; }
  void want(Port& port, bool called);
  void choose_sizes();
  void set_active(Operator& op, uint32_t active);
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
  // Fill the queues, in no time (filling.hpp).
  void fill(const std::vector<std::vector<uint32_t>>& levels, uint32_t percent);

 private:
  friend struct CopyProbe;

  using Count = uint32_t;

  Worker* advance();

  // -- submit.hpp
  void execute(Worker& w, Operator* op, Tuple* first, Count count);
  void deliver(Worker& w, Route& route, Tuple* first, Count count);
  void deliver_now(Worker& w, Route& route, Tuple* first, Count count);
  void deliver_every(Worker& w, Route& route, Tuple* first, Count count, Count every);
  void send(Worker& w, Target& target, Tuple* first, Count spacing, Count count, Tuple* scratch);
  void call(Worker& w, Target& target, Tuple* first, Count spacing, Count count, Tuple* scratch);
  void push(Worker& w, Target& target, Tuple* first, Count spacing, Count count, Tuple* scratch);
  Count put(Worker& w, Target& target, Tuple* first, Count spacing, Count count, bool waited);
  Count push_ring(Worker& w, Port& port, const Tuple* first, Count spacing, Count count,
                  uint32_t path_step);
  void give_up(Worker& w, Port& port, const Tuple* first, Count spacing, Count count);
  void take(Worker& w, Port& port, Tuple* first, Count count);
  void take_mark(Worker& w, Port& port, Tuple* mark);
  void pass_mark(Worker& w, Operator& op, Tuple mark);
  void pass_mark_now(Worker& w, Operator& op, Tuple mark);
  void receive_mark(Worker& w, Operator& op, Tuple mark);
  void end_stream(Worker& w, Operator& op);
  void send_final(Worker& w, Operator& op);
  void close_operator(Worker& w, Operator* op);
  void acquire(Worker& w, Mutex& mutex);
  void unlock(Worker& w, Mutex& mutex);
  void hand_over(Worker& w);

  // -- dynamic.hpp
  void scheduler_body(Worker& w);
  Port* next_port(Worker& w);
  Port* walk(Worker& w);
  uint64_t drain(Worker& w, Port& port, uint64_t most, bool yielding);
  void reschedule(Worker& w, Port& port, uint32_t& round);
  void wait_a_little(Worker& w, uint32_t& round, Port* port = nullptr);
  void suspend(Worker& w);
  void release(Worker& w, Port& port);
  void look_again(Worker& w, Port& port);
  void tuples_ready(Worker& w, Target& target);
  void announce(Worker& w);
  void put_on_list(Worker& w, Port& port);
  void push_list(Worker& w, uint32_t port);
  uint32_t pop_list(Worker& w);
  void wake_idle(Worker& w);
  bool try_flag(Worker& w, Flag& flag);
  void drop_flag(Worker& w, Port& port, Flag& flag);
  void tell_spinning(Port& port);

  // -- dedicated.hpp
  void port_body(Worker& w);
  void wait_for_tuples(Worker& w, Port& port);
  void wait_for_room(Worker& w, Port& port, uint32_t& round);
  void sleep_for_room(Worker& w, Port& port);
  void tuples_published(Worker& w, Target& target);
  void announce_sleep(Worker& w, WaitQueue& queue);
  void wake_one(Worker& w, WaitQueue& queue);
  void wake_producer(Worker& w, Port& port);
  void wake_owed(Worker& w);

  // -- coroutine.hpp
  class CoroutineGraph;
  class Crew;
  class Coroutines;
  void make_coroutines();
  void prepare_to_resume(const Worker& w);
  void resuming_body(Worker& w);
  template <class Coroutine>
  static void coroutine_body(Coroutine& self);
  template <class Coroutine>
  void operator_loop(Worker& w, Coroutine& self);
  template <class Coroutine>
  void join_replicas(Worker& w, Coroutine& self);
  void replica_loop(Worker& w);
  void make_replicas(uint32_t co);
  bool is_first(const Worker& w) const noexcept;
  void hold_back(Worker& w, Tuple* first, Count count);
  static uint64_t barrier_room(const Port& port) noexcept;
  void tuples_resumable(Worker& w, Target& target);
  void another_sender(Worker& w, Port& port);
  void announce_to_coroutine(const Port& port);
  void stamp(Worker& w, Port& port, Count count);
  void count_pushed(const Worker& w, Count count);
  void source_has_sent(Worker& w, const Tuple* first, Count count);
  void made_room(Worker& w, Port& port);
  void wait_to_resume(Worker& w, Port& port, uint32_t& round);
  void wait_for_room_as_coroutine(Worker& w, Port& port);
  void wait_to_be_given(Worker& w, const Operator& op);
  void sleep_as_coroutine(Worker& w, Time until);
  template <class Wait>
  void leave(Worker& w, Wait wait);
  void gave(Operator& op);

  // -- operators.hpp
  void source_body(Worker& w);
  Count due(Worker& w, Operator& source, Count most);
  void kernel(Worker& w, Operator& op, Tuple* first,
              Count count);  // of those that deliver, keep or drop tuples themselves
  void round_robin(Worker& w, Operator& op, Tuple* first, Count count);
  void split(Worker& w, Operator& op, Tuple* first, Count count);
  void filter(Worker& w, Operator& op, Tuple* first, Count count);
  void pass_on(Worker& w, Operator& op, Tuple* first, Count count);
  void merge(Worker& w, Operator& op, Tuple* first, Count count);
  void pass_on_waiting(Worker& w, Operator& op);
  void barrier(Worker& w, Operator& op, Tuple* first, Count count);
  void typed(Worker& w, Operator& op, Tuple* first, Count count);
  Count typed_output(Operator& source, Count count);
  void send_complete(Worker& w, Operator& op);
  void end(Worker& w, Operator& barrier);
  void input_ended(Worker& w, Operator& barrier);
  static void check(Operator& op, std::vector<uint64_t>& next_of_path, const Tuple* first,
                    Count count);
  void balance(Worker& w, Operator& op, Tuple* first, Count count);
  void compute(Worker& w, const Operator& op, const Tuple* first, Count count);
  void sink(Worker& w, Operator& op, const Tuple* first, Count count);
  static void check(Operator& op, const Tuple* first, Count count, Time now);
  void make(Operator& source, Tuple& tuple);
  static bool chooses(const Operator& op) noexcept {
    return op.kind == SPLIT || op.kind == FILTER || op.kind == MERGE || op.kind == BARRIER ||
           op.kind == BALANCE || op.kind == TYPED || !op.all ||
           (op.routes.size() > 1 && op.kind != SOURCE);
  }

  // -- filling.hpp
  void pour(const std::vector<uint8_t>& holds, Operator* op, Tuple* first, Count count);
  void make_room(const std::vector<uint8_t>& holds, Port& port, Count count);
  void pour_out(const std::vector<uint8_t>& holds, Route& route, Tuple* first, Count count);

  // -- modes.hpp
  bool call_instead(Worker& w, Target& target, Tuple* first, Count spacing, Count count,
                    Tuple* scratch);
  void switch_on(Port& port);
  void switch_off(Worker& w, Port& port);
  void change_contexts(uint32_t queue, bool on);

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
    came_from(w, count, ring.filled.since(ring.head, system.caches, filled));
    ring.worked.note(ring.head, count, {w.core, system.caches[w.core].used(), filled});
  }
  void copy(Worker& w, Count count, const Visit& since);
  void touch_slots(const Worker& w, Count count, const Visit& since) noexcept;
  bool is_near(const Visit& since) const noexcept;
  bool is_nearest(const Visit& since) const noexcept;
  uint64_t part_beyond(uint64_t age) const noexcept;
  Visit untouched() const noexcept { return {Line::NOBODY, 0, ring_bytes}; }
  void touch(Worker& w, Touch& record, uint64_t bytes);
  void touch_moved(Worker& w, Touch& record, uint64_t bytes);
  void idle(Worker& w, bool begins) noexcept { w.idle(begins, system.now); }

  Acting acting_{*this, system, machine, software, most_contenders, bearers_};
  std::vector<Worker*> bearers_;  // by process: the record that the thread is in now
  std::unique_ptr<Coroutines, void (*)(Coroutines*)> coroutines_{nullptr, nullptr};
  List list_;
  std::vector<uint64_t> touches_;  // by core: bytes of records that it has used
  WaitQueue idle_;                 // scheduler threads without a port
  bool waking_ =
      false;  // one of them has been woken and has not looked yet: until then no other is
  Time profile_period_ = 0, next_look_ = NEVER;
  // Until when time passes now, and how many events may have happened by then.
  Time until_ = 0;
  uint64_t turns_ = 0, most_events_ = 0;
  bool ending_ = false;
  bool listed_ = false;
};

}  // namespace millrace::sim
