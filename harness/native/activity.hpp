// activity.hpp - what a thread does, and for which operator: one word, which the thread writes
// whenever that changes, and at which others look.
//
// A store to a line of the thread's own is all that it costs. So no tuple pays for a clock: a
// sampling thread looks a thousand times a second (runtime/time_use.pyx), and virtual time, where
// looking costs nothing, is added up at each change (simulator/native/time_use.hpp).
#pragma once

#include <cstdint>

namespace millrace {

enum class Activity : uint32_t {
  NONE,    // has not begun, or has ended
  WORK,    // executes the operator
  MAKE,    // a source makes tuples
  MOVE,    // copies the operator's tuples, or puts them into queues
  SEARCH,  // looks for work, and wakes others for theirs
  TUPLES,  // waits for tuples: of the operator, or of any
  ROOM,    // waits for room before the operator
  LOCK,    // waits for others to leave the operator, or the queue before it
  PAUSE,   // its level was taken away, or the source's next tuple is not due
  READY,   // could go on, and has no CPU; only in sums, never in a thread's word
};

inline constexpr uint32_t ACTIVITY_SHIFT = 28;
inline constexpr uint32_t OF_OPERATOR = (uint32_t{1} << ACTIVITY_SHIFT) - 1;

// `place`: the operator's index + 1; 0: of no operator.
constexpr uint32_t doing(Activity activity, uint32_t place) noexcept {
  return static_cast<uint32_t>(activity) << ACTIVITY_SHIFT | place;
}
constexpr Activity activity_of(uint32_t word) noexcept {
  return static_cast<Activity>(word >> ACTIVITY_SHIFT);
}
// The operator that is executed, + 1; 0: none is. To move its tuples is part of what it costs.
constexpr uint32_t executed_by(uint32_t word) noexcept {
  const Activity activity = activity_of(word);
  return activity >= Activity::WORK && activity <= Activity::MOVE ? word & OF_OPERATOR : 0;
}

}  // namespace millrace
