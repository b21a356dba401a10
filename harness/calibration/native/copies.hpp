// copies.hpp - slots copied from ring to ring, by how much memory the two rings take together and who wrote them.
//
// The copy is the one of the runtime (SpscRing::push), a whole ring at once.
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

// Two rings that are touched throughout; half of `footprint` [bytes] each, of whole slots.
class RingPair {
 public:
  RingPair(size_t stride, size_t footprint) noexcept
      : stride_(stride),
        slots_(std::max<size_t>(1, footprint / 2 / stride)),
        bytes_(2 * slots_ * stride + 4096),
        memory_(reserve_memory(bytes_)) {
    if (memory_ == nullptr) return;
    for (size_t at = 0; at < bytes_; at += CACHE_LINE) memory_[at] = 1;
    target_.init(memory_ + slots_ * stride, slots_, stride);
  }
  ~RingPair() { give_back_memory(memory_, bytes_); }
  RingPair(const RingPair&) = delete;
  RingPair& operator=(const RingPair&) = delete;

  bool there() const noexcept { return memory_ != nullptr; }
  size_t slots() const noexcept { return slots_; }

  // Copies every slot of the first ring to the second.
  void copy() noexcept {
    target_.push(reinterpret_cast<Tuple*>(memory_), slots_, stride_, 0);
    Tuple* first;
    target_.release(target_.front(slots_, &first));
  }

  // Changes every line of the first ring: what a producer does with the tuples that it puts there.
  void write() noexcept {
    for (size_t at = 0; at < slots_ * stride_; at += CACHE_LINE) line(at).fetch_add(1, std::memory_order_relaxed);
  }

  // Reads every line of the second ring and changes the first one of each slot: what an operator does with a tuple that it works on.
  void work() noexcept {
    const size_t begin = slots_ * stride_;
    for (size_t at = 0; at < slots_ * stride_; at += CACHE_LINE) {
      seen_ += line(begin + at).load(std::memory_order_relaxed);
      if (at % stride_ == 0) line(begin + at).store(seen_, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic_ref<char> line(size_t at) noexcept { return std::atomic_ref<char>(memory_[at]); }
  const size_t stride_, slots_, bytes_;
  char* const memory_;
  SpscRing target_;
  char seen_ = 0;
};

// ns a slot, of at least `bytes` copied by a thread alone; below 0: an error of the system.
inline double copy_ns(size_t stride, size_t footprint, size_t bytes) noexcept {
  RingPair rings(stride, footprint);
  if (!rings.there()) return -ENOMEM;
  const size_t times = std::max<size_t>(1, bytes / (rings.slots() * stride));
  rings.copy();
  const int64_t begin = now_ns();
  for (size_t i = 0; i < times; ++i) rings.copy();
  return static_cast<double>(now_ns() - begin) / static_cast<double>(times * rings.slots());
}

// The same between rings in the memory of the second CPU's socket, which is where its thread has touched them first.
inline double copy_far_ns(const int* two_cpus, size_t stride, size_t footprint) noexcept {
  std::unique_ptr<RingPair> rings;
  double ns = -ENOMEM;
  int error = together(two_cpus + 1, 1, [&](int) { rings = std::make_unique<RingPair>(stride, footprint); });
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
enum Before { NOTHING, WRITES, READS };

// The same while the thread of the second CPU has always changed the slots before (WRITES), or worked on the tuples that lay where these are
// copied to (READS).
inline double copy_between_ns(const int* two_cpus, Before other, size_t stride, size_t footprint, size_t bytes) noexcept {
  RingPair rings(stride, footprint);
  if (!rings.there()) return -ENOMEM;
  const size_t times = std::max<size_t>(1, bytes / (rings.slots() * stride));
  Meeting meeting(2);
  int64_t spent = 0;
  const int error = together(two_cpus, 2, [&](int i) {
    for (size_t round = 0; round < times; ++round) {
      if (i == 1 && other == WRITES) rings.write();
      if (i == 1 && other == READS) rings.work();
      meeting.arrive();
      if (i == 0) {
        const int64_t begin = now_ns();
        rings.copy();
        spent += now_ns() - begin;
      }
      meeting.arrive();
    }
  });
  return error == 0 ? static_cast<double>(spent) / static_cast<double>(times * rings.slots()) : -error;
}

// Bytes a ns that all of `cpus` copy together, each with rings of its own.
inline double copy_together(const int* cpus, int count, size_t stride, size_t footprint) noexcept {
  double rates[MOST_PINNED], sum = 0.0;
  const int error = together(cpus, count, [&](int i) {
    const double ns = copy_ns(stride, footprint, footprint);
    rates[i] = ns > 0 ? static_cast<double>(stride) / ns : ns;
  });
  if (error != 0) return -error;
  for (int i = 0; i < count; ++i) {
    if (rates[i] <= 0) return rates[i];
    sum += rates[i];
  }
  return sum;
}

}  // namespace millrace
