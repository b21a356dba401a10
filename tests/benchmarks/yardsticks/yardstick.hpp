// yardstick.hpp - what all yardsticks share, so that they do the same work: the tuple, what the
// source does, what an operator does, what the sink checks, and when the clock runs.
//
// A tuple is 128 bytes. The source fills all of them. An operator multiplies COST times, each
// multiply waiting for the one before, and counts. The sink checks that sequence numbers come in
// order, without a gap, and uses the value. Time is taken at the sink, from the tuple that ends the
// warm-up to the last one, as the rate of an engine's sinks is; so neither start nor fill is in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

inline constexpr long BATCH = 32;  // tuples; what the runtime hands over at once, too

struct Tuple {
  uint64_t sequence;
  double value;
  char payload[112];
};
static_assert(sizeof(Tuple) == 128,
              "two cache lines, as a tuple of the runtime with a payload of 96 bytes");

inline void fill(Tuple& tuple, long sequence) {
  tuple.sequence = static_cast<uint64_t>(sequence);
  tuple.value = 1.0 + static_cast<double>(sequence & 1023) / 1024.0;
  std::memset(tuple.payload, static_cast<int>(sequence), sizeof tuple.payload);
}

inline double multiply(double value, double factor, long cost) {
  for (long i = 0; i < cost; ++i) value *= factor;
  return value;
}

// OPERATORS COST TUPLES, and whatever a yardstick takes besides.
struct Options {
  Options(int argc, char** argv) {
    if (argc < 4 || (operators = std::atol(argv[1])) < 1 || (cost = std::atol(argv[2])) < 0 ||
        (tuples = std::atol(argv[3])) < 1) {
      std::fprintf(stderr, "usage: %s OPERATORS COST TUPLES\n", argv[0]);
      std::exit(2);
    }
    tuples = (tuples + BATCH - 1) / BATCH * BATCH;
    warm_up = (tuples / 4 + BATCH - 1) / BATCH * BATCH;
    mode = argc > 4 ? argv[4] : "";
    factor = argc > 100 ? 2.0 : 1.0;  // 1.0, but not for the compiler to know
  }
  long total() const { return warm_up + tuples; }
  long operators, cost, tuples, warm_up;  // tuples are those that are timed
  const char* mode;
  double factor;
};

// -- tuple by tuple -------------------------------------------------------------------------------

struct Operator {
  virtual ~Operator() = default;
  virtual void process(Tuple& tuple) = 0;
  Operator* next = nullptr;
  uint64_t count = 0;
};

struct Work : Operator {
  explicit Work(const Options& options) : cost(options.cost), factor(options.factor) {}
  void process(Tuple& tuple) override {
    tuple.value = multiply(tuple.value, factor, cost);
    ++count;
    next->process(tuple);
  }
  long cost;
  double factor;
};

struct CopyingWork : Work {
  using Work::Work;
  void process(Tuple& tuple) override {
    Tuple own = tuple;
    own.value = multiply(own.value, factor, cost);
    ++count;
    next->process(own);
  }
};

struct Sink : Operator {
  explicit Sink(const Options& options) : options(options) {}
  void process(Tuple& tuple) override {
    in_order = in_order && tuple.sequence == count;
    sum += tuple.value;
    ++count;
    if (count == static_cast<uint64_t>(options.warm_up)) begin = std::chrono::steady_clock::now();
    if (count == static_cast<uint64_t>(options.total())) end = std::chrono::steady_clock::now();
  }
  // Prints ns per hop; returns the exit code of the program.
  int report() const {
    if (!in_order || sum <= 0 || count != static_cast<uint64_t>(options.total())) {
      std::fprintf(stderr, "tuples are lost or out of order\n");
      return 1;
    }
    const std::chrono::duration<double, std::nano> took = end - begin;
    std::printf("%.4f\n", took.count() / (static_cast<double>(options.tuples) *
                                          static_cast<double>(options.operators)));
    return 0;
  }
  const Options& options;
  bool in_order = true;
  double sum = 0;
  std::chrono::steady_clock::time_point begin, end;
};

using Chain = std::vector<std::unique_ptr<Operator>>;

// `count` operators, each calling the next, the last one calling `end`; the first is
// `chain.front()`.
template <class Kind>
Chain chain_of(long count, const Options& options, Operator& end) {
  Chain chain;
  for (long i = 0; i < count; ++i) chain.push_back(std::make_unique<Kind>(options));
  for (long i = 0; i < count; ++i) chain[i]->next = i + 1 < count ? chain[i + 1].get() : &end;
  return chain;
}
