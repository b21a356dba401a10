// futexes.hpp - where threads sleep until they are woken, and the locks of the kernel's hash
// buckets for that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "calendar.hpp"
#include "line.hpp"
#include "machine.hpp"
#include "thread.hpp"

namespace millrace::sim {

// Sleepers of one futex word.
struct WaitQueue {
  std::deque<Thread*> sleepers;
  Line line;  // the word
  uint32_t bucket = 0;
};

class Futexes {
 public:
  Futexes(const Machine& machine, uint32_t buckets)
      : machine_(machine), holds_(std::max(buckets, 1u)) {}

  uint64_t buckets() const noexcept { return holds_.size(); }
  // The time from `when` until the lock of the queue's hash bucket is free for this thread. What
  // holding it takes is part of the call (Machine::sleep, wake_caller and the like). Each waiter
  // makes each hand-over longer. A thread that owes time asks for when that has passed: one that
  // comes before has the lock before, if there is time for it.
  Time hold(const WaitQueue& queue, Time when, Time now) {
    std::deque<Hold>& holds = holds_[queue.bucket];
    while (!holds.empty() && holds.front().end <= now) holds.pop_front();
    Hold mine{when, when + machine_.bucket_hold};
    auto place = holds.begin();
    for (uint64_t waited_for = 0; place != holds.end() && place->begin < mine.end; ++place) {
      if (place->end <= when) continue;
      mine.begin = place->end;
      mine.end = mine.begin + machine_.bucket_hold + ++waited_for * machine_.bucket_waiter;
    }
    holds.insert(place, mine);
    return mine.end - machine_.bucket_hold - when;
  }

 private:
  struct Hold {
    Time begin, end;
  };

  const Machine& machine_;
  // by hash bucket: those that have its lock or wait for it, in turn
  std::vector<std::deque<Hold>> holds_;
};

}  // namespace millrace::sim
