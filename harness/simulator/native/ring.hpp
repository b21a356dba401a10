// ring.hpp - a queue before a port: the tuples in it, and which cores touched its slots when.
//
// A tuple is its header alone, of which data has no value; what its payload costs follows from the
// slot's size. Tuples that follow each other as the ones before them do are kept as one run, so
// that a queue of 1,000 takes 2 KB where a run is a batch, and the queues of 1,000 operators fit
// the caches of the machine that simulates. A consumer takes a copy of tuples; they stay in the
// queue until they are worked on.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "footprint.hpp"
#include "line.hpp"
#include "tuple.hpp"

namespace millrace::sim {

struct Worker;

// Where slots were touched last: by which core, how much that core had used by then, and how much
// had been put into all queues [bytes].
struct Visit {
  uint32_t core = Line::NOBODY;
  uint64_t used = 0, filled = 0;
};

// The last visits to the slots of a ring of one sort, a record for SPAN neighbours: what they hold
// is exact within a KiB.
class Visits {
 public:
  // No two spans of tuples that are in a ring at once share a place. A power of two: dividing by
  // any other number takes as long as all the rest.
  void resize(uint64_t capacity) { spans_.resize(std::bit_ceil(capacity / SPAN + 2)); }
  void note(uint64_t first, uint64_t count, const Visit& visit) noexcept {
    const Span now{visit.core, static_cast<uint32_t>(visit.used >> 10),
                   static_cast<uint32_t>(visit.filled >> 10)};
    for (uint64_t span = first / SPAN; span <= (first + count - 1) / SPAN; ++span)
      spans_[place(span)] = now;
  }
  // Bytes since then: touched by that core, put into all queues. `cores`: what each has touched
  // until now; `filled`: likewise.
  Visit since(uint64_t position, const std::vector<Footprint>& cores,
              uint64_t filled) const noexcept {
    const Span& span = spans_[place(position / SPAN)];
    return {span.core, span.core == Line::NOBODY ? 0 : since(cores[span.core].used(), span.used),
            since(filled, span.filled)};
  }

 private:
  static constexpr uint64_t SPAN = 16;
  struct Span {
    uint32_t core = Line::NOBODY, used = 0, filled = 0;  // KiB, which may overflow
  };
  static uint64_t since(uint64_t now, uint32_t then) noexcept {
    return static_cast<uint64_t>(static_cast<uint32_t>(now >> 10) - then) << 10;
  }
  uint64_t place(uint64_t span) const noexcept { return span & (spans_.size() - 1); }
  std::vector<Span> spans_;
};

// The begin or the end of a ring, and the threads that look at it all the time.
class Index {
 public:
  operator uint64_t() const noexcept { return value_; }  // NOLINT: as a number
  Index& operator+=(uint64_t count) noexcept {
    value_ += count;
    return *this;
  }
  uint64_t load(std::memory_order) const noexcept { return value_; }
  mutable std::vector<Worker*> watching;

 private:
  uint64_t value_ = 0;
};

class Ring {
 public:
  const Index& head() const noexcept { return head_; }  // published
  const Index& tail() const noexcept { return tail_; }
  uint64_t head_seen = 0, tail_seen = 0;  // the last look of the producer, of the consumer
  Visits filled, worked;                  // by the producer, by the consumer
  Line head_line, tail_line;

  void resize(uint64_t capacity) {
    capacity_ = capacity;
    filled.resize(capacity);
    worked.resize(capacity);
  }
  uint64_t capacity() const noexcept { return capacity_; }
  uint64_t size() const noexcept { return tail_ - head_; }
  uint64_t bytes() const noexcept { return runs_.size() * sizeof(Run); }  // that its tuples take

  // So many tuples, of which neighbours are `spacing` apart, and whose paths are so much further
  // on.
  void append(const Tuple* first, uint32_t spacing, uint64_t count, uint32_t path_step) {
    while (count > 0) {
      uint64_t pushed =
          size() == 0 ? 0 : runs_[last_ & mask()].extend(first, spacing, count, path_step);
      if (pushed == 0) {
        begin(*first, path_step);
        pushed = 1;
      }
      tail_ += pushed;
      count -= pushed;
      first += pushed * spacing;
    }
  }
  // The oldest tuples, which stay where they are.
  void copy(uint64_t count, Tuple* to) const noexcept {
    uint64_t place = taken_;
    for (uint64_t run = first_; count > 0; ++run, place = 0) {
      const Run& from = runs_[run & mask()];
      const uint64_t length = std::min(count, from.count - place);
      from.copy(place, length, to);
      count -= length;
      to += length;
    }
  }
  void pop(uint64_t count) noexcept {
    head_ += count;
    for (taken_ += count; first_ != last_ && taken_ >= runs_[first_ & mask()].count; ++first_)
      taken_ -= runs_[first_ & mask()].count;
  }

 protected:
  Index head_, tail_;

 private:
  // Tuples each of which differs from the one before it by `step` and `order_step`; none but the
  // first has a sampled latency.
  struct Run {
    Tuple first;
    uint64_t count = 0, step = 0;
    uint32_t order_step = 0;

    void copy(uint64_t place, uint64_t length, Tuple* to) const noexcept {
      Tuple tuple = first;
      tuple.sequence += place * step;
      tuple.order += static_cast<uint32_t>(place) * order_step;
      if (place > 0) tuple.born_ns = 0;
      for (Tuple* const end = to + length; to != end; ++to) {
        *to = tuple;
        tuple.sequence += step;
        tuple.order += order_step;
        tuple.born_ns = 0;
      }
    }
    // How many of the tuples are the next ones, which belong to it from now on.
    uint64_t extend(const Tuple* next, uint32_t spacing, uint64_t most,
                    uint32_t path_step) noexcept {
      if (first.kind != DATA) return 0;
      if (count == 1) {
        step = next->sequence - first.sequence;
        order_step = next->order - first.order;
      }
      uint64_t sequence = first.sequence + count * step, more = 0;
      uint32_t order = first.order + static_cast<uint32_t>(count) * order_step;
      for (; more < most; ++more, next += spacing) {
        const bool other = (next->sequence != sequence) | (next->order != order) |
                           (next->path + path_step != first.path);
        if (other | (next->born_ns != 0) | (next->kind != DATA)) break;
        sequence += step;
        order += order_step;
      }
      count += more;
      return more;
    }
  };

  void begin(const Tuple& tuple, uint32_t path_step) {
    if (size() == 0) {
      first_ = last_;
      taken_ = 0;
    } else if (++last_ - first_ == runs_.size()) {
      grow();
    }
    if (runs_.empty()) runs_.resize(LEAST);
    Run& run = runs_[last_ & mask()];
    run = {.first = tuple, .count = 1};
    if (tuple.kind == DATA) run.first.value = 0.0;
    if (tuple.kind != FINAL) run.first.path += path_step;
  }
  void grow() {
    std::vector<Run> wider(2 * runs_.size());
    for (uint64_t run = first_; run != last_; ++run)
      wider[run & (wider.size() - 1)] = runs_[run & mask()];
    runs_.swap(wider);
  }
  uint64_t mask() const noexcept { return runs_.size() - 1; }

  static constexpr uint64_t LEAST = 4;

  uint64_t capacity_ = 0;
  std::vector<Run> runs_;          // around; a power of two
  uint64_t first_ = 0, last_ = 0;  // runs: the oldest, the newest
  uint64_t taken_ = 0;             // of the oldest: tuples that are not in the queue any more
};

}  // namespace millrace::sim
