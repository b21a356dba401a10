// core.hpp - what one core does in a cycle: chains of operations that wait for each other, and
// their rate where hardware threads share it.
#pragma once

#include <cstdint>

#include "flop.hpp"
#include "free_list.hpp"
#include "pinned.hpp"
#include "thread.hpp"
#include "tuple.hpp"

namespace millrace {

// ns of an integer add that waits for the one before: a cycle on every core in use. Of two
// registers: adding a constant may take no time.
inline double add_ns(uint64_t adds) noexcept {
  uint64_t value = 0, step = 1;
  asm volatile("" : "+r"(step));
  const int64_t begin = now_ns();
  for (uint64_t i = 0; i < adds; i += 8) {
    for (int unrolled = 0; unrolled < 8; ++unrolled) {
      value += step;
      asm volatile("" : "+r"(value));
    }
  }
  return static_cast<double>(now_ns() - begin) / static_cast<double>((adds + 7) / 8 * 8);
}

// ns of a double multiply that waits for the one before: an operator's FLOP.
inline double multiply_ns(uint32_t flop) noexcept {
  const double factor = opaque_one();
  double value = 1.5;
  const int64_t begin = now_ns();
  value = multiply(value, factor, flop);
  asm volatile("" : "+m"(value));
  return static_cast<double>(now_ns() - begin) / flop;
}

// ns of a step of what schedulers do: a list entry taken and put back, a branch that depends on
// data, a look into a table.
inline double mixed_ns(uint32_t steps) noexcept {
  constexpr uint32_t PORTS = 64;
  FreeList list(PORTS);
  uint64_t table[256] = {}, taken = 0;
  for (uint32_t port = 0; port < PORTS; ++port) list.push(port);
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < steps; ++i) {
    const uint32_t port = list.pop();
    const uint64_t mixed = fingerprint(i + port);
    if (mixed & 1)
      taken += table[mixed >> 56];
    else
      table[mixed >> 56] += taken + i;
    list.push(port);
  }
  const double ns = static_cast<double>(now_ns() - begin) / steps;
  asm volatile("" : : "r"(taken), "r"(table) : "memory");
  return ns;
}

enum Work { ADDS, MULTIPLIES, MIXED };

// Mean ns an operation of each thread while all of `cpus` do the same; below 0: an error of the
// system.
inline double busy_ns(const int* cpus, int count, Work work, uint32_t operations) noexcept {
  double ns[MOST_PINNED], sum = 0.0;
  const int error = together(cpus, count, [&](int i) {
    ns[i] = work == ADDS         ? add_ns(operations)
            : work == MULTIPLIES ? multiply_ns(operations)
                                 : mixed_ns(operations);
  });
  if (error != 0) return -error;
  for (int i = 0; i < count; ++i) sum += ns[i];
  return sum / count;
}

}  // namespace millrace
