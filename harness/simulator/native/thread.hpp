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
    // beyond 64 bits from a level of 166 on
    const Wide weighed = Wide{value_} * memory + Wide{level} * ONE * passed;
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
  // where it had run last, the last time that it was woken and that CPU was busy
  uint32_t before = 0;
  uint32_t core = 0;
  State state = NEW;
  bool spinning = false;    // looks at a value all the time, until its event or until hasten()
  bool lingers = false;     // asleep, and still in its CPU's run queue (EEVDF)
  bool woken_afar = false;  // from another CPU than the one that it waits for
  // time that it has spent and that has not passed yet, by sort (machine.hpp)
  uint64_t fp = 0, mixed = 0, waiting = 0;
  int64_t vruntime = 0;  // relative to its CPU's
  int64_t deadline = 0;  // EEVDF: of its request
  int64_t lag = 0;       // EEVDF: what it was owed when it left a run queue
  Time since = 0;        // time up to which `vruntime` counts its run
  Time slice_began = 0;
  Time ran = 0;                // when it last gave its CPU away
  Touch left;                  // then, by the slots that its core had touched
  Average load;                // how much of the time it was in a run queue
  uint32_t woke = UINT32_MAX;  // the thread that it woke last
  uint32_t flips = 0;          // changes of `woke` in the last seconds
  Time flips_halved = 0;
  Time waits_since = 0;  // RUNNABLE: since when
  Time waited = 0;       // time for which it was RUNNABLE in all

  bool owes() const noexcept { return (fp | mixed | waiting) != 0; }
  int64_t vruntime_at(Time now) const noexcept {
    return vruntime + (now > since ? static_cast<int64_t>(now - since) : 0);
  }
};

struct Thread : Scheduled {
  millrace::Fibre* stack = nullptr;  // on which its program goes on: `own_stack`, or a co-routine's
  std::function<void()> program;
  millrace::Fibre own_stack;
  millrace::Stacks memory;  // of that stack
};

}  // namespace millrace::sim
