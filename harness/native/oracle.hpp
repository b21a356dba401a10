// oracle.hpp - what is checked where tuples of a benchmark end: at sinks, control ports and loops,
// and at each input of a barrier (ONCE, ORDER).
//
// `paths` has next_of_path and paths: SinkState, BarrierInput. `found` has what was found:
// SinkState, BarrierState.
#pragma once

#include <cstddef>
#include <cstdint>

#include "state.hpp"
#include "tuple.hpp"

namespace millrace {

// Returns the tuple's fingerprint, for the sum of them.
template <class Paths, class Found>
inline uint64_t check_end(Paths& paths, Found& found, Tuple* tuple, size_t payload) noexcept {
  const uint64_t sequence = tuple->sequence;
  if (paths.paths > 0) {
    uint64_t& next = paths.next_of_path[tuple->path];
    if (sequence < next) {
      ++found.violations;
    } else {
      next = sequence + 1;
    }
  }
  const uint64_t mixed = fingerprint(sequence);
  if ((found.check_value && tuple->value != value_for(sequence)) ||
      !payload_intact(tuple, payload, mixed))
    ++found.damaged;
  return mixed;
}

// On its path, every tuple before a window punctuation has a smaller sequence number than it, every
// tuple behind has not.
template <class Paths, class Found>
inline void check_mark(Paths& paths, Found& found, const Tuple* mark) noexcept {
  if (paths.paths == 0) return;
  uint64_t& next = paths.next_of_path[mark->path];
  if (mark->sequence < next) {
    ++found.violations;
  } else {
    next = mark->sequence;
  }
}

}  // namespace millrace
