// stamps.hpp - since when the oldest tuple of a queue has been there, and when it left its source,
// about: what policies look at.
//
// The queue's positions are cut into stretches of at least a batch. The first push into a stretch
// stamps it, before it publishes, and so does a push into an empty queue. A reader takes the stamp
// of the stretch in which the front of the queue is: it is at most a stretch too early. There are
// more stamps than stretches that the queue's tuples may lie in, so no stamp of theirs is
// overwritten: edge PUBLISH of the ring brings a stamp to a thread that sees its tuples, and edge
// RECYCLE comes before the slot is used again. A thread that reads while another one takes tuples,
// as a policy at an operator with replicas does, may read the stamp of later tuples, or half of
// each. Then the policy is wrong once.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "protocol.hpp"

namespace millrace {

class Stamps {
 public:
  struct Stamp {
    int64_t enqueued_ns, born_ns;
  };

  explicit Stamps(size_t capacity)
      : shift_(static_cast<uint32_t>(
            std::bit_width(std::max<size_t>(MAX_BATCH, capacity / (SLOTS - 4)) - 1))) {}

  // Before `count` tuples are pushed at position `tail` of a queue whose front is at `head`.
  // Producer only. `now()`: a clock [ns].
  template <class Now>
  void stamp(uint64_t tail, uint64_t head, size_t count, int64_t born_ns, Now now) noexcept {
    const uint64_t first = tail >> shift_, last = (tail + count - 1) >> shift_;
    if (tail != head && last < next_) return;
    const int64_t now_ns = now();
    for (uint64_t stretch = tail == head ? first : std::max(first, next_); stretch <= last;
         ++stretch) {
      slots_[stretch % SLOTS].enqueued_ns.store(now_ns, std::memory_order_relaxed);
      slots_[stretch % SLOTS].born_ns.store(born_ns, std::memory_order_relaxed);
    }
    next_ = last + 1;
  }
  // Of the tuple at the front; there must be one.
  Stamp at(uint64_t head) const noexcept {
    const Written& slot = slots_[(head >> shift_) % SLOTS];
    return {slot.enqueued_ns.load(std::memory_order_relaxed),
            slot.born_ns.load(std::memory_order_relaxed)};
  }

 private:
  struct Written {
    std::atomic<int64_t> enqueued_ns{0}, born_ns{0};
  };
  static constexpr size_t SLOTS = 16;
  uint32_t shift_;
  uint64_t next_ = 0;  // the first stretch that has no stamp
  Written slots_[SLOTS];
};

}  // namespace millrace
