// thread.hpp - a virtual thread, as the operating system sees it, and averages that forget as
// Linux's do.
//
// Each thread has a stack of its own, on which its program stops while virtual time passes
// (System::suspend). Memory of a stack is taken as it is touched, and kept until the thread's
// record goes. A run may be given up with programs in the middle, which then are never ended:
// nothing on a stack may own memory.
//
// What the system knows of a thread can go on as that of another record (System::become): where a
// thread executes one co-routine of an operator after the other (virtual_platform.hpp), each has a
// record with what its program keeps, and the thread is now in this one, now in that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "calendar.hpp"
#include "fibre.hpp"
#include "footprint.hpp"

namespace millrace::sim {

// The mean of a level over the last while, weighed with a half-life of 32 ms (PELT), or since the
// run began. [2^-28]
class Average {
 public:
  static constexpr uint64_t ONE = 1 << 28;

  uint64_t at(Time now, uint64_t level) const noexcept {
    const uint64_t passed = std::min<uint64_t>((now - since_) / NANOSECOND, 8 * MEMORY_NS),
                   memory = std::min<uint64_t>(since_ / NANOSECOND, MEMORY_NS);
    if (passed + memory == 0) return 0;
    const Wide weighed = Wide{value_} * memory +
                         Wide{level} * ONE * passed;  // beyond 64 bits from a level of 166 on
    return static_cast<uint64_t>(weighed / (memory + passed));
  }
  // The level was `level` until now.
  void pass(Time now, uint64_t level) noexcept {
    value_ = at(now, level);
    since_ = now;
  }
  // A share of it comes or goes.
  void join(uint64_t share) noexcept { value_ += share; }
  void part(uint64_t share) noexcept { value_ -= std::min(value_, share); }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr uint64_t MEMORY_NS = 46'000'000;
  uint64_t value_ = 0;
  Time since_ = 0;
};

// What the system knows of a thread.
struct Scheduled {
  enum State : uint8_t { NEW, RUNNING, RUNNABLE, ASLEEP, ENDED };

  uint32_t id = 0;   // its process in the calendar
  uint32_t cpu = 0;  // where it runs, or ran last
  uint32_t before =
      0;  // where it had run last when it was woken and that CPU was busy, the last time
  uint32_t core = 0;
  State state = NEW;
  bool spinning =
      false;  // looks at something all the time, until its event or until it is told (hasten)
  bool lingers = false;     // asleep, and still in its CPU's run queue (EEVDF)
  bool woken_afar = false;  // from another CPU than the one that it waits for
  uint64_t fp = 0, mixed = 0,
           waiting =
               0;  // time that it has spent and that has not passed yet, by sort (machine.hpp)
  int64_t vruntime = 0;  // relative to its CPU's
  int64_t deadline = 0,
          lag = 0;  // EEVDF: of its request; what it was owed when it left a run queue
  Time since = 0, slice_began = 0, ran = 0;  // `ran`: when it last gave its CPU away
  Touch left;                                // then, by the slots that its core had touched
  Average load;                              // how much of the time it was in a run queue
  uint32_t woke = UINT32_MAX;                // whom it woke last
  uint32_t flips = 0;  // how often that was another thread than before, in the last seconds
  Time flips_halved = 0;
  Time waits_since = 0, waited = 0;  // RUNNABLE: since when; for how long in all

  bool owes() const noexcept { return (fp | mixed | waiting) != 0; }
  int64_t vruntime_at(Time now) const noexcept {
    return vruntime + (now > since ? static_cast<int64_t>(now - since) : 0);
  }
};

struct Thread : Scheduled {
  millrace::Fibre* stack =
      nullptr;  // where its program goes on: on the one below, or a co-routine's
  std::function<void()> program;
  millrace::Fibre own_stack;
  millrace::Stacks memory;  // of that stack
};

}  // namespace millrace::sim
