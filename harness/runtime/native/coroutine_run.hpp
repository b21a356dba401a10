// coroutine_run.hpp - the co-routines of a run: which operators they are, what they see of its
// ports, what policies see of them.
//
// Each has a Worker of its own, as a thread has, so that the way of a tuple (submit.hpp) is the
// same for both, and no frame on a co-routine's stack keeps anything of the thread that executes
// it. The thread's Worker says which one that is (Worker::executes).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "coroutines.hpp"
#include "deadlock.hpp"
#include "overflow.hpp"
#include "real_platform.hpp"
#include "replicas.hpp"
#include "seen.hpp"
#include "stamps.hpp"
#include "state.hpp"
#include "typed.hpp"

namespace millrace {

// State of a run's ports that co-routines read, and state of co-routines that others read.
struct RunPorts {
  struct Port {
    uint32_t reader = NO_CO;        // null: a thread has it
    std::vector<uint32_t> writers;  // co-routines
    // since when a co-routine has waited for room there; 0: none does, or there is room. And for
    // how long that was so until then
    std::atomic<int64_t> full_since{0};
    std::atomic<uint64_t> full_ns{0};
  };
  // What is known of a co-routine; line by line, since the one that runs writes to its own all the
  // time.
  struct alignas(CACHE_LINE) Of {
    std::vector<uint32_t> inputs, outputs;  // ports
    uint32_t first = NO_CO;                 // of a replica: its operator's own co-routine
    uint32_t batch = 1;                     // tuples that it takes at once, where they are most
    // what it waits for if that is no room at one port: a merge that gets as far as `order`, or a
    // buffer of `balance` that has room
    std::atomic<const MergeState*> merge{nullptr};
    std::atomic<uint32_t> order{0};
    std::atomic<const Operator*> balance{nullptr};
    Performance<RealPlatform> does;
    // by port, where there are several: of one port, `does` has the rate. At a port with several
    // senders, tuples are not counted by sender
    std::vector<PortRate> reads, writes;
  };

  Run* run = nullptr;
  Worker* threads = nullptr;  // of the pool
  Worker* workers = nullptr;  // of co-routines
  uint32_t looks = 0;
  std::unique_ptr<Port[]> ports;
  std::vector<Of> of;
  std::vector<uint32_t> downstream_first;  // co-routines, each behind all that it sends to
  void (*hand_over)(Worker*) = nullptr;
  void (*end_run)(Run*) = nullptr;
  void (*deadlocked)(Run*) = nullptr;
  std::atomic<uint32_t> refused_by_policy{NO_CO};  // the first co-routine whose score was no number
  std::atomic<int64_t> gains_at_ns{0};             // when gains are found again

  uint64_t size(uint32_t port) const { return run->ports[port].ring.size_guess(); }
  uint64_t room(uint32_t port) const {
    return run->ports[port].ring.capacity() - run->ports[port].ring.size_guess();
  }
  bool closed(uint32_t port) const {
    return run->ports[port].unended.load(std::memory_order_acquire) == 0;
  }  // ENDED (submit.hpp)
  uint32_t reader(uint32_t port) const { return ports[port].reader; }
  const std::vector<uint32_t>& writers(uint32_t port) const { return ports[port].writers; }

  bool given(uint32_t co) const {
    if (const MergeState* merge = of[co].merge.load(std::memory_order_relaxed))
      return has_reached(*merge, of[co].order.load(std::memory_order_relaxed));
    const Operator* op = of[co].balance.load(std::memory_order_relaxed);
    return op == nullptr || has_room(*static_cast<const BalanceState*>(op->own), *op,
                                     [this](uint32_t port) { return room(port); });
  }

  // for policies (seen.hpp)
  millrace::Port& port(uint32_t index) const { return run->ports[index]; }
  const std::vector<uint32_t>& inputs(uint32_t co) const { return of[co].inputs; }
  const std::vector<uint32_t>& outputs(uint32_t co) const { return of[co].outputs; }
  uint64_t queued_before(const millrace::Port& port) const { return port.ring.size_guess(); }
  uint64_t queued_behind(const millrace::Port& port) const { return port.ring.size_guess(); }
  Stamps::Stamp stamp_of(const millrace::Port& port) const {
    return port.stamps->at(port.ring.head().load(std::memory_order_relaxed));
  }
  int64_t age_of_none(int64_t scheduled_ns) const { return scheduled_ns; }
  Performance<RealPlatform>& performance(uint32_t co) { return of[co].does; }
  uint64_t taken(uint32_t co) const { return of[co].does.taken.read(); }
  uint64_t pushed(uint32_t co) const { return of[co].does.pushed.read(); }
  uint32_t own(uint32_t co) const { return of[co].first == NO_CO ? co : of[co].first; }
  uint32_t batch(uint32_t co) const { return of[co].batch; }
  uint32_t index(uint32_t co) const { return workers[co].op->index; }
  Seen seen(uint32_t co, int64_t scheduled_ns, uint32_t needed) {
    return see(*this, co, scheduled_ns, needed);
  }
  size_t port_ends() const {
    size_t ends = 0;
    for (const Of& each : of) ends += each.inputs.size() + each.outputs.size();
    return ends;
  }
  void add_ports(uint32_t co, std::vector<SeenPort>& ends) const {
    const Of& each = of[co];
    for (size_t i = 0; i < each.inputs.size(); ++i)
      ends.push_back({size(each.inputs[i]), room(each.inputs[i]),
                      each.reads.empty() ? each.does.reads_per_s : each.reads[i].per_s});
    for (size_t i = 0; i < each.outputs.size(); ++i)
      ends.push_back({size(each.outputs[i]), room(each.outputs[i]),
                      each.writes.empty() || writers(each.outputs[i]).size() > 1
                          ? each.does.writes_per_s
                          : each.writes[i].per_s});
  }
  void measure_ports(uint32_t co, int64_t turn_ns) {
    Of& each = of[co];
    for (size_t i = 0; i < each.reads.size(); ++i)
      each.reads[i].measure(turn_ns,
                            run->ports[each.inputs[i]].ring.head().load(std::memory_order_relaxed));
    for (size_t i = 0; i < each.writes.size(); ++i)
      each.writes[i].measure(
          turn_ns, run->ports[each.outputs[i]].ring.tail().load(std::memory_order_relaxed));
  }

  void refused(uint32_t co) {
    uint32_t none = NO_CO;
    refused_by_policy.compare_exchange_strong(none, co, std::memory_order_relaxed);
    run->failed.store(true, std::memory_order_release);
    end_run(run);
  }

  // Where threads of their own execute ports, one of them may still do something: the engine looks
  // (CoroutineRun::deadlocked).
  void stuck() {
    if (threads == run->workers) deadlocked(run);
  }

  // A sender has found the queue full. If it has room by now, its reader may have looked before:
  // then the sender ends it.
  void full(uint32_t port) {
    int64_t none = 0;
    ports[port].full_since.compare_exchange_strong(none, now_ns(), std::memory_order_seq_cst);
    not_full(port);
  }
  // Tuples were taken, and senders told, one of whom may have filled it again: then it has stayed
  // full.
  void not_full(uint32_t port) {
    if (ports[port].full_since.load(std::memory_order_relaxed) == 0 || room(port) == 0) return;
    const int64_t since = ports[port].full_since.exchange(0, std::memory_order_seq_cst);
    if (since != 0)
      ports[port].full_ns.fetch_add(static_cast<uint64_t>(std::max<int64_t>(now_ns() - since, 0)),
                                    std::memory_order_relaxed);
  }
  void leaves(uint32_t co) { hand_over(&workers[co]); }
  void turn_begins(uint32_t thread, uint32_t co, int64_t now_ns) {
    of[co].does.begins(now_ns);
    Worker& worker = threads[thread];
    worker.executes.store(&workers[co], std::memory_order_relaxed);
    worker.searches.add(1);
    worker.drains.add(1);
  }
  void turn_ends(uint32_t thread, uint32_t co, int64_t began_ns, int64_t now_ns) {
    threads[thread].executes.store(nullptr, std::memory_order_relaxed);
    Performance<RealPlatform>& does = of[co].does;
    does.ends(began_ns, now_ns);
    if ((looks & (RATES | GAIN)) == 0) return;
    does.measure(now_ns - began_ns, workers[co].taken, workers[co].pushed, of[co].outputs.size());
    if ((looks & PORTS) != 0) measure_ports(co, now_ns - began_ns);
    if ((looks & GAIN) == 0) return;
    int64_t due = gains_at_ns.load(std::memory_order_acquire);
    if (now_ns < due ||
        !gains_at_ns.compare_exchange_strong(due, INT64_MAX, std::memory_order_acq_rel))
      return;
    find_gains_of(*this, downstream_first);
    gains_at_ns.store(now_ns + GAINS_EVERY_NS, std::memory_order_release);
  }
  void rests(uint32_t thread, bool suspended) {
    threads[thread].at.store(doing(suspended ? Activity::PAUSE : Activity::TUPLES, 0),
                             std::memory_order_relaxed);
    rest_of(threads[thread], suspended);
  }
  void wakes(uint32_t thread, bool suspended) {
    Worker& worker = threads[thread];
    end_rest_of(worker, suspended);
    worker.at.store(doing(Activity::SEARCH, 0), std::memory_order_relaxed);
    if (!run->over.load(std::memory_order_acquire))
      worker.rest.store(AWAKE, std::memory_order_relaxed);
  }
};

// An operator's replicas, and what is at its ports (replicas.hpp). Punctuation lies in the queue:
// final punctuation is taken out of it here, and ends the stream, window punctuation goes the way
// of tuples.
struct Crew {
  using All = Coroutines<RealPlatform, RunPorts>;
  using Tuple = millrace::Tuple;
  struct Trace {
    int64_t born_ns = 0;  // of the first of them, about; for policies
  };

  RunPorts& ports;
  All& all;
  Port& port;
  void (*deliver)(Worker*, Tuple*, uint32_t);  // tuples or punctuation, downstream
  void (*check)(Worker*, Operator*, Tuple*);   // a tuple that is taken; null: it is checked later
  Operator* op;                                // its own
  uint64_t keys;                               // 0: the operator is stateless
  size_t output_stride;
  std::atomic<bool> closed_{false};  // the last final punctuation has been taken

  uint64_t size() const { return port.ring.size_guess(); }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  size_t front(All::Coroutine& co, size_t most, Tuple** first) {
    for (;;) {
      const size_t count = port.ring.front(most, first);
      if (count > 0 && port.stamps != nullptr)
        ports.workers[co.index].born_ns =
            port.stamps->at(port.ring.head().load(std::memory_order_relaxed)).born_ns;
      if (count == 0 || port.marks.read() == port.marks_taken) return count;
      size_t data = 0;
      while (data < count && slot(*first, port.ring.stride(), data)->kind != FINAL) ++data;
      if (data > 0) return data;
      ++port.marks_taken;
      port.ring.release(1);
      if (--port.open_streams == 0) closed_.store(true, std::memory_order_release);
      taken(co);
    }
  }
  void release(All::Coroutine& co, size_t count) {
    if (check != nullptr) {
      Tuple* first;
      port.ring.front(count, &first);
      for (size_t i = 0; i < count; ++i)
        check(&ports.workers[co.index], op, slot(first, port.ring.stride(), i));
    }
    if (port.marks.read() != port.marks_taken) {
      Tuple* first;
      port.ring.front(count, &first);
      for (size_t i = 0; i < count; ++i)
        port.marks_taken += slot(first, port.ring.stride(), i)->kind != DATA;
    }
    port.ring.release(count);
  }
  void taken(All::Coroutine&) {
    all.read(port.index);
    ports.not_full(port.index);
    if (port.room != nullptr) port.room->wake_one();  // for a thread that sends here
  }
  void copy(All::Coroutine& co, Tuple* to, const Tuple* first, size_t count, size_t stride,
            Trace& trace) const {
    std::memcpy(to, first, count * stride);
    trace.born_ns = ports.workers[co.index].born_ns;
  }
  void fetch(All::Coroutine& co, size_t, const Trace& trace) const {
    ports.workers[co.index].born_ns = trace.born_ns;
  }
  uint32_t bin(Tuple* tuple) const {
    return op->typed == nullptr
               ? bin_of(tuple->sequence, keys)
               : static_cast<uint32_t>(key_hash(*op->typed, payload_of(tuple)) % MOST_BINS);
  }
  void passing(All::Coroutine& co) { ports.hand_over(&ports.workers[co.index]); }
  size_t send(All::Coroutine& co, Tuple* first, size_t count) {
    Worker* worker = &ports.workers[co.index];
    send_in_runs(
        count, [&](size_t i) { return slot(first, output_stride, i); },
        [&](Tuple* run, uint32_t length) { deliver(worker, run, length); });
    return count;  // a run that is over is told to each queue (submit.hpp)
  }
};

class CoroutineRun {
 public:
  using All = Coroutines<RealPlatform, RunPorts>;
  using Replicated = Replicas<All, Crew>;

  // `looks` of the policy decides what is kept track of. The run's ports and workers are there
  // already. The last `replicas` of the co-routines are room for replicas.
  CoroutineRun(Run* run, uint32_t count, uint32_t replicas, uint32_t most_threads,
               uint32_t first_thread, const Policy& policy, int64_t quantum_ns,
               void (*hand_over)(Worker*), void (*deliver)(Worker*, Tuple*, uint32_t),
               void (*check)(Worker*, Operator*, Tuple*), void (*end_run)(Run*),
               void (*deadlocked)(Run*))
      : all_(ports_, count, run->port_count, policy, quantum_ns, replicas),
        threads_(new All::Thread[most_threads]),
        names_(count),
        deliver_(deliver),
        check_(check),
        next_replica_(count - replicas),
        crews_(count),
        places_(count, nullptr) {
    ports_.run = run;
    ports_.threads = run->workers + first_thread;
    ports_.workers = run->co_workers;
    ports_.looks = policy.looks;
    ports_.ports.reset(new RunPorts::Port[run->port_count]);
    ports_.of = std::vector<RunPorts::Of>(count);
    ports_.hand_over = hand_over;
    ports_.end_run = end_run;
    ports_.deadlocked = deadlocked;
    for (uint32_t i = 0; i < most_threads; ++i) {
      threads_[i].index = i;
      threads_[i].chance += 977 * static_cast<uint64_t>(i);
    }
    for (uint32_t i = 0; i < count; ++i) {
      run->co_workers[i].co = i;
      run->co_workers[i].resumed = true;
      all_[i].own = &run->co_workers[i];
      all_[i].body = body;
    }
  }
  ~CoroutineRun() {
    Overflow::forget(this);
    for (uint32_t port = 0; port < ports_.run->port_count; ++port)
      delete ports_.run->ports[port].stamps;
  }

  // -- to build it --------------------------------------------------------------------------------
  void set_name(uint32_t co, const char* name) { names_[co] = name; }
  void add_operator(const char* name) { operators_.emplace_back(name); }  // in the graph's order
  void add_input(uint32_t co, uint32_t port) {
    ports_.of[co].inputs.push_back(port);
    all_[co].inputs.push_back(port);
    ports_.ports[port].reader = co;
  }
  void add_output(uint32_t co, uint32_t port) {
    std::vector<uint32_t>&outputs = ports_.of[co].outputs, &writers = ports_.ports[port].writers;
    if (std::find(outputs.begin(), outputs.end(), port) == outputs.end()) outputs.push_back(port);
    ++all_[co].most_lacking;
    if (writers.empty() || writers.back() != co) writers.push_back(co);
  }
  // Co-routines in an order in which each is told behind all that it sends to.
  void add_to_order(uint32_t co) { ports_.downstream_first.push_back(co); }
  // The operator of a co-routine with one input port may have up to `most` co-routines; by `keys`,
  // 0: it is stateless. After its ports were added.
  void replicate(uint32_t co, uint32_t most, uint64_t keys) {
    Run* run = ports_.run;
    Port& port = run->ports[ports_.of[co].inputs[0]];
    Operator* op = run->co_workers[co].op;
    const size_t output_stride = op->routes[0].stride;
    const ReplicaSizes sizes = sizes_for(most, port.batch.load(std::memory_order_relaxed),
                                         port.ring.stride(), keys, output_stride);
    const bool checked = op->typed != nullptr || op->loop != nullptr;
    OfOperator& crew = crews_[co];
    crew.flow.reset(new Crew{ports_, all_, port, deliver_, checked ? check_ : nullptr, op, keys,
                             output_stride});
    crew.replicas =
        std::make_unique<Replicated>(all_, *crew.flow, sizes, all_[co], &all_[next_replica_]);
    for (uint32_t i = 0; i < most; ++i) {
      const uint32_t index = i == 0 ? co : next_replica_++;
      Worker& worker = run->co_workers[index];
      worker.replica = true;
      all_[index].own = &worker;
      places_[index] = &(*crew.replicas)[i];
      if (i == 0) continue;
      worker.body = run->co_workers[co].body;
      worker.run = run;
      worker.op = &run->replica_operators[run->replica_count++];
      copy(*worker.op, *run->co_workers[co].op);
      names_[index] = names_[co];
      RunPorts::Of& of = ports_.of[index];
      of.inputs = ports_.of[co].inputs, of.outputs = ports_.of[co].outputs, of.first = co;
      all_[index].most_lacking = all_[co].most_lacking;
    }
  }
  // `users_code`: functions of users run on these stacks.
  bool begin(size_t stack_bytes, bool users_code) {
    for (uint32_t co = 0; co < all_.count(); ++co) {
      RunPorts::Of& of = ports_.of[co];
      if (of.first != NO_CO) continue;
      if ((ports_.looks & PORTS) != 0 && of.inputs.size() > 1) of.reads.resize(of.inputs.size());
      if ((ports_.looks & PORTS) != 0 && of.outputs.size() > 1) of.writes.resize(of.outputs.size());
      for (const uint32_t port : of.inputs) {
        of.batch =
            std::max(of.batch, ports_.run->ports[port].batch.load(std::memory_order_relaxed));
        if ((ports_.looks & TIMES) != 0)
          ports_.run->ports[port].stamps = new Stamps(ports_.run->ports[port].ring.capacity());
      }
    }
    if (!all_.begin(stack_bytes, users_code ? STACK_REACH : 1)) return false;
    for (uint32_t co = 0; co < all_.count(); ++co) {
      for (size_t i = 0; i < ports_.of[co].inputs.size(); ++i)
        all_[co].need[i].store(1, std::memory_order_relaxed);
    }
    Overflow::watch(this, all_.stacks(), names_);
    return true;
  }

  // -- threads ------------------------------------------------------------------------------------
  void prepare_thread(uint32_t thread) { all_.prepare(threads_[thread]); }
  void work(uint32_t thread) {
    const Overflow::Stack stack;
    all_.work(threads_[thread]);
  }
  void suspend(uint32_t thread, bool suspended) { all_.suspend(threads_[thread], suspended); }
  bool somebody_ready() { return all_.somebody_ready(); }
  bool judging(uint32_t thread) const {
    return threads_[thread].judging.load(std::memory_order_relaxed);
  }
  void end() { all_.end(); }
  // The operator of which the policy's score was no number; null: there is none.
  const Operator* refused_by_policy() const {
    const uint32_t co = ports_.refused_by_policy.load(std::memory_order_relaxed);
    return co == NO_CO ? nullptr : ports_.workers[co].op;
  }

  // Any thread. True if the run is stuck; then deadlock() describes what waits for what.
  bool find_deadlock() {
    const std::lock_guard lock(telling_);
    if (!deadlock_.empty()) return true;
    // a run that is being ended has stopped its sources, and then its co-routines (end_run)
    if (!all_.is_stuck() || ports_.run->over.load(std::memory_order_acquire)) return false;
    const auto owner = [&](uint32_t port) { return operators_[ports_.run->ports[port].op->index]; };
    const auto input = [&](uint32_t port) { return ports_.run->ports[port].input; };
    deadlock_ = who_waits(all_, ports_, [&](uint32_t co) { return names_[co]; }, input, owner);
    return true;
  }
  // Whether co-routines and the threads of threaded ports have all come to a halt, as far as one
  // look can tell.
  bool seems_deadlocked() {
    for (const Worker* worker = ports_.run->workers; worker != ports_.threads; ++worker) {
      if (!worker->thread.done() && executed_by(worker->at.load(std::memory_order_relaxed)) != 0)
        return false;
    }
    return all_.is_stuck();
  }
  // One line; empty: no deadlock was found.
  std::string deadlock() {
    const std::lock_guard lock(telling_);
    return deadlock_;
  }

  // -- replicas: of the operator whose own co-routine is `co` -------------------------------------
  bool replicated(uint32_t co) const { return crews_[co].replicas != nullptr; }
  size_t replica_bytes(uint32_t co) const noexcept { return crews_[co].replicas->bytes(); }
  void prepare_replicas(uint32_t co) { crews_[co].replicas->prepare(); }
  void set_replicas(uint32_t co, uint32_t number) noexcept { crews_[co].replicas->set(number); }
  uint32_t replicas(uint32_t co) const { return crews_[co].replicas->wanted(); }
  uint32_t living(uint32_t co) { return crews_[co].replicas->living(); }
  // When the threads have ended: calls `taken` for each tuple that was taken and not worked on,
  // `made` for each that waits to be sent.
  void left_in_slots(uint32_t co, void (*taken)(Tuple*, void*), void (*made)(Tuple*, void*),
                     void* argument) {
    crews_[co].replicas->left_behind([&](Tuple* tuple) { taken(tuple, argument); },
                                     [&](Tuple* tuple) { made(tuple, argument); });
  }

  // -- ports: anybody -----------------------------------------------------------------------------
  void written(uint32_t port) { all_.written(port); }
  void written_by_one_of(uint32_t port) { all_.written_by_one_of(port); }
  void taken(uint32_t port) {
    all_.read(port);
    ports_.not_full(port);
  }
  // Its co-routine has given back slots of a queue: there is room for a co-routine that waits for
  // it, or a thread.
  void gave_room(Port* port) {
    taken(port->index);
    if (port->room != nullptr) port->room->wake_one();
  }
  // Time until now [ns] for which a co-routine was executed, and for which senders found a queue
  // full.
  uint64_t useful_ns(uint32_t co, int64_t now_ns) const {
    return ports_.of[co].does.useful_ns(now_ns);
  }
  uint64_t full_ns(uint32_t port, int64_t now_ns) const {
    const int64_t since = ports_.ports[port].full_since.load(std::memory_order_relaxed);
    const uint64_t open =
        since == 0 ? 0 : static_cast<uint64_t>(std::max<int64_t>(now_ns - since, 0));
    return ports_.ports[port].full_ns.load(std::memory_order_relaxed) + open;
  }
  void gave(uint32_t co) { all_.gave(co); }
  // Other buffers of a balancing operator, which sends to the port, are active; told by the
  // engine's thread.
  void buffers_changed(uint32_t port) {
    all_.from_outside([&] { taken(port); });
  }

  // -- for co-routines, on their own stacks: `worker` is theirs -----------------------------------
  // Waits for a tuple at an open port, or the end.
  bool wait(Worker* worker) {
    return !worker->stop.load(std::memory_order_acquire) &&
           all_.wait(all_[worker->co], WaitMode::ANY) == Waited::DONE;
  }
  void need(Worker* worker, uint32_t i, uint32_t count) {
    all_[worker->co].need[i].store(count, std::memory_order_relaxed);
  }
  // Waits for the tuples that it needs, or the end.
  void wait_for(Worker* worker, bool any) {
    all_.wait(all_[worker->co], any ? WaitMode::ANY : WaitMode::ALL);
  }
  uint32_t inputs(Worker* worker) const {
    return static_cast<uint32_t>(ports_.of[worker->co].inputs.size());
  }
  Port* input(Worker* worker, uint32_t i) const {
    return &ports_.run->ports[ports_.of[worker->co].inputs[i]];
  }
  // Returns true: the co-routine need not look there again.
  bool close_input(Worker* worker, uint32_t i) {
    need(worker, i, 0);
    return true;
  }
  // The port is one whose room the next wait_for_any_room is for.
  void lack(Worker* worker, uint32_t port) {
    ports_.full(port);
    all_.lack(all_[worker->co], port);
  }
  void wait_for_any_room(Worker* worker) { all_.wait_for_any(all_[worker->co]); }
  void wait_for_merge(Worker* worker, const MergeState* merge, uint32_t order) {
    RunPorts::Of& of = ports_.of[worker->co];
    of.order.store(order, std::memory_order_relaxed);
    of.merge.store(merge, std::memory_order_relaxed);
    all_.lack(all_[worker->co], All::OTHER);
    all_.wait_for_any(all_[worker->co]);
    of.merge.store(nullptr, std::memory_order_relaxed);
  }
  void wait_for_buffers(Worker* worker, const Operator* balance) {
    RunPorts::Of& of = ports_.of[worker->co];
    of.balance.store(balance, std::memory_order_relaxed);
    all_.lack(all_[worker->co], All::OTHER);
    all_.wait_for_any(all_[worker->co]);
    of.balance.store(nullptr, std::memory_order_relaxed);
  }
  void sleep_until(Worker* worker, int64_t time_ns) { all_.sleep_until(all_[worker->co], time_ns); }
  void check_for_preemption(Worker* worker) { all_.check_for_preemption(all_[worker->co]); }
  void on_thread(Worker* worker, void (*call)(void*), void* argument) {
    all_.on_thread(all_[worker->co], call, argument);
  }

  // -- for co-routines of operators that may have several -----------------------------------------
  Tuple* take(Worker* worker, uint32_t* count) {
    Replicated::Replica& replica = *places_[worker->co];
    size_t got = 0;
    Tuple* first = replica.all->take(replica, &got);
    *count = static_cast<uint32_t>(got);
    return first;
  }
  // Of what it takes.
  size_t stride(Worker* worker) const { return input(worker, 0)->ring.stride(); }
  // Whether there may be window punctuation among what it has taken: it can tell only where it
  // works on tuples in the queue.
  bool marked(Worker* worker) const {
    const Replicated::Replica& replica = *places_[worker->co];
    const Port& port = ports_.run->ports[ports_.of[worker->co].inputs[0]];
    return replica.in_place == 0 || port.marks.read() != port.marks_taken;
  }
  // Whether what it sends goes downstream at once.
  bool first(Worker* worker) const { return places_[worker->co]->first; }
  // Sends when that is the case, or holds it back until then; how many of them: fewer only when the
  // run is over.
  uint32_t send(Worker* worker, Tuple* first, uint32_t count) {
    Replicated::Replica& replica = *places_[worker->co];
    return static_cast<uint32_t>(replica.all->send(replica, first, count));
  }
  bool ends(Worker* worker) const { return places_[worker->co]->all->ends(*places_[worker->co]); }

 private:
  struct OfOperator {
    std::unique_ptr<Crew> flow;
    std::unique_ptr<Replicated> replicas;
  };
  // A replica's record of its operator: the same operator, whose counts begin at 0.
  static void copy(Operator& to, const Operator& from) {
    to.kernel = from.kernel, to.factor = from.factor, to.routes = from.routes, to.cost = from.cost;
    to.outputs = from.outputs, to.index = from.index, to.mark = from.mark, to.copies = from.copies,
    to.chosen = from.chosen;
    to.drops = from.drops, to.own = from.own, to.control = from.control;
  }

  static void body(All::Coroutine& self) {
    Worker* worker = static_cast<Worker*>(self.own);
    worker->body(worker);
  }

  RunPorts ports_;
  All all_;
  std::unique_ptr<All::Thread[]> threads_;
  std::vector<std::string> names_;      // of co-routines
  std::vector<std::string> operators_;  // names
  std::mutex telling_;
  std::string deadlock_;  // under the lock
  void (*deliver_)(Worker*, Tuple*, uint32_t);
  void (*check_)(Worker*, Operator*, Tuple*);
  uint32_t next_replica_;
  std::vector<OfOperator> crews_;             // by co-routine; most have none
  std::vector<Replicated::Replica*> places_;  // by co-routine
};

}  // namespace millrace
