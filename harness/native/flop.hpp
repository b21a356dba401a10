// flop.hpp - the work of an operator: multiplies that wait for each other (the FLOP of P17 s5).
//
// The factor is exactly 1.0, read at run time: the value survives, and the compiler cannot remove
// the work. A core looks hundreds of instructions ahead, so in a loop over a batch it would begin
// with a tuple before it is done with the one before, and the same cost would take less time in a
// batch than alone. From SERIAL_FLOP on the chain therefore continues from tuple to tuple: the
// first multiply of each waits for the last one of the tuple before it. Below, overlap is what a
// batch is good for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tuple.hpp"

namespace millrace {

// A link between tuples costs 2 cycles each, which have to be few beside a tuple's work.
inline constexpr uint32_t SERIAL_FLOP = 32;

// 1.0, and the compiler cannot know.
inline double opaque_one() noexcept {
  static volatile double one = 1.0;
  return one;
}

inline double multiply(double value, double factor, uint32_t cost) noexcept {
  for (uint32_t i = 0; i < cost; ++i) value *= factor;
  return value;
}

// `value` as it is, but not before `before` is known. `nothing` is +0.0, read at run time: no bits
// of `before` get through.
inline double after(double value, double before, double nothing) noexcept {
  typedef double Doubles __attribute__((vector_size(16)));
  // in vector registers the link costs an AND and an OR
  typedef int64_t Bits __attribute__((vector_size(16)));
  const Bits bits = (Bits)(Doubles){before, 0.0} & (Bits)(Doubles){nothing, 0.0};
  return ((Doubles)(bits | (Bits)(Doubles){value, 0.0}))[0];
}

// `cost` multiplies on each of `count` tuples.
inline void multiply_batch(Tuple* first, size_t stride, uint32_t count, double factor,
                           uint32_t cost) noexcept {
  if (cost == 1) {  // without the inner loop, which would take longer than the multiply
    for (uint32_t i = 0; i < count; ++i) slot(first, stride, i)->value *= factor;
    return;
  }
  if (cost < SERIAL_FLOP || count == 1) {
    for (uint32_t i = 0; i < count; ++i)
      slot(first, stride, i)->value = multiply(slot(first, stride, i)->value, factor, cost);
    return;
  }
  const double nothing = factor - factor;
  double before = factor;
  for (uint32_t i = 0; i < count; ++i) {
    before = multiply(after(slot(first, stride, i)->value, before, nothing), factor, cost);
    slot(first, stride, i)->value = before;
  }
}

}  // namespace millrace
