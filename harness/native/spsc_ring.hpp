// spsc_ring.hpp - bounded FIFO of tuples between one producer at a time and one consumer at a time,
// slots inline.
//
//   tail_        published end: written by the producer, read by the consumer
//   head_        published front: the other way round
//   head_seen_   the producer's last look at head_
//   tail_seen_   the consumer's last look at tail_
//   slot i       the producer's until tail_ passes i, then the consumer's until head_ does; both
//                work on it in place
//
// Edges  PUBLISH  tail_.store(release) -> tail_.load(acquire)   slots before tail_ are filled
//        RECYCLE  head_.store(release) -> head_.load(acquire)   slots before head_ are free again
// A side reads its own index relaxed: only it writes it. Where several threads take turns as
// producer (or consumer) a TryFlag hands the side over, and its edge HANDOVER carries the private
// members along.
//
// Both sides look at the other's index only when their last look does not suffice, and publish once
// a batch, so that the index lines move between cores once a batch instead of once a tuple.
// Progress: wait-free.
// Source: Lamport, TOPLAS 5(2), 1983; remembered indices and batches as in MCRingBuffer (Lee, Bu,
// Chandranmenon, IPDPS 2010).
// Checked by: tests/native/explore_ready.cpp in many interleavings;
// tests/native/stress_spsc_ring.cpp
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "real_platform.hpp"
#include "tuple.hpp"

namespace millrace {

template <class Platform>
class BasicSpscRing {
  using Index = typename Platform::template Word<uint64_t>;

 public:
  // `memory` holds capacity * stride bytes, belongs to the caller and outlives the ring.
  void init(char* memory, size_t capacity, size_t stride) noexcept {
    slots_ = memory;
    capacity_ = capacity;
    stride_ = stride;
  }

  // Copies up to `count` tuples that lie `spacing` bytes apart behind what is queued and publishes
  // them; returns how many fitted. Producer only. `path_step` is added to the path of each (fan-in:
  // tells the streams of a port apart).
  size_t push(Tuple* first, size_t count, size_t spacing, uint32_t path_step) noexcept {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_seen_ + count > capacity_)
      head_seen_ = head_.load(std::memory_order_acquire);  // RECYCLE
    const size_t fitting = std::min<size_t>(count, capacity_ - (tail - head_seen_));
    if (fitting == 0) return 0;
    const size_t before_wrap = std::min(fitting, capacity_ - tail_slot_);
    copy(tail_slot_, first, before_wrap, spacing, path_step);
    tail_slot_ += before_wrap;
    if (tail_slot_ == capacity_) tail_slot_ = 0;
    if (before_wrap < fitting) {
      copy(0, slot(first, spacing, before_wrap), fitting - before_wrap, spacing, path_step);
      tail_slot_ = fitting - before_wrap;
    }
    tail_.store(tail + fitting, std::memory_order_release);  // PUBLISH
    return fitting;
  }

  // Free slots that the producer knows of; it looks again where they are fewer than `wanted`.
  // Producer only: they stay free until it pushes.
  size_t room(size_t wanted) noexcept {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_seen_ + wanted > capacity_)
      head_seen_ = head_.load(std::memory_order_acquire);  // RECYCLE
    return capacity_ - (tail - head_seen_);
  }

  // Up to `most` tuples at the front that lie side by side, in `*first`; 0 = empty. Consumer only.
  // They stay in their slots, to be worked on in place, until release().
  size_t front(size_t most, Tuple** first) noexcept {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (tail_seen_ - head < most) tail_seen_ = tail_.load(std::memory_order_acquire);  // PUBLISH
    *first = at(head_slot_);
    return std::min({most, static_cast<size_t>(tail_seen_ - head), capacity_ - head_slot_});
  }

  // Gives the first `count` slots back, at most as many as front() returned. Consumer only.
  void release(size_t count) noexcept {
    head_slot_ += count;
    if (head_slot_ == capacity_) head_slot_ = 0;
    head_.store(head_.load(std::memory_order_relaxed) + count,
                std::memory_order_release);  // RECYCLE
  }

  // Any thread; may be out of date by what the two sides did meanwhile. Reads head_ first: the
  // guess errs on the side of more.
  size_t size_guess() const noexcept {
    const uint64_t head = head_.load(std::memory_order_acquire);
    return std::min<uint64_t>(tail_.load(std::memory_order_acquire) - head, capacity_);
  }
  size_t capacity() const noexcept { return capacity_; }
  size_t stride() const noexcept { return stride_; }

  // What a waiting side watches (parking.hpp).
  const Index& tail() const noexcept { return tail_; }
  const Index& head() const noexcept { return head_; }

  // The `index`-th tuple from the front, when no thread is running any more (for the account of
  // tuples left behind).
  Tuple* left_behind(size_t index) noexcept { return at((head_slot_ + index) % capacity_); }

 private:
  Tuple* at(size_t index) noexcept {
    return slot(reinterpret_cast<Tuple*>(slots_), stride_, index);
  }
  template <size_t BYTES>
  static void copy_slots(Tuple* to, const Tuple* from, size_t count, size_t spacing) noexcept {
    char* target = reinterpret_cast<char*>(to);
    const char* source = reinterpret_cast<const char*>(from);
    for (size_t i = 0; i < count; ++i, target += BYTES, source += spacing)
      std::memcpy(target, source, BYTES);
  }
  void copy(size_t start, Tuple* first, size_t count, size_t spacing, uint32_t path_step) noexcept {
    if (stride_ == 2 * CACHE_LINE) {
      // the usual size, by moves of whole lines
      copy_slots<2 * CACHE_LINE>(at(start), first, count, spacing);
    } else {
      for (size_t i = 0; i < count; ++i)
        std::memcpy(at(start + i), slot(first, spacing, i), stride_);
    }
    if (path_step != 0) {
      for (size_t i = 0; i < count; ++i) at(start + i)->path += path_step;
    }
  }

  // constant after init, so that both sides may read these
  alignas(CACHE_LINE) char* slots_ = nullptr;
  size_t capacity_ = 0;
  size_t stride_ = 0;
  alignas(CACHE_LINE) Index tail_{0};  // the producer's line
  uint64_t head_seen_ = 0;
  size_t tail_slot_ = 0;               // tail_ modulo the capacity
  alignas(CACHE_LINE) Index head_{0};  // the consumer's line
  uint64_t tail_seen_ = 0;
  size_t head_slot_ = 0;  // head_ modulo the capacity
};
using SpscRing = BasicSpscRing<RealPlatform>;

}  // namespace millrace
