// copies.hpp - slots copied from ring to ring, by how much memory the two rings take together and
// which core wrote them.
//
// The copy is the one of the runtime (SpscRing::push), a whole ring at once, or as much of it as
// the other one holds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "memory.hpp"
#include "pinned.hpp"
#include "spsc_ring.hpp"
#include "thread.hpp"
#include "tuple.hpp"

namespace millrace {

// Two rings that are touched throughout, of whole slots; the larger one is a multiple of the other.
class RingPair {
 public:
  // `from`, `to`: how large they are [bytes].
  RingPair(size_t stride, size_t from, size_t to) noexcept
      : stride_(stride),
        at_once_(std::max<size_t>(1, std::min(from, to) / stride)),
        from_(std::max<size_t>(1, from / stride / at_once_) * at_once_),
        to_(std::max<size_t>(1, to / stride / at_once_) * at_once_),
        bytes_((from_ + to_) * stride + 4096),
        memory_(reserve_memory(bytes_)) {
    if (memory_ == nullptr) return;
    for (size_t at = 0; at < bytes_; at += CACHE_LINE) memory_[at] = 1;
    target_.init(memory_ + from_ * stride, to_, stride);
  }
  // Half of `footprint` [bytes] each.
  RingPair(size_t stride, size_t footprint) noexcept
      : RingPair(stride, footprint / 2, footprint / 2) {}
  ~RingPair() { give_back_memory(memory_, bytes_); }
  RingPair(const RingPair&) = delete;
  RingPair& operator=(const RingPair&) = delete;

  bool there() const noexcept { return memory_ != nullptr; }
  size_t slots() const noexcept { return std::max(from_, to_); }

  // Copies the first ring to the second, until each slot of both has been used.
  void copy() noexcept {
    for (size_t at = 0; at < slots(); at += at_once_) {
      target_.push(reinterpret_cast<Tuple*>(memory_ + at % from_ * stride_), at_once_, stride_, 0);
      Tuple* first;
      target_.release(target_.front(at_once_, &first));
    }
  }

  // Changes every line of the first ring: what a producer does with the tuples that it puts there.
  void write() noexcept {
    for (size_t at = 0; at < from_ * stride_; at += CACHE_LINE)
      line(at).fetch_add(1, std::memory_order_relaxed);
  }

  // Reads every line of the second ring and changes the first one of each slot: what an operator
  // does with a tuple that it works on.
  void work() noexcept {
    const size_t begin = from_ * stride_;
    for (size_t at = 0; at < to_ * stride_; at += CACHE_LINE) {
      seen_ += line(begin + at).load(std::memory_order_relaxed);
      if (at % stride_ == 0) line(begin + at).store(seen_, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic_ref<char> line(size_t at) noexcept { return std::atomic_ref<char>(memory_[at]); }
  const size_t stride_, at_once_, from_, to_, bytes_;
  char* const memory_;
  SpscRing target_;
  char seen_ = 0;
};

// ns a slot, of at least `bytes` copied by a thread alone; below 0: an error of the system.
inline double copy_ns(size_t stride, size_t from, size_t to, size_t bytes) noexcept {
  RingPair rings(stride, from, to);
  if (!rings.there()) return -ENOMEM;
  const size_t times = std::max<size_t>(1, bytes / (rings.slots() * stride));
  rings.copy();
  const int64_t begin = now_ns();
  for (size_t i = 0; i < times; ++i) rings.copy();
  return static_cast<double>(now_ns() - begin) / static_cast<double>(times * rings.slots());
}

// The same between rings in the memory of the second CPU's socket, which is where its thread has
// touched them first.
inline double copy_far_ns(const int* two_cpus, size_t stride, size_t footprint) noexcept {
  std::unique_ptr<RingPair> rings;
  double ns = -ENOMEM;
  int error = together(two_cpus + 1, 1,
                       [&](int) { rings = std::make_unique<RingPair>(stride, footprint); });
  if (error == 0 && rings->there()) {
    error = together(two_cpus, 1, [&](int) {
      const int64_t begin = now_ns();
      rings->copy();
      ns = static_cast<double>(now_ns() - begin) / static_cast<double>(rings->slots());
    });
  }
  return error == 0 ? ns : -error;
}

// What the other of two threads has just done with the slots.
enum Before { NOTHING, WRITES, READS, BOTH };

// The same while the thread of the second CPU has always changed the slots before (WRITES), or
// worked on the tuples that lay where these are copied to (READS), or both.
inline double copy_between_ns(const int* two_cpus, Before other, size_t stride, size_t from,
                              size_t to, size_t bytes) noexcept {
  RingPair rings(stride, from, to);
  if (!rings.there()) return -ENOMEM;
  const size_t times = std::max<size_t>(1, bytes / (rings.slots() * stride));
  Meeting meeting(2);
  int64_t spent = 0;
  const int error = together(two_cpus, 2, [&](int i) {
    for (size_t round = 0; round < times; ++round) {
      if (i == 1 && (other == WRITES || other == BOTH)) rings.write();
      if (i == 1 && (other == READS || other == BOTH)) rings.work();
      meeting.arrive();
      if (i == 0) {
        const int64_t begin = now_ns();
        rings.copy();
        spent += now_ns() - begin;
      }
      meeting.arrive();
    }
  });
  return error == 0 ? static_cast<double>(spent) / static_cast<double>(times * rings.slots())
                    : -error;
}

// Bytes a ns that all of `cpus` copy together, each with rings of its own. None begins before all
// have touched theirs: pages that the system clears for one thread would slow another one down.
inline double copy_together(const int* cpus, int count, size_t stride, size_t footprint) noexcept {
  constexpr size_t TIMES = 4;
  double rates[MOST_PINNED], sum = 0.0;
  Meeting meeting(count);
  const int error = together(cpus, count, [&](int i) {
    RingPair rings(stride, footprint);
    meeting.arrive();
    rates[i] = -ENOMEM;
    if (!rings.there()) return;
    const int64_t begin = now_ns();
    for (size_t round = 0; round < TIMES; ++round) rings.copy();
    rates[i] =
        static_cast<double>(TIMES * rings.slots() * stride) / static_cast<double>(now_ns() - begin);
  });
  if (error != 0) return -error;
  for (int i = 0; i < count; ++i) {
    if (rates[i] <= 0) return rates[i];
    sum += rates[i];
  }
  return sum;
}

}  // namespace millrace
