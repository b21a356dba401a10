// Fibres that go on on whichever thread comes by: values get through, stacks keep what is on them, exceptions stay within their stack.
#include <memory>
#include <mutex>
#include <stdexcept>

#include "fibre.hpp"
#include "stress.hpp"

using namespace millrace;

namespace {

struct Carrier {  // a thread's side: its own stack, and what it hands over
  Fibre own;
};

struct Walker {
  Fibre fibre;
  std::atomic<bool> held{false};
  Carrier* carrier = nullptr;  // who has switched to it last
  uint64_t steps = 0, sum = 0;
  bool ended = false;
};

[[gnu::noinline]] uint64_t deep(Walker& self, uint64_t depth) {  // stops at the bottom, on a stack that has something on it
  volatile uint64_t mine[4] = {depth, depth * 3, depth * 5, depth * 7};
  if (depth == 0) {
    self.carrier = static_cast<Carrier*>(self.fibre.switch_to(self.carrier->own, &self));
    return 1;
  }
  const uint64_t below = deep(self, depth - 1);
  EXPECT(mine[0] == depth && mine[1] == 3 * depth && mine[2] == 5 * depth && mine[3] == 7 * depth);
  return below + 1;
}

void walk(void* argument, void* value) {
  Walker& self = *static_cast<Walker*>(argument);
  self.carrier = static_cast<Carrier*>(value);
  self.fibre.arrived();
  double kept = 1.0;  // in a register that a call may use: the compiler has to save it
  for (uint64_t step = 0; step < self.steps; ++step) {
    self.sum += deep(self, step % 7);
    kept *= 1.0000001;
    try {
      if (step % 5 == 0) throw std::runtime_error("within");
    } catch (const std::runtime_error&) {
      self.sum += 1;
    }
  }
  EXPECT(kept > 1.0);
  self.ended = true;
  self.fibre.switch_to(self.carrier->own, &self, true);
}

void fibres_wander(uint32_t fibres, int threads, uint64_t steps) {
  Stacks stacks;
  EXPECT(stacks.reserve(fibres, 65536));
  std::unique_ptr<Walker[]> walkers(new Walker[fibres]);
  for (uint32_t i = 0; i < fibres; ++i) {
    walkers[i].steps = steps;
    walkers[i].fibre.begin(stacks.stack(i), stacks.bytes(), walk, &walkers[i]);
  }
  std::atomic<uint32_t> left{fibres};
  together(threads, [&](int thread) {
    Carrier carrier;
    carrier.own.adopt_thread();
    for (uint32_t i = static_cast<uint32_t>(thread); left.load() > 0; ++i) {
      Walker& walker = walkers[i % fibres];
      if (walker.held.load(std::memory_order_relaxed) || walker.held.exchange(true, std::memory_order_acquire)) continue;
      if (!walker.ended) {
        EXPECT(carrier.own.switch_to(walker.fibre, &carrier) == &walker);
        if (walker.ended) left.fetch_sub(1);
      }
      walker.held.store(false, std::memory_order_release);
    }
  });
  uint64_t expected = 0;
  for (uint64_t step = 0; step < steps; ++step) expected += step % 7 + 1 + (step % 5 == 0);
  for (uint32_t i = 0; i < fibres; ++i) EXPECT(walkers[i].sum == expected);
}

void a_guard_is_told_from_a_stack() {
  Stacks stacks;
  EXPECT(stacks.reserve(3, 5000));
  EXPECT(stacks.bytes() % 4096 == 0 && stacks.bytes() >= 5000);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT(stacks.overflown(stacks.stack(i) - 1) == i);
    EXPECT(stacks.overflown(stacks.stack(i)) == 3);
    stacks.stack(i)[0] = stacks.stack(i)[stacks.bytes() - 1] = 1;
  }
  int elsewhere = 0;
  EXPECT(stacks.overflown(&elsewhere) == 3);
}

}  // namespace

int main() {
  a_guard_is_told_from_a_stack();
  fibres_wander(1, 2, 2'000);
  fibres_wander(7, 3, 2'000);
  fibres_wander(200, 4, 100);
}
