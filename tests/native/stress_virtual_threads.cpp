// Virtual threads of the simulator, each on a stack of its own: they stop and go on whichever
// thread simulates, a run may be given up in the middle of them, and what a program throws gets
// out.
#include <deque>
#include <memory>
#include <new>

#include "../simulator/native/probes.hpp"
#include "stress.hpp"

using namespace millrace::sim;

namespace {

Machine small_machine() {
  Machine machine;
  machine.cores = machine.cores_per_chip = 4;
  machine.slow_clock = machine.slow_fp = machine.slow_mixed = {1 << Machine::SHIFT};
  machine.contended = {1};
  machine.cas_slow = {1 << Machine::SHIFT};
  machine.l2 = 1 << 20, machine.l3 = 1 << 24;
  machine.sched_latency = 6 * MILLISECOND, machine.min_granularity = MICROSECOND;
  machine.switch_time = machine.wake = machine.sleep = MICROSECOND;
  machine.tick = 4 * MILLISECOND;
  return machine;
}

constexpr uint32_t THREADS = 40;
constexpr Time STEP = 10 * MICROSECOND;

std::unique_ptr<Bench> begun() {
  auto bench = std::make_unique<Bench>(small_machine(), THREADS, 1, 8);
  for (uint32_t thread = 0; thread < THREADS; ++thread) {
    switch (thread % 4) {
      case 0:
        bench->compute(thread, 100 * STEP, STEP, FP, 4096);
        break;
      case 1:
        bench->nap(thread, STEP, 5 * STEP);
        break;
      case 2:
        bench->wait(thread, STEP);
        break;
      default:
        bench->wake(thread, 20 * STEP * thread, 1, STEP);
    }
  }
  return bench;
}

void all_end_whoever_simulates(int simulators) {
  const auto bench = begun();
  std::atomic<int> next{0};
  constexpr int periods = 400;
  together(simulators, [&](int self) {
    for (int period = self; period < periods; period += simulators) {
      while (next.load(std::memory_order_acquire) != period) std::this_thread::yield();
      bench->run(static_cast<Time>(period + 1) * SECOND / periods);
      next.store(period + 1, std::memory_order_release);
    }
  });
  for (const Bench::Probe& probe : bench->threads) {
    EXPECT(probe.ended != NEVER && probe.state == Thread::ENDED);
  }
}

void runs_are_given_up_in_the_middle() {
  for (Time until = STEP; until < 300 * STEP; until += 5 * STEP) begun()->run(until);
}

void what_a_program_throws_gets_out() {
  const Machine machine = small_machine();
  System system(machine, 2, 1, 8);
  std::deque<Thread> threads(2);
  for (uint32_t i = 0; i < 2; ++i) threads[i].id = i;
  uint32_t thrown = 0, steps = 0;
  const auto program = [&](uint32_t thread) {
    for (;;) {
      threads[thread].mixed += STEP;
      system.pass(threads[thread]);
      if (++steps % 10 == 0) throw std::bad_alloc();
    }
  };
  for (uint32_t i = 0; i < 2; ++i) system.start(threads[i], [&program, i] { program(i); });
  for (int run = 0; run < 2; ++run) {
    try {
      system.simulate([&]() -> Thread* {
        while (!system.calendar.empty()) {
          system.now = system.calendar.next().time;
          Thread& thread = threads[system.calendar.next().process()];
          if (system.act(thread)) return &thread;
        }
        return nullptr;
      });
    } catch (const std::bad_alloc&) {
      ++thrown;
      system.calendar.cancel(0);  // whichever it was: the other one has its turn, or none has
    }
  }
  EXPECT(thrown >= 1);
}

}  // namespace

int main() {
  all_end_whoever_simulates(1);
  all_end_whoever_simulates(3);
  runs_are_given_up_in_the_middle();
  what_a_program_throws_gets_out();
}
