// Fibres that go on on whichever thread comes by: values get through, stacks keep what is on them,
// exceptions stay within their stack.
#include <cfenv>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

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

[[gnu::noinline]] uint64_t deep(
    Walker& self, uint64_t depth) {  // stops at the bottom, on a stack that has something on it
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
      if (walker.held.load(std::memory_order_relaxed) ||
          walker.held.exchange(true, std::memory_order_acquire))
        continue;
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

// Rounding, masks and flush to zero, of which each fibre has its own: how it divides, in both
// units, shows them.
struct Mode {
  Fibre fibre;
  Carrier* carrier = nullptr;
  int rounding = FE_TONEAREST;
  uint64_t steps = 0, foreign = 0;
};

template <class Real>
Real divided(Real by) {
  volatile Real divisor = by;  // when the program runs, and not when it is compiled
  return Real{1} / divisor;
}

void keep_a_mode(void* argument, void* value) {
  Mode& self = *static_cast<Mode*>(argument);
  self.carrier = static_cast<Carrier*>(value);
  self.fibre.arrived();
  self.foreign += std::fegetround() != FE_DOWNWARD;  // of the thread that began it
  std::fesetround(self.rounding);
  const FloatingPoint chosen;
  const double expected = divided(3.0);
  const long double long_expected = divided(3.0L);
  for (uint64_t step = 0; step < self.steps; ++step) {
    self.carrier = static_cast<Carrier*>(self.fibre.switch_to(self.carrier->own, &self));
    self.foreign += divided(3.0) != expected || divided(3.0L) != long_expected ||
                    std::fegetround() != self.rounding;
  }
  EXPECT(((chosen.words() ^ FloatingPoint().words()) & ~uint64_t{0x3f}) == 0);
  self.fibre.switch_to(self.carrier->own, nullptr, true);
}

void fibres_keep_their_floating_point_modes(uint64_t steps) {
  constexpr int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST};
  Stacks stacks;
  EXPECT(stacks.reserve(4, 65536));
  std::unique_ptr<Mode[]> modes(new Mode[4]);
  std::fesetround(FE_DOWNWARD);
  for (uint32_t i = 0; i < 4; ++i) {
    modes[i].rounding = roundings[i];
    modes[i].steps = steps;
    modes[i].fibre.begin(stacks.stack(i), stacks.bytes(), keep_a_mode, &modes[i]);
  }
  std::fesetround(FE_TONEAREST);
  Carrier carrier;
  carrier.own.adopt_thread();
  const double expected = divided(3.0);
  for (uint64_t step = 0; step <= steps; ++step) {
    for (uint32_t i = 0; i < 4; ++i) {
      carrier.own.switch_to(modes[i].fibre, &carrier);
      EXPECT(divided(3.0) == expected && std::fegetround() == FE_TONEAREST);
    }
  }
  for (uint32_t i = 0; i < 4; ++i) EXPECT(modes[i].foreign == 0);
}

// A word that a user's function leaves behind is undone, and exceptions that are pending do not
// come up.
void modes_are_restored() {
  const FloatingPoint before;
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
  divided(0.0L);
  divided(0.0);
  before.restore();
  EXPECT(std::fegetround() == FE_TONEAREST &&
         ((before.words() ^ FloatingPoint().words()) & ~uint64_t{0x3f}) == 0);
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

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

// A frame may reach below its stack by so much, and finds nobody's there: with as many stacks as a
// large graph has, in few mappings.
void stacks_are_out_of_each_others_reach() {
  constexpr size_t count = 10'000, reach = size_t{8} << 20;
  const size_t before = mappings();
  Stacks stacks;
  EXPECT(stacks.reserve(count, 65536, reach));
  EXPECT(mappings() - before <= 2 * count + 2);
  for (size_t i = 0; i < count; i += 7) {
    char* const lowest = stacks.stack(i);
    EXPECT(stacks.overflown(lowest) == count && stacks.overflown(lowest - 1) == i &&
           stacks.overflown(lowest - reach) == i);
    EXPECT(i == 0 || lowest - reach == stacks.stack(i - 1) + stacks.bytes());
  }
}

}  // namespace

int main() {
  a_guard_is_told_from_a_stack();
  stacks_are_out_of_each_others_reach();
  fibres_keep_their_floating_point_modes(10'000);
  modes_are_restored();
  fibres_wander(1, 2, 2'000);
  fibres_wander(7, 3, 2'000);
  fibres_wander(200, 4, 100);
}
