// system.hpp - the operating system of the described machine: which virtual thread has which CPU,
// and what it costs to change that.
//
//   run queues   one a CPU (run_queue.hpp). Preemption happens where a thread is between two steps
//                of its program: a step ends once it is longer than LONGEST_STEP, so with the
//                batch, or the one tuple, that takes it there.
//   wake-up      on the CPU where the thread ran last, or the one before that, if it is idle; else
//                near there, or near the waker's CPU if less is to do there: on an idle core of
//                that socket, else on an idle CPU of a busy core, but newer kernels do not look
//                where the socket is busy (SIS_UTIL); else it queues there, and may preempt the
//                running thread
//   busy CPU     looks every now and then whether another one of its core, or of those that share
//                its cache, has more to do, and takes a thread: of three on two CPUs it is not
//                always the same one that has a CPU to itself
//   idle CPU     takes a thread that waits elsewhere, near first, unless that has run within the
//                time for which Linux takes its cache to be hot; then the CPU stays idle, and looks
//                again at the next tick
//   speed        hardware threads share a core and cores share a socket's power: by how many are
//                busy (occupancy.hpp) when a step begins. A change takes effect with the next step.
//   futexes      (futexes.hpp) waits and wake-ups on one of them hold the lock of its hash bucket,
//                and spin for it (CPU time)
//
// Not modelled: interrupts, other processes, affinity by hand, page migration, hyper-visors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "calendar.hpp"
#include "footprint.hpp"
#include "futexes.hpp"
#include "machine.hpp"
#include "occupancy.hpp"
#include "run_queue.hpp"
#include "thread.hpp"

namespace millrace::sim {

class System {
 public:
  static constexpr Time LONGEST_STEP = 100 * MICROSECOND;
  static constexpr size_t STACK_REACH = 16 << 10;  // no frame is larger: a guard is never missed
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static constexpr size_t FRAMES = 8;  // as large as they are without sanitizers
#else
  static constexpr size_t FRAMES = 1;
#endif

  System(const Machine& machine, uint32_t processes, uint64_t seed, uint32_t buckets)
      : calendar(processes + 1),
        balancer(processes),
        caches(machine.cores, Footprint(machine.l2)),
        machine_(machine),
        cpus_(machine.cpus()),
        memory_free_at_(machine.sockets),
        occupancy_(machine),
        futexes_(machine, buckets),
        random_(seed) {
    for (RunQueue& cpu : cpus_) {
      for (const Domain& domain : machine.domains) {
        cpu.balances.push_back({random() % domain.every});
        cpu.balance_at = std::min(cpu.balance_at, cpu.balances.back().at);
      }
    }
  }

  Calendar calendar;
  const uint32_t balancer;  // a process of our own: idle CPUs look again for threads that wait
  std::vector<Footprint> caches;  // by core: the slots that it has touched
  Time now = 0;
  size_t stack_bytes = FRAMES * (64 << 10);  // of each thread
  // Programs call themselves, for operators behind each other: room for all of that.
  void nest(size_t bytes) noexcept { stack_bytes += FRAMES * bytes; }

  // -- for the programs of threads ----------------------------------------------------------------

  // What the thread has spent, as time on its core as busy as that is now.
  Time owed(const Thread& thread) const noexcept {
    const uint64_t clock =
        Machine::at(machine_.slow_clock, occupancy_.busy_cores(socket_of(thread)));
    const uint32_t busy = occupancy_.busy_cpus(thread.core);
    const uint64_t fp = thread.fp * Machine::at(machine_.slow_fp, busy) >> Machine::SHIFT;
    const uint64_t mixed = thread.mixed * Machine::at(machine_.slow_mixed, busy) >> Machine::SHIFT;
    return ((fp + mixed) * clock >> Machine::SHIFT) + thread.waiting;
  }

  // The same, which the thread owes no more.
  Time take_owed(Thread& thread) noexcept {
    const Time time = owed(thread);
    thread.fp = thread.mixed = thread.waiting = 0;
    return time;
  }

  // The thread makes a call of the system, of so many mixed instructions at the highest clock.
  void make_call(Thread& thread, uint64_t mixed) noexcept {
    const Time before = owed(thread);
    thread.mixed += mixed;
    kernel_time_ += owed(thread) - before;
  }

  // Let the time pass that the thread has spent.
  void pass(Thread& thread) {
    if (!thread.owes()) return;
    calendar.schedule(thread.id, now + take_owed(thread));
    suspend(thread);
  }

  // Give the CPU away until another thread wakes this one, or until then.
  void sleep(Thread& thread, Time until = NEVER) { sleep(thread, until, machine_.sleep); }
  // The same in a queue, where wake_one() finds it from now on. A thread that wakes because it is
  // time takes itself out.
  void sleep_in(Thread& thread, WaitQueue& queue, Time until = NEVER) {
    queue.sleepers.push_back(&thread);
    sleep(thread, until, machine_.sleep + futexes_.hold(queue, now, now));
  }

  // Let another thread have the CPU, if one waits for it.
  void yield(Thread& thread) {
    RunQueue& cpu = cpus_[thread.cpu];
    const bool any_waits = !cpu.empty();
    if (!any_waits && !cpu.any_lingers()) return;
    cpu.account(thread, now);
    cpu.yield(machine_, thread, now);
    if (any_waits) {
      leave(thread, Thread::RUNNABLE);
      suspend(thread);
    } else {  // a thread that lingers counts as waiting, and leaves
      cpu.pick(now, &thread);
    }
  }

  // Keep the CPU until then, or until hasten().
  void spin(Thread& thread, Time until) {
    thread.spinning = true;
    calendar.schedule(thread.id, until);
    suspend(thread);
    thread.spinning = false;
  }
  void hasten(Thread& thread, Time latency) {
    const Time then = now + latency;
    if (thread.spinning && thread.state == Thread::RUNNING && then < calendar.when(thread.id))
      calendar.schedule(thread.id, then);
  }

  // `cpu`: where a thread begins that finds no idle one; NONE: on the next one.
  void start(Thread& thread, std::function<void()> program, uint32_t cpu = Occupancy::NONE) {
    if (!thread.memory.reserve(1, stack_bytes, STACK_REACH)) throw std::bad_alloc();
    // Stacks begin at different places in their pages: else what is hot of all of them would share
    // a few sets of a cache.
    const size_t unused = thread.id % (PAGE / LINE) * LINE;
    thread.program = std::move(program);
    thread.own_stack.begin(thread.memory.stack(0), thread.memory.bytes() - unused, execute,
                           &thread);
    thread.stack = &thread.own_stack;
    thread.cpu = cpu != Occupancy::NONE ? cpu : occupancy_.spread();
    thread.core = machine_.core_of(thread.cpu);
    thread.state = Thread::ASLEEP;
    wake(thread, thread.cpu);
  }

  // Wake one of those that sleep in the queue, once the caller has come to it; the caller pays.
  // Returns whether there was one.
  bool wake_one(Thread& caller, WaitQueue& queue) {
    if (queue.sleepers.empty()) return false;
    const Time waits = futexes_.hold(queue, now + owed(caller), now);
    caller.waiting += waits;
    kernel_time_ += waits;
    Thread* sleeper = queue.sleepers.front();
    queue.sleepers.pop_front();
    const bool told = wake(*sleeper, caller.cpu, owed(caller));
    make_call(caller, told                         ? machine_.wake_caller
                      : sleeper->cpu == caller.cpu ? machine_.wake_queued
                                                   : machine_.wake_elsewhere);
    return true;
  }
  void make_queue(WaitQueue& queue) noexcept {
    queue.bucket = static_cast<uint32_t>(random() % futexes_.buckets());
  }

  // Wakes a sleeper; `from`: the waker's CPU; `later`: when it comes to that. Where the sleeper has
  // to wait for a CPU it does so from now on. Returns whether another CPU had to be told.
  bool wake(Thread& thread, uint32_t from, Time later = 0) {
    if (thread.state != Thread::ASLEEP) return false;
    calendar.cancel(thread.id);
    thread.waits_since = now;
    if (thread.lingers) {  // in its run queue still: it goes on there
      RunQueue& cpu = cpus_[thread.cpu];
      change_runnable(thread, cpu, 1);
      cpu.wake(machine_, thread, now);
      one_more_waits();
      return waits_after(cpu, thread, from, later);
    }
    const uint32_t target = choose(thread, from);
    RunQueue& cpu = cpus_[target];
    if (cpus_[thread.cpu].running != nullptr)
      thread.before = thread.cpu;  // as Linux does: recent_used_cpu
    move(thread, target);
    change_runnable(thread, cpu, 1);
    cpu.admit(machine_, thread, now);
    if (cpu.running == nullptr) {
      const Time idle = now + later - std::min(now + later, cpu.idle_since);
      const Time awake = later + jitter(machine_.wake) + machine_.idle_exit(idle),
                 call = calling(cpu);
      occupy(
          cpu, thread, target,
          call == 0 ? awake : std::max(awake, call + machine_.switch_time + refill(thread, target)),
          awake);
      return true;
    }
    enqueue(cpu, thread);
    return waits_after(cpu, thread, from, later);
  }

  // -- for the engine -----------------------------------------------------------------------------

  // Let programs go on, one after the other. `next` lets time pass up to an event at which one
  // does, and returns its thread; null: that is all. Throws what a program or `next` throws.
  void simulate(std::function<Thread*()> next) {
    next_ = std::move(next);
    simulating_.adopt_thread();
    const Thread* first = next_();
    if (first != nullptr) simulating_.switch_to(*first->stack, this);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // A thread's event has come. Returns whether its program goes on: it may lose its CPU first.
  bool act(Thread& thread) {
    if (thread.state == Thread::ASLEEP) {  // a timer
      wake(thread, thread.cpu);
      return false;
    }
    RunQueue& cpu = cpus_[thread.cpu];
    cpu.account(thread, now);
    if (now >= cpu.balance_at) even_out(cpu, thread.cpu);
    if (cpu.gives_way(machine_, thread, now)) {
      leave(thread, Thread::RUNNABLE);
      return false;
    }
    if (cpu.interrupt > 0 && cpu.preempt_at == NEVER) {  // told, and keeps its CPU
      const Time interrupt = std::exchange(cpu.interrupt, 0);
      kernel_time_ += interrupt;
      calendar.schedule(thread.id, now + interrupt);
      return false;
    }
    return true;
  }
  // Call what may throw, on a thread's stack, which no exception can leave: simulate() throws it,
  // and the thread never goes on.
  template <class Program>
  void guard(Thread& thread, Program program) {
    try {
      program();
      return;
    } catch (...) {
      failure_ = std::current_exception();
    }
    for (;;) thread.stack->switch_to(simulating_, this);
  }

  // The thread `from`, which runs, goes on as `to`.
  void become(Scheduled& from, Thread& to) noexcept {
    static_cast<Scheduled&>(to) = from;
    from.state = Thread::NEW;
    from.fp = from.mixed = from.waiting = 0;
    cpus_[to.cpu].running = &to;
  }

  // Idle CPUs look again for threads that wait elsewhere.
  void balance() {
    calendar.cancel(balancer);
    for (uint32_t number = 0; number < cpus_.size() && queued_ > 0; ++number) {
      RunQueue& cpu = cpus_[number];
      if (cpu.running != nullptr) continue;
      Thread* thread = steal(number);
      if (thread == nullptr) break;
      cpu.admit(machine_, *thread, now);
      occupy(cpu, *thread, number, calling(cpu) + changing(*thread, number), 0);
    }
  }

  uint32_t busy_cores() const noexcept { return std::max(occupancy_.busy_cores(), 1u); }
  // Bytes of the L3 caches with a busy core.
  uint64_t busy_l3() const noexcept { return machine_.l3 * std::max(occupancy_.busy_l3s(), 1u); }
  uint64_t switches() const noexcept { return switches_; }
  // CPU time of all threads, and time integral of threads that could have run [ps]
  uint64_t cpu_time() noexcept {
    integrate();
    uint64_t early = 0;  // counted before it has passed
    for (const RunQueue& cpu : cpus_) early += calling(cpu) - until(cpu.counts_from);
    return cpu_time_ - early;
  }
  uint64_t load_time() noexcept { return integrate(), load_time_; }
  // Of the CPU time, what the system itself takes: calls, switches, interrupts, and waits for the
  // locks of hash buckets. Cold caches after a switch are the threads' own time. It is counted when
  // it begins. [ps]
  uint64_t kernel_time() const noexcept { return kernel_time_; }
  uint64_t random() noexcept {  // splitmix64
    uint64_t mixed = random_ += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }
  uint32_t socket_of(const Thread& thread) const noexcept {
    return machine_.socket_of(thread.core);
  }
  // From `when` on: the time until the memory of the thread's socket has delivered `bytes`, behind
  // earlier requests.
  Time memory(const Thread& thread, uint64_t bytes, Time when) noexcept {
    Time& free_at = memory_free_at_[socket_of(thread)];
    free_at = std::max(free_at, when) + (bytes * machine_.dram_kib >> 10);
    return free_at - when;
  }

 private:
  // What is on a thread's stack.
  static void execute(void* thread_, void* system_) {
    Thread& thread = *static_cast<Thread*>(thread_);
    System& system = *static_cast<System*>(system_);
    thread.stack->arrived();
    Thread* next = nullptr;
    system.guard(thread, [&] {
      thread.program();
      system.leave(thread, Thread::ENDED);
      next = system.next_();
    });
    thread.stack->switch_to(next != nullptr ? *next->stack : system.simulating_, &system, true);
  }
  // Stop the thread, which calls this, until its event comes. It finds the next thread itself: if
  // that is itself, it goes on at once; another one needs no switch to the simulator between.
  void suspend(Thread& thread) {
    const Thread* next = next_();
    if (next == &thread) return;
    thread.stack->switch_to(next != nullptr ? *next->stack : simulating_, this);
  }
  // `call`: CPU time until the CPU is free for another thread.
  void sleep(Thread& thread, Time until, Time call) {
    leave(thread, Thread::ASLEEP, call);
    if (until != NEVER) calendar.schedule(thread.id, std::max(until, now));
    suspend(thread);
  }
  void enqueue(RunQueue& cpu, Thread& thread) {
    cpu.enqueue(machine_, thread);
    one_more_waits();
  }
  void one_more_waits() {
    ++queued_;
    if (occupancy_.busy_cpus() < cpus_.size()) look_again();
  }
  void look_again() {
    if (!calendar.pending(balancer))
      calendar.schedule(balancer, now - now % machine_.tick + machine_.tick);
  }

  // The thread was woken from CPU `from`. The one that runs here may have to let it go first.
  // Returns true if that takes an interrupt of another CPU.
  bool preempt(RunQueue& cpu, const Thread& thread, uint32_t from, Time later) noexcept {
    if (cpu.preempt_at != NEVER || !cpu.preempts(machine_, thread, now)) return false;
    const bool interrupts = from != thread.cpu && machine_.preempt > 0;
    cpu.preempt_at = now + later;
    if (interrupts)
      cpu.preempt_at += jitter(
          machine_.preempt - std::min(machine_.preempt, machine_.interrupt + machine_.switch_time));
    cpu.interrupt = interrupts ? machine_.interrupt : 0;
    return interrupts;
  }

  // The same, where the thread waits for the CPU from now on. Without an interrupt the CPU learns
  // of the thread when it switches to it.
  bool waits_after(RunQueue& cpu, Thread& thread, uint32_t from, Time later) noexcept {
    const bool interrupts = preempt(cpu, thread, from, later);
    thread.woken_afar = !interrupts && from != thread.cpu;
    return interrupts;
  }
  // What it takes a CPU to change to the thread.
  Time changing(Thread& thread, uint32_t cpu) const noexcept {
    const bool afar = std::exchange(thread.woken_afar, false);
    return machine_.switch_time + refill(thread, cpu) + (afar ? machine_.woken_elsewhere : 0);
  }
  // What the thread and the system's records of it find cold there: nothing where the core has
  // touched little since, and all that it needs in the shared cache where it has touched more than
  // its own ones hold.
  Time refill(const Thread& thread, uint32_t cpu) const noexcept {
    const uint32_t core = machine_.core_of(cpu);
    const uint64_t since =
        thread.left.core == core ? caches[core].used() - thread.left.at : Footprint::NEVER_BEFORE;
    if (since > caches[core].window()) return machine_.refill;
    return since <= machine_.l1 / 2 ? 0 : machine_.near_refill;
  }

  Time until(Time then) const noexcept { return then > now ? then - now : 0; }
  // What the call by which the last thread there went to sleep still takes.
  Time calling(const RunQueue& cpu) const noexcept { return until(cpu.idle_since); }

  // A thread wakes up (1) or goes to sleep (-1) on a CPU, `change` of the threads that could run
  // there.
  void change_runnable(Thread& thread, RunQueue& cpu, int change) noexcept {
    count_runnable(change);
    if (machine_.base_slice == 0) return;
    // a thread that lingers is load, as in Linux
    thread.load.pass(now, change < 0 || thread.lingers);
    cpu.load.pass(now, cpu.loaded());
  }

  // The thread gives its CPU away, and another one gets it.
  void leave(Thread& thread, Thread::State state, Time call = 0) {
    const uint32_t number = thread.cpu;
    RunQueue& cpu = cpus_[number];
    const Time interrupt = cpu.interrupt;  // which comes in any case, before the switch
    cpu.account(thread, now + charged(interrupt + call));
    thread.state = state;
    thread.waits_since = now;
    cpu.interrupt = 0;
    cpu.preempt_at = NEVER;
    ++switches_;
    calendar.cancel(thread.id);
    if (state != Thread::RUNNABLE) {
      change_runnable(thread, cpu, -1);
      if (state == Thread::ASLEEP) cpu.sleep(machine_, thread, now);
    }
    cpu.running = nullptr;
    if (state == Thread::RUNNABLE) enqueue(cpu, thread);
    thread.ran = now;
    thread.left = {thread.core, caches[thread.core].used()};
    Thread* next = cpu.dequeue(machine_, now);
    if (next != nullptr) {
      --queued_;
    } else {
      next = steal(number);
    }
    if (next == nullptr) {
      integrate();
      occupancy_.leave(number, now);
      cpu_time_ += call;
      kernel_time_ += call;
      cpu.idle_since = now + call;
      return;
    }
    const Time changes = changing(*next, number);
    kernel_time_ += call + interrupt + changes - refill(*next, number);
    give(cpu, *next, number, call + interrupt + changes, charged(changes));
  }
  // An idle CPU gets a thread, which goes on after `latency`. The first part of that, `idle`, is
  // no thread's CPU time; nor does a call that is still under way there count twice.
  void occupy(RunQueue& cpu, Thread& thread, uint32_t number, Time latency, Time idle) {
    integrate();
    occupancy_.enter(number, now);
    idle = std::max(idle, calling(cpu));
    cpu_time_ -= idle;
    kernel_time_ += latency - std::min(latency, idle + refill(thread, number));
    cpu.counts_from = now + idle;
    give(cpu, thread, number, latency, 0);
  }
  // The thread goes on after `latency`; the last part of it, `own`, counts as its run time.
  void give(RunQueue& cpu, Thread& thread, uint32_t number, Time latency, Time own) {
    move(thread, number);
    cpu.running = &thread;
    if (thread.state == Thread::RUNNABLE) thread.waited += now - thread.waits_since;
    thread.state = Thread::RUNNING;
    thread.since = thread.slice_began = now + latency - own;
    calendar.schedule(thread.id, now + latency);
  }
  // What the system does in a thread's name is run time of that thread: the way into a sleep, an
  // interrupt, the way back from a switch. A thread that runs for microseconds at a time so uses up
  // its share. CFS gives a sleeper a thousand times as much: there it does not count.
  Time charged(Time time) const noexcept { return machine_.base_slice == 0 ? 0 : time; }
  void move(Thread& thread, uint32_t number) noexcept {
    if (thread.cpu == number) return;
    RunQueue &from = cpus_[thread.cpu], &to = cpus_[number];
    thread.vruntime += to.least() - from.least();
    if (machine_.base_slice != 0) {
      const uint64_t share = thread.load.at(now, thread.state != Thread::ASLEEP);
      // a thread that waited there has left the queue just now
      from.load.pass(now, from.loaded() + (thread.state == Thread::RUNNABLE));
      from.load.part(share);
      to.load.pass(now, to.loaded());
      to.load.join(share);
    }
    thread.cpu = number;
    thread.core = machine_.core_of(number);
  }
  uint32_t choose(Thread& thread, uint32_t from) noexcept {
    record_wake(thread, from);
    if (cpus_[thread.cpu].running == nullptr) return thread.cpu;
    const uint32_t home = machine_.socket_of(thread.core);
    if (cpus_[thread.before].running == nullptr &&
        machine_.socket_of(machine_.core_of(thread.before)) == home)
      return thread.before;
    const uint32_t target = follows(thread, from) ? from : thread.cpu,
                   socket = machine_.socket_of(machine_.core_of(target));
    const uint32_t found =
        occupancy_.looks(socket, now) ? occupancy_.idle_in(socket) : Occupancy::NONE;
    return found != Occupancy::NONE ? found : target;
  }
  // True if the thread follows its waker, where no CPU is idle: to where less is to do, but not if
  // threads there wake each other by turns. Linux: wake_affine_weight and wake_wide; kernels with
  // CFS by how many wait now.
  bool follows(Thread& thread, uint32_t from) noexcept {
    if (machine_.base_slice == 0) return cpus_[from].size() <= cpus_[thread.cpu].size();
    if (const Thread* waker = cpus_[from].running; waker != nullptr) {
      const auto [slave, master] = std::minmax(waker->flips, thread.flips);
      const uint32_t near = machine_.cores_per_chip * machine_.smt;
      if (slave >= near && master >= slave * near) return false;
    }
    const uint64_t share = thread.load.at(now, 0),
                   here = cpus_[from].load.at(now, cpus_[from].loaded()),
                   there = cpus_[thread.cpu].load.at(now, cpus_[thread.cpu].loaded());
    return 100 * (here + share) < AFFINE_PCT * (there - std::min(there, share));
  }
  // Linux: record_wakee
  void record_wake(Thread& thread, uint32_t from) noexcept {
    Thread* waker = cpus_[from].running;
    if (waker == nullptr) return;
    if (now - waker->flips_halved >= SECOND) {
      waker->flips /= 2;
      waker->flips_halved = now;
    }
    if (waker->woke == thread.id) return;
    waker->woke = thread.id;
    ++waker->flips;
  }
  // A thread that waits for another CPU and has not run just now: from the longest queue, those of
  // the same socket before others.
  Thread* steal(uint32_t number) {
    if (queued_ == 0) return nullptr;
    const uint32_t home = machine_.socket_of(machine_.core_of(number));
    for (const bool near : {true, false}) {
      RunQueue* best = nullptr;
      for (uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
        const bool same = machine_.socket_of(machine_.core_of(cpu)) == home;
        if (same == near && (best == nullptr || cpus_[cpu].size() > best->size()) &&
            cpus_[cpu].has_cold(machine_, now))
          best = &cpus_[cpu];
      }
      if (best == nullptr) continue;
      Thread* thread = best->take_cold(machine_, now);
      --queued_;
      move(*thread, number);
      if (machine_.base_slice != 0) cpus_[number].admit(machine_, *thread, now);
      return thread;
    }
    look_again();
    return nullptr;
  }
  // The CPU is busy, and looks whether one near it has more to do.
  void even_out(RunQueue& cpu, uint32_t number) {
    cpu.balance_at = NEVER;
    for (size_t i = 0; i < machine_.domains.size(); ++i) {
      RunQueue::Balance& balance = cpu.balances[i];
      if (now >= balance.at) {
        balance.at = now - now % machine_.tick + machine_.domains[i].every;
        pull(cpu, number, machine_.domains[i].cpus, balance.failed);
      }
      cpu.balance_at = std::min(cpu.balance_at, balance.at);
    }
  }
  // Linux: sched_balance_rq. To take a thread that makes the other CPU the one with more to do, as
  // the third of two CPUs does, is put off once (in kernels with CFS it is not), and for one with a
  // hot cache once more.
  void pull(RunQueue& cpu, uint32_t number, uint32_t cpus, uint32_t& failed) {
    const uint32_t first = number - number % cpus,
                   end = std::min<uint32_t>(first + cpus, static_cast<uint32_t>(cpus_.size()));
    const uint64_t mine = load(cpu);
    uint64_t most = mine * (machine_.base_slice == 0 ? CFS_IMBALANCE_PCT : IMBALANCE_PCT) / 100;
    RunQueue* busiest = nullptr;
    for (uint32_t other = first; other < end; ++other) {
      if (other == number || cpus_[other].empty() || load(cpus_[other]) <= most) continue;
      busiest = &cpus_[other];
      most = load(*busiest);
    }
    if (busiest == nullptr) {
      failed = 0;
      return;
    }
    const uint64_t excess = machine_.base_slice == 0 ? most - mine : (most - mine) / 2;
    Thread* thread = ONE >> std::min(failed, 28u) <= excess
                         ? busiest->take_oldest(machine_, now, failed > 1)
                         : nullptr;
    if (thread == nullptr) {
      ++failed;
      return;
    }
    failed = 0;
    --queued_;
    move(*thread, number);
    if (machine_.base_slice != 0) cpu.admit(machine_, *thread, now);
    enqueue(cpu, *thread);
    preempt(cpu, *thread, number, 0);
  }
  uint64_t load(const RunQueue& cpu) const noexcept {
    return machine_.base_slice == 0 ? cpu.loaded() * ONE : cpu.load.at(now, cpu.loaded());
  }
  // From 3/4 to 5/4 of the time: wake-ups vary.
  Time jitter(Time time) noexcept { return time * 3 / 4 + time * (random() >> 54) / 2048; }
  void integrate() noexcept {
    cpu_time_ += (now - integrated_) * occupancy_.busy_cpus();
    load_time_ += (now - integrated_) * runnable_;
    integrated_ = now;
  }
  void count_runnable(int change) noexcept {
    integrate(), runnable_ += static_cast<uint64_t>(change);
  }

  static constexpr size_t PAGE = 4096, LINE = 64;
  static constexpr uint64_t ONE = Average::ONE;
  // Linux: imbalance_pct of CPUs that share a cache
  static constexpr uint64_t IMBALANCE_PCT = 117, CFS_IMBALANCE_PCT = 125;
  static constexpr uint64_t AFFINE_PCT = 108;  // half of what is above 100 counts there
  const Machine& machine_;
  millrace::Fibre simulating_;  // on which the simulator itself runs
  std::function<Thread*()> next_;
  std::exception_ptr failure_;  // of a program
  std::vector<RunQueue> cpus_;
  std::vector<Time> memory_free_at_;  // of each socket
  Occupancy occupancy_;
  Futexes futexes_;
  uint64_t random_;
  uint64_t queued_ = 0, switches_ = 0, runnable_ = 0, cpu_time_ = 0, kernel_time_ = 0,
           load_time_ = 0;
  Time integrated_ = 0;
};

}  // namespace millrace::sim
