// protocol.hpp - the numbers and states on which the runtime, the simulator and the tests have to
// agree.
//
// Python reads them from harness.runtime.protocol, Cython by `cimport` from there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace {

// -- batches --------------------------------------------------------------------------------------

// An operator gets at most so many tuples at once: enough that publishing costs little a tuple
// (docs/explanation/design.md).
inline constexpr uint32_t MAX_BATCH = 32;

// The memory of a batch [bytes], at most: half of a usual second-level cache.
inline constexpr size_t BATCH_BYTES = 256 * 1024;

// Tuples of a batch, at most, in slots of `stride` bytes.
constexpr uint32_t most_at_once(size_t stride) noexcept {
  return static_cast<uint32_t>(std::clamp<size_t>(BATCH_BYTES / stride, 1, MAX_BATCH));
}

// The work in a batch [FLOP], about: an expensive operator passes its tuples on one by one, so that
// others can start (a guess, not tuned).
inline constexpr uint32_t BATCH_FLOP = 16384;

// Tuples of a batch for a region of `flop` FLOP a tuple.
constexpr uint32_t batch_for(double flop, uint32_t most) noexcept {
  return static_cast<uint32_t>(
      std::max(1.0, std::min<double>(most, BATCH_FLOP / std::max(flop, 1.0))));
}

// In a region with batches that large a drain is soon over.
inline constexpr uint32_t CHEAP_BATCH = 32;

// In a region with batches that small a tuple takes longer than waking a thread.
inline constexpr uint32_t SLOW_BATCH = 4;

// Batches after which a thread does, at the latest, what it has put off: wake-ups, and putting
// ports on the list.
inline constexpr uint32_t BATCHES_IN_SILENCE = 64;

// -- drains ---------------------------------------------------------------------------------------

// The work of a drain [FLOP], at most, but for one batch: about a millisecond, so that no port
// waits long behind an expensive one (a guess).
inline constexpr uint32_t DRAIN_FLOP = 64 * BATCH_FLOP;

// Tuples that a scheduler thread takes from a queue of `capacity` tuples before it looks for
// another port.
constexpr uint32_t drain_for(size_t capacity, double flop) noexcept {
  return static_cast<uint32_t>(std::max(
      1.0, std::min(static_cast<double>(capacity) + 1.0, DRAIN_FLOP / std::max(flop, 1.0))));
}

// A blocked producer executes at least so many tuples before it tries again: a quarter of a short
// queue would not be worth the while.
inline constexpr uint64_t LEAST_RESCHEDULED = 64;

// Tuples that a blocked producer executes before it tries again; `most` as of drain_for().
constexpr uint64_t rescheduled(size_t capacity, uint64_t most) noexcept {
  return std::min(std::max<uint64_t>(capacity / 4, LEAST_RESCHEDULED), most);
}

// -- ports that stay on the list (dynamic.hpp) ----------------------------------------------------

// After a port has stayed on the list for nothing, it leaves the list at once so many times.
inline constexpr uint32_t WARY = 16;

// Whether a port, which may be empty now, stays on the list for a turn. `wary` is the port's; the
// caller holds its consumer flag.
inline bool lingers(uint32_t& wary, bool had_tuples) noexcept {
  if (!had_tuples) {
    wary = WARY;
  } else if (wary > 0) {
    --wary;
  } else {
    return true;
  }
  return false;
}

// A thread that keeps up with its producers leaves the queues alone for so long [ns]: as long as a
// line takes from core to core, several times.
inline constexpr int64_t REST_NS = 400;

// -- waiting --------------------------------------------------------------------------------------

// A thread that finds no port yields so often before it sleeps: two switches of a thread cost about
// as much.
inline constexpr uint32_t LIST_YIELDS = 4;

// A thread that waits for what another one is about to do spins first, then gives its core away,
// and sleeps in the end (thread.hpp). These are guesses, not tuned: a flag is handed on within
// about SPINS pauses.
inline constexpr uint32_t SPINS = 32, YIELDS = 64, SHORT_NAPS = 20, NAPS = 1000;

// How long nap number `nap` lasts [ns].
constexpr int64_t nap_ns(uint32_t nap) noexcept {
  return nap < SHORT_NAPS ? 50'000 : nap < NAPS ? 1'000'000 : 10'000'000;
}

// A thread with a CPU to itself looks for so long [ns] at what it waits for before it sleeps: about
// as long as falling asleep and waking take. The runtime counts looks, which take about 10 ns each.
inline constexpr int64_t PATIENCE_NS = 20'000;
inline constexpr uint32_t PATIENCE_LOOKS = PATIENCE_NS / 10;

// After a sender has worked for so long [FLOP], about, it wakes the thread of a threaded port (a
// guess: 0.1 ms, many times a wake-up).
inline constexpr uint32_t WAKE_FLOP = 8 * BATCH_FLOP;

// -- tuples ---------------------------------------------------------------------------------------

// Whether a filter passes a tuple on; `mixed` is the tuple's fingerprint. A second mixer, so that
// the choice and the checksum are independent.
constexpr bool passes(uint64_t mixed, uint64_t threshold) noexcept {
  return mixed * 0xD6E8FEB86659FD93 < threshold;
}

// -- states ---------------------------------------------------------------------------------------

// Of a scheduled port. WANTED_CALLED is the controlling thread's wish, NOW_CALLED the truth, which
// the producer side alone changes; the two make four states (switching.hpp).
enum Mode : uint32_t {
  WANTED_CALLED = 1,
  NOW_CALLED = 2,
  QUEUED = 0,
  CLOSING = WANTED_CALLED,
  CALLED = WANTED_CALLED | NOW_CALLED,
  OPENING = NOW_CALLED,
};

// Whether and why a thread does not run.
enum Rest : uint32_t {
  AWAKE = 0,
  IDLE = 1,       // asleep until a port is ready
  SUSPENDED = 2,  // asleep until its level comes back
  BLOCKED = 3,    // waits for room, a flag or a lock that another thread has
};

}  // namespace millrace
