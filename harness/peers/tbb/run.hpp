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

inline constexpr uint64_t SAMPLED = 32;  // one tuple in so many has its latency taken
inline constexpr int64_t LONGEST_SLEEP_NS = 10'000'000;

// Tuples that travel together; one, where tuples travel by themselves. All that it needs is one
// piece of memory: this, the headers, and the payloads.
class Block {
 public:
  static Block* make(size_t batch, size_t payload) {
    void* memory = ::operator new(sizeof(Block) + batch * (sizeof(millrace::Tuple) + payload));
    return new (memory) Block(batch);
  }
  static void free(Block* block) { ::operator delete(block); }

  millrace::Tuple* headers() { return reinterpret_cast<millrace::Tuple*>(this + 1); }
  char* payload(size_t i, size_t bytes) {
    return reinterpret_cast<char*>(headers() + batch) + i * bytes;
  }
  char* add(const millrace::Tuple& header, size_t bytes) {
    headers()[count] = header;
    return payload(count++, bytes);
  }
  void copy_from(Block& other, size_t i, size_t bytes) {
    std::memcpy(add(other.headers()[i], bytes), other.payload(i, bytes), bytes);
  }

  const size_t batch;  // tuples that it has room for
  size_t count = 0;
  size_t source = 0;    // operator that sent it
  size_t port = 0;      // and by which output port
  uint64_t weight = 0;  // of its source's token
  bool left = false;    // counted as not executed: it goes nowhere any more

 private:
  explicit Block(size_t batch) : batch(batch) {}
};
static_assert(sizeof(Block) % alignof(millrace::Tuple) == 0);

inline void fill(char* at, uint64_t sequence, size_t bytes) {
  uint64_t word = sequence * millrace::GOLDEN;
  for (; bytes >= 8; bytes -= 8, at += 8, ++word) std::memcpy(at, &word, 8);
  std::memcpy(at, &word, bytes);
}

// Looks at the first and the last whole word, and at one between that changes from tuple to tuple.
inline bool is_intact(const char* at, uint64_t sequence, size_t bytes, uint64_t mixed) {
  const size_t words = bytes / 8;
  if (words == 0) return true;
  const uint64_t base = sequence * millrace::GOLDEN;
  const size_t probes[3] = {0, words - 1, static_cast<size_t>((mixed >> 32) * words >> 32)};
  return std::all_of(std::begin(probes), std::end(probes), [&](size_t i) {
    uint64_t word;
    std::memcpy(&word, at + 8 * i, 8);
    return word == base + i;
  });
}

// What one operator counts. Where several threads execute it at once, they add; else the one store
// is cheaper.
struct alignas(2 * millrace::CACHE_LINE) Tally {
  std::atomic<uint64_t> executed{0}, left{0}, sum{0};
  uint64_t out_of_order = 0, harmed = 0;
  std::vector<uint64_t> next;  // by path: the sequence number after the last one
  millrace::Histogram latency;

  void count(uint64_t tuples, bool alone) { add(executed, tuples, alone); }
  static void add(std::atomic<uint64_t>& to, uint64_t what, bool alone) {
    if (alone) {
      to.store(to.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
    } else {
      to.fetch_add(what, std::memory_order_relaxed);
    }
  }
};

class Run {
 public:
  explicit Run(const Plan& plan) : plan(plan) {
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
    for (size_t i = 0; i < block->count; ++i)
      sum += millrace::fingerprint(block->headers()[i].sequence);
    tallies[number]->left += block->count;
    tallies[number]->sum += sum;
    return true;
  }

  // The work of an operator. `alone`: no other thread executes it meanwhile.
  void work(size_t number, Block* block, bool alone) {
    const Operator& op = plan.operators[number];
    if (op.busy_ns > 0) {
      for (size_t i = 0; i < block->count; ++i) {
        for (const int64_t end = now() + op.busy_ns; now() < end;) {
        }
      }
    } else {
      millrace::multiply_batch(block->headers(), sizeof(millrace::Tuple),
                               static_cast<uint32_t>(block->count), millrace::opaque_one(),
                               op.cost);
    }
    tallies[number]->count(block->count, alone);
  }

  // A block has arrived at a sink, which one thread at a time executes.
  void receive(size_t number, Block* block) {
    if (leaves(number, block)) return;
    Tally& tally = *tallies[number];
    uint64_t sum = 0;
    for (size_t i = 0; i < block->count; ++i) {
      const millrace::Tuple& header = block->headers()[i];
      const uint64_t mixed = millrace::fingerprint(header.sequence);
      sum += mixed;
      if (header.value != millrace::value_for(header.sequence) ||
          !is_intact(block->payload(i, plan.payload), header.sequence, plan.payload, mixed)) {
        ++tally.harmed;
      }
      if (header.born_ns > 0) tally.latency.record(now() - header.born_ns);
      if (header.path >= tally.next.size()) tally.next.resize(header.path + 1);
      uint64_t& expected = tally.next[header.path];
      if (header.sequence < expected) ++tally.out_of_order;
      expected = header.sequence + 1;
    }
    Tally::add(tally.sum, sum, true);
    tally.count(block->count, true);
  }

  const Plan& plan;
  std::vector<std::unique_ptr<Tally>> tallies;
  std::atomic<bool> stopping{false}, cut{false};
  std::atomic<int64_t> ended{0};  // ns since the start; 0: not yet

 private:
  std::chrono::steady_clock::time_point began_;
};

// A source: makes tuples into blocks, one for each output port, as tuples take the ports in turn.
class Maker {
 public:
  Maker(Run& run, size_t number)
      : run_(run), number_(number), open_(run.plan.operators[number].ports.size()) {}

  // The next block, in memory that `take` returns; null if there shall be none.
  template <class Take>
  Block* next(Take&& take) {
    if (!find_made()) {
      fill_all(take);
      if (!find_made()) return nullptr;
    }
    Block* block = std::exchange(open_[emitted_], nullptr);
    block->source = number_;
    block->port = emitted_++;
    block->weight = run_.plan.batch;
    return block;
  }

 private:
  bool find_made() {
    while (emitted_ < open_.size() && open_[emitted_] == nullptr) ++emitted_;
    return emitted_ < open_.size();
  }

  template <class Take>
  void fill_all(Take&& take) {
    emitted_ = 0;
    const uint64_t most = run_.plan.batch * open_.size();
    uint64_t sum = 0, made = 0;
    while (made < most && static_cast<int64_t>(sequence_) != run_.plan.limit &&
           !run_.stopping.load(std::memory_order_relaxed)) {
      const int64_t due = due_at();
      if (due > 0 && run_.now() < due) {
        if (made > 0) break;  // what is due does not wait for what is not
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(std::min(due - run_.now(), LONGEST_SLEEP_NS)));
        continue;
      }
      Block*& block = open_[turn_];
      if (block == nullptr) block = take();
      const int64_t born = sequence_ % SAMPLED != 0 ? 0 : due > 0 ? due : run_.now();
      fill(block->add({sequence_, born, millrace::value_for(sequence_), 0, millrace::DATA, 0},
                      run_.plan.payload),
           sequence_, run_.plan.payload);
      sum += millrace::fingerprint(sequence_);
      ++sequence_;
      ++made;
      turn_ = turn_ + 1 == open_.size() ? 0 : turn_ + 1;
    }
    Tally::add(run_.tallies[number_]->sum, sum, true);
    run_.tallies[number_]->count(made, true);
  }

  int64_t due_at() const {  // 0: at once
    const double gap = run_.plan.operators[number_].gap_ns;
    return gap > 0.0 ? std::max<int64_t>(1, static_cast<int64_t>(sequence_ * gap)) : 0;
  }

  Run& run_;
  size_t number_;
  std::vector<Block*> open_;  // by output port; null: nothing for it yet
  size_t emitted_ = 0, turn_ = 0;
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
