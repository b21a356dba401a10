// run.hpp - tuples, and what operators do with them and count. Kernels and checks are those of our
// runtime.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "flop.hpp"
#include "histogram.hpp"
#include "plan.hpp"
#include "tuple.hpp"

namespace peer {

inline constexpr size_t INLINE =
    128;  // bytes of a payload that lie in the tuple; a longer one the source allocates
inline constexpr uint64_t SAMPLED = 32;  // one tuple in so many has its latency taken

// The payload lies right behind the header, as in our runtime. A long one has a header of its own.
struct Tuple {
  millrace::Tuple header;
  char payload[INLINE];
  std::shared_ptr<char[]> more;
  size_t source = 0;  // operator that sent it
  bool left = false;  // counted as not executed: it goes nowhere any more

  millrace::Tuple* whole() {
    return more ? reinterpret_cast<millrace::Tuple*>(more.get()) : &header;
  }
};
static_assert(offsetof(Tuple, payload) == sizeof(millrace::Tuple));

// What one operator counts. Where several threads execute it at once, they add; else the one store
// is cheaper.
struct alignas(2 * millrace::CACHE_LINE) Tally {
  std::atomic<uint64_t> executed{0}, left{0}, sum{0};
  double before = 1.0;
  uint64_t out_of_order = 0, harmed = 0;
  std::unordered_map<uint32_t, uint64_t> next;  // by path: the sequence number after the last one
  millrace::Histogram latency;

  void count() {
    executed.store(executed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

class Run {
 public:
  explicit Run(const Plan& plan) : plan_(plan) {
    for (size_t i = 0; i < plan.operators.size(); ++i) tallies.push_back(std::make_unique<Tally>());
  }

  void begin() { began_ = std::chrono::steady_clock::now(); }
  int64_t now() const {  // ns since the start; never 0
    return std::max<int64_t>(
        1, (std::chrono::steady_clock::now() - began_) / std::chrono::nanoseconds(1));
  }

  // Fills in the next tuple of a source; false if there shall be none.
  bool send(size_t number, Tuple& tuple) {
    Tally& tally = *tallies[number];
    const uint64_t sequence = tally.executed.load(std::memory_order_relaxed);
    if (static_cast<int64_t>(sequence) == plan_.limit || stopping.load(std::memory_order_acquire))
      return false;
    tuple.source = number;
    tuple.header = {sequence,
                    sequence % SAMPLED == 0 ? now() : 0,
                    millrace::value_for(sequence),
                    0,
                    millrace::DATA,
                    0};
    if (plan_.payload > INLINE) {
      tuple.more = std::shared_ptr<char[]>(new char[sizeof(millrace::Tuple) + plan_.payload]);
      std::memcpy(tuple.more.get(), &tuple.header, sizeof tuple.header);
    }
    millrace::fill_payload(tuple.whole(), plan_.payload);
    tally.sum += millrace::fingerprint(sequence);
    tally.count();
    return true;
  }

  // Whether operators only count by now; then this tuple is counted.
  bool leaves(size_t number, Tuple& tuple) {
    if (!cut.load(std::memory_order_relaxed)) return false;
    tuple.left = true;
    tallies[number]->left += 1;
    tallies[number]->sum += millrace::fingerprint(tuple.header.sequence);
    return true;
  }

  // The work of an operator. `alone`: no other thread executes it meanwhile, so that its multiplies
  // can go on from tuple to tuple.
  void work(size_t number, Tuple& tuple, bool alone) {
    const Operator& op = plan_.operators[number];
    Tally& tally = *tallies[number];
    const double factor = millrace::opaque_one();
    if (op.busy_ns > 0) {
      for (const int64_t end = now() + op.busy_ns; now() < end;) {
      }
    } else if (alone && op.cost >= millrace::SERIAL_FLOP) {
      tally.before = millrace::multiply(tuple.header.value + (tally.before - tally.before), factor,
                                        op.cost - 2);
      tuple.header.value = tally.before;
    } else {
      tuple.header.value = millrace::multiply(tuple.header.value, factor, op.cost);
    }
    alone ? tally.count() : void(tally.executed.fetch_add(1, std::memory_order_relaxed));
  }

  // A tuple has arrived at a sink, which one thread at a time executes.
  void receive(size_t number, Tuple& tuple) {
    Tally& tally = *tallies[number];
    const millrace::Tuple& header = tuple.header;
    const uint64_t mixed = millrace::fingerprint(header.sequence);
    if (header.value != millrace::value_for(header.sequence) ||
        !millrace::payload_intact(tuple.whole(), plan_.payload, mixed)) {
      ++tally.harmed;
    }
    if (header.born_ns > 0) tally.latency.record(now() - header.born_ns);
    if (leaves(number, tuple)) return;
    tally.sum += mixed;
    uint64_t& expected = tally.next[header.path];
    if (header.sequence < expected) ++tally.out_of_order;
    expected = header.sequence + 1;
    tally.count();
  }

  std::vector<std::unique_ptr<Tally>> tallies;
  std::atomic<bool> stopping{false}, cut{false};
  std::atomic<int64_t> ended{0};  // ns since the start; 0: not yet

 private:
  const Plan& plan_;
  std::chrono::steady_clock::time_point began_;
};

// Of one dependent multiply: the median of some measurements.
inline double ns_per_flop() {
  constexpr uint32_t FLOP = 200'000;
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    if (millrace::multiply(1.5, millrace::opaque_one(), FLOP) != 1.5)
      refuse("a multiply by 1.0 changed a value");
    times.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
        FLOP);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace peer
