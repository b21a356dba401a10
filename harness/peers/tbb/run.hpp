// run.hpp - what travels, and what operators do with it and count. Kernels are those of our
// runtime.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "flop.hpp"
#include "histogram.hpp"
#include "plan.hpp"
#include "tuple.hpp"

namespace peer {

// At full speed one tuple in so many has its latency taken, with a rate every one.
inline constexpr uint64_t SAMPLED = 32;
inline constexpr int64_t LONGEST_SLEEP_NS = 10'000'000;

// Tuples that travel together; one, where tuples travel by themselves. An array for each field, so
// that an operator touches no more than the values, several with an instruction. All that it needs
// is one piece of memory.
class Block {
 public:
  static Block* make(size_t batch, size_t payload) {
    const size_t line = batch == 1 ? alignof(Block) : millrace::CACHE_LINE;
    const size_t payloads = (batch * payload + line - 1) / line * line;
    size_t space = sizeof(Block) + payloads + batch * HEADER + line;
    void* const memory = ::operator new(space);
    void* at = static_cast<char*>(memory) + sizeof(Block);
    std::align(line, payloads + batch * HEADER, at, space);  // else vectors would be in two lines
    return new (static_cast<Block*>(at) - 1)
        Block(batch, memory, static_cast<char*>(at) + payloads);
  }
  static void free(Block* block) { ::operator delete(block->memory_); }

  char* payload(size_t i, size_t bytes) { return reinterpret_cast<char*>(this + 1) + i * bytes; }
  double* values() { return values_; }
  uint64_t* sequences() { return reinterpret_cast<uint64_t*>(values_ + batch); }
  int64_t* born() { return reinterpret_cast<int64_t*>(sequences() + batch); }
  uint32_t* paths() { return reinterpret_cast<uint32_t*>(born() + batch); }

  void copy_from(Block& other, size_t from, size_t tuples, size_t bytes) {
    std::copy_n(other.values() + from, tuples, values() + count);
    std::copy_n(other.sequences() + from, tuples, sequences() + count);
    std::copy_n(other.born() + from, tuples, born() + count);
    std::copy_n(other.paths() + from, tuples, paths() + count);
    std::memcpy(payload(count, bytes), other.payload(from, bytes), tuples * bytes);
    count += tuples;
  }
  void add_to_paths(uint32_t step) {
    if (step == 0) return;
    for (size_t i = 0; i < count; ++i) paths()[i] += step;
  }

  const size_t batch;  // tuples that it has room for
  size_t count = 0;
  size_t source = 0;    // operator that sent it
  size_t port = 0;      // and by which output port
  uint64_t weight = 0;  // of its source's token
  bool left = false;    // counted as not executed: it goes nowhere any more

 private:
  static constexpr size_t HEADER = 3 * sizeof(uint64_t) + sizeof(uint32_t);

  Block(size_t batch, void* memory, void* values)
      : batch(batch), memory_(memory), values_(static_cast<double*>(values)) {}

  void* const memory_;
  double* const values_;
};

// By eight words first, as one vector.
inline void fill(char* at, uint64_t sequence, size_t bytes) {
  typedef uint64_t Words __attribute__((vector_size(64)));
  uint64_t word = sequence * millrace::GOLDEN;
  for (; bytes >= sizeof(Words); bytes -= sizeof(Words), at += sizeof(Words), word += 8) {
    const Words words = word + Words{0, 1, 2, 3, 4, 5, 6, 7};
    std::memcpy(at, &words, sizeof(words));
  }
  for (; bytes >= 8; bytes -= 8, at += 8, ++word) std::memcpy(at, &word, 8);
  std::memcpy(at, &word, bytes);
}

// Looks at the first and the last whole word, at the bytes after it, and at one word between that
// changes from tuple to tuple.
inline bool is_intact(const char* at, uint64_t sequence, size_t bytes, uint64_t mixed) {
  const size_t words = bytes / 8;
  const uint64_t base = sequence * millrace::GOLDEN;
  const uint64_t rest = base + words;
  const auto is_made = [&](size_t i) {
    uint64_t word;
    std::memcpy(&word, at + 8 * i, 8);
    return word == base + i;
  };
  const bool is_whole =
      words == 0 || (is_made(0) & is_made(words - 1) & is_made((mixed >> 32) * words >> 32));
  return is_whole && (bytes % 8 == 0 || std::memcmp(at + 8 * words, &rest, bytes % 8) == 0);
}

// The work of an operator, as `millrace::multiply_batch` does it.
inline void multiply_all(double* values, size_t count, uint32_t cost) {
  const double factor = millrace::opaque_one();
  if (cost == 1) {  // without the inner loop, which would take longer than the multiply
    for (size_t i = 0; i < count; ++i) values[i] *= factor;
  } else if (cost < millrace::SERIAL_FLOP || count == 1) {
    for (size_t i = 0; i < count; ++i) values[i] = millrace::multiply(values[i], factor, cost);
  } else {
    const double nothing = factor - factor;
    double before = factor;
    for (size_t i = 0; i < count; ++i) {
      before = millrace::multiply(millrace::after(values[i], before, nothing), factor, cost);
      values[i] = before;
    }
  }
}

// A count that one thread at a time writes.
inline void add(std::atomic<uint64_t>& to, uint64_t what) {
  to.store(to.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
}

// What one operator counts. `executed` is of one thread at a time; where several execute it at
// once, each has counts of its own (`Run::executed_by`).
struct alignas(2 * millrace::CACHE_LINE) Tally {
  std::atomic<uint64_t> executed{0}, left{0}, sum{0};
  uint64_t out_of_order = 0, harmed = 0;
  std::vector<uint64_t> next;  // by path: the sequence number after the last one
  millrace::Histogram latency;
};

class Run {
 public:
  Run(const Plan& plan, size_t threads) : plan(plan), executed_(threads * plan.operators.size()) {
    for (size_t i = 0; i < plan.operators.size(); ++i) tallies.push_back(std::make_unique<Tally>());
  }

  void begin() { began_ = std::chrono::steady_clock::now(); }
  int64_t now() const {  // ns since the start; never 0
    return std::max<int64_t>(
        1, (std::chrono::steady_clock::now() - began_) / std::chrono::nanoseconds(1));
  }

  // Counts a block's tuples if operators only count by now.
  bool leaves(size_t number, Block* block) {
    if (!cut.load(std::memory_order_relaxed)) return false;
    block->left = true;
    uint64_t sum = 0;
    for (size_t i = 0; i < block->count; ++i) sum += millrace::fingerprint(block->sequences()[i]);
    tallies[number]->left += block->count;
    tallies[number]->sum += sum;
    return true;
  }

  // What one thread of the arena has executed of an operator.
  std::atomic<uint64_t>& executed_by(size_t thread, size_t number) {
    return executed_[thread * plan.operators.size() + number].tuples;
  }
  uint64_t executed(size_t number) const {
    uint64_t sum = tallies[number]->executed.load(std::memory_order_relaxed);
    for (size_t i = number; i < executed_.size(); i += plan.operators.size())
      sum += executed_[i].tuples.load(std::memory_order_relaxed);
    return sum;
  }

  // The work of an operator, which adds to this count.
  void work(size_t number, Block* block, std::atomic<uint64_t>& executed) {
    const Operator& op = plan.operators[number];
    if (op.busy_ns > 0) {
      for (size_t i = 0; i < block->count; ++i) {
        for (const int64_t end = now() + op.busy_ns; now() < end;) {
        }
      }
    } else {
      multiply_all(block->values(), block->count, op.cost);
    }
    add(executed, block->count);
  }

  // A block has arrived at a sink, which one thread at a time executes.
  void receive(size_t number, Block* block) {
    if (leaves(number, block)) return;
    Tally& tally = *tallies[number];
    const size_t count = block->count, bytes = plan.payload;
    const uint64_t* sequences = block->sequences();
    const int64_t* born = block->born();
    const double* values = block->values();
    const uint32_t* paths = block->paths();
    uint64_t sum = 0, harmed = 0, out_of_order = 0;
    for (size_t i = 0; i < count; ++i) {
      sum += millrace::fingerprint(sequences[i]);
      harmed += values[i] != millrace::value_for(sequences[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint64_t mixed = millrace::fingerprint(sequences[i]);
      harmed += !is_intact(block->payload(i, bytes), sequences[i], bytes, mixed);
      if (born[i] > 0) tally.latency.record(now() - born[i]);
      if (paths[i] >= tally.next.size()) tally.next.resize(paths[i] + 1);
      uint64_t& expected = tally.next[paths[i]];
      out_of_order += sequences[i] < expected;
      expected = sequences[i] + 1;
    }
    tally.harmed += harmed;
    tally.out_of_order += out_of_order;
    add(tally.sum, sum);
    add(tally.executed, count);
  }

  const Plan& plan;
  std::vector<std::unique_ptr<Tally>> tallies;
  std::atomic<bool> stopping{false}, cut{false};
  std::atomic<int64_t> ended{0};  // ns since the start; 0: not yet

 private:
  struct alignas(2 * millrace::CACHE_LINE) Count {
    std::atomic<uint64_t> tuples{0};
  };

  std::chrono::steady_clock::time_point began_;
  std::vector<Count> executed_;  // by thread of the arena, and there by operator
};

// A source: makes tuples into blocks, one for each output port, as tuples take the ports in turn.
class Maker {
 public:
  Maker(Run& run, size_t number)
      : run_(run),
        number_(number),
        gap_ns_(run.plan.operators[number].gap_ns),
        open_(run.plan.operators[number].ports.size()) {}

  // The next block, in memory that `take` returns; null if there shall be none.
  template <class Take>
  Block* next(Take&& take) {
    return gap_ns_ > 0.0 ? next_due(take) : next_of_round(take);
  }

 private:
  // At full speed: a block for each port in turn, with the tuples that take this port.
  template <class Take>
  Block* next_of_round(Take&& take) {
    const size_t ports = open_.size();
    if (port_ == ports || begin_ + port_ >= end_) {
      begin_ = end_;
      end_ += run_.plan.batch * ports;
      if (run_.plan.limit >= 0) end_ = std::min(end_, static_cast<uint64_t>(run_.plan.limit));
      port_ = 0;
      if (begin_ == end_ || run_.stopping.load(std::memory_order_relaxed)) {
        end_ = begin_;
        return nullptr;
      }
    }
    Block* block = take();
    fill_with(*block, begin_ + port_, ports);
    return made(block, port_++);
  }

  // Tuples with this number, and every so many after it.
  void fill_with(Block& block, uint64_t first, uint64_t every) {
    const size_t count = (end_ - first + every - 1) / every, bytes = run_.plan.payload;
    uint64_t* sequences = block.sequences();
    int64_t* born = block.born();
    double* values = block.values();
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      sequences[i] = first + i * every;
      values[i] = millrace::value_for(sequences[i]);
      sum += millrace::fingerprint(sequences[i]);
    }
    std::fill_n(block.paths(), count, 0);
    for (size_t i = 0; i < count; ++i) {
      born[i] = sequences[i] % SAMPLED == 0 ? run_.now() : 0;
      fill(block.payload(i, bytes), sequences[i], bytes);
    }
    block.count = count;
    count_made(count, sum);
  }

  // With a rate: blocks for all ports at once, of tuples as they become due.
  template <class Take>
  Block* next_due(Take&& take) {
    if (!find_open()) {
      fill_due(take);
      if (!find_open()) return nullptr;
    }
    Block* block = std::exchange(open_[port_], nullptr);
    return made(block, port_++);
  }

  bool find_open() {
    while (port_ < open_.size() && open_[port_] == nullptr) ++port_;
    return port_ < open_.size();
  }

  template <class Take>
  void fill_due(Take&& take) {
    port_ = 0;
    const uint64_t most = run_.plan.batch * open_.size();
    uint64_t sum = 0, count = 0;
    while (count < most && static_cast<int64_t>(sequence_) != run_.plan.limit &&
           !run_.stopping.load(std::memory_order_relaxed)) {
      const int64_t due = std::max<int64_t>(1, static_cast<int64_t>(sequence_ * gap_ns_));
      if (run_.now() < due) {
        if (count > 0) break;  // what is due does not wait for what is not
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(std::min(due - run_.now(), LONGEST_SLEEP_NS)));
        continue;
      }
      Block*& block = open_[turn_];
      if (block == nullptr) block = take();
      const size_t i = block->count++;
      block->sequences()[i] = sequence_;
      block->born()[i] = due;
      block->values()[i] = millrace::value_for(sequence_);
      block->paths()[i] = 0;
      fill(block->payload(i, run_.plan.payload), sequence_, run_.plan.payload);
      sum += millrace::fingerprint(sequence_);
      ++sequence_;
      ++count;
      turn_ = turn_ + 1 == open_.size() ? 0 : turn_ + 1;
    }
    count_made(count, sum);
  }

  Block* made(Block* block, size_t port) const {
    block->source = number_;
    block->port = port;
    block->weight = run_.plan.batch;
    return block;
  }

  void count_made(size_t count, uint64_t sum) {
    add(run_.tallies[number_]->sum, sum);
    add(run_.tallies[number_]->executed, count);
  }

  Run& run_;
  const size_t number_;
  const double gap_ns_;
  size_t port_ = 0;  // of the next block
  // at full speed: the numbers of the round
  uint64_t begin_ = 0, end_ = 0;
  // with a rate: by output port, null: nothing for it yet; whose turn it is; the next number
  std::vector<Block*> open_;
  size_t turn_ = 0;
  uint64_t sequence_ = 0;
};

// Of one dependent multiply: the least of many measurements, as all but the least were disturbed.
inline double ns_per_flop() {
  using Clock = std::chrono::steady_clock;
  constexpr uint32_t FLOP = 200'000;
  constexpr std::chrono::milliseconds LONGEST(100);
  double least = std::numeric_limits<double>::infinity();
  for (const auto first = Clock::now(); Clock::now() - first < LONGEST;) {
    const auto begin = Clock::now();
    if (millrace::multiply(1.5, millrace::opaque_one(), FLOP) != 1.5)
      refuse("a multiply by 1.0 changed a value");
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    least = std::min(least, time.count() / FLOP);
  }
  return least;
}

}  // namespace peer
