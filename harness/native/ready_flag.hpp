// ready_flag.hpp - state of a scheduled port. 1: it is on the list of ready ports, or with the
// thread that took it from there.
//
// READY: a port with tuples is on the list, or with a thread that will look at it again.
// Three kinds of threads meet here:
//
//   producer   publishes tuples, then set(). It was 0: the producer puts the port on the list.
//   taker      has taken the port from the list, and finds it empty, or its consumer flag held by
//              another thread: clear(), which writes 0, then looks.
//   holder     has drained the port without taking it from the list, as a producer does before a
//              full queue: release(), which lets go of the consumer flag, then adds 0 to the word,
//              then looks, unless it is 1: then a taker will look, later.
//
// To look: there are tuples, and no thread holds the consumer flag -> set(). It was 0: the port
// goes back on the list.
//
// Edge  READY  a read-modify-write of word_, acq_rel -> the next one. All three make one, so of two
//              threads one comes first, and the later one sees what the earlier one had done
//              before.
//
//   producer and taker   The producer first: the taker sees its tuples. The taker first: the
//                        producer finds 0.
//   taker and holder     The taker first: the holder sees the tuples that the taker saw, and looks.
//                        The holder first: the taker sees the consumer flag free, or held by
//                        another holder, which comes after the taker.
//   two holders          The earlier one leaves the port to the other only if it sees it hold the
//                        flag. Then that one comes later, by the same argument, and sees the same
//                        tuples. The last one leaves it to no other.
//
// Without the holder's read-modify-write a tuple is lost. The store that lets go of the flag may
// still be in the store buffer when the tail of the ring is loaded, so the holder sees an empty
// ring, and the taker, a moment later, a tuple and a flag that is held. A seq_cst fence for both
// would do as well. It would cost the taker more, and ThreadSanitizer cannot follow it.
//
// Checked by: tests/native/explore_ready.cpp in many interleavings;
// tests/native/stress_ready_flag.cpp, stress_ready_ports.cpp
#pragma once

#include <atomic>
#include <cstdint>

#include "spsc_ring.hpp"
#include "try_flag.hpp"

namespace millrace {

template <class Platform, class Ring = BasicSpscRing<Platform>, class Flag = BasicTryFlag<Platform>>
class BasicReadyFlag {
 public:
  // True if the port seems to be on the list already. A caller that relies on it must set() later.
  bool seems_set() const noexcept { return word_.load(std::memory_order_relaxed) != 0; }

  // Each of these returns true if the caller has to put the port on the list.
  // Producer, after it has published.
  bool set() noexcept { return word_.exchange(1, std::memory_order_acq_rel) == 0; }  // READY
  bool clear(const Ring& ring, const Flag& consuming) noexcept {                     // taker
    word_.exchange(0, std::memory_order_acq_rel);                                    // READY
    return look(ring, consuming);
  }
  bool release(const Ring& ring, Flag& consuming) noexcept {  // holder
    consuming.unlock();
    return word_.fetch_add(0, std::memory_order_acq_rel) == 0 && look(ring, consuming);  // READY
  }

 private:
  bool look(const Ring& ring, const Flag& consuming) noexcept {
    return ring.size_guess() > 0 && !consuming.held() && set();
  }

  typename Platform::template Word<uint64_t> word_{0};
};
using ReadyFlag = BasicReadyFlag<RealPlatform>;

}  // namespace millrace
