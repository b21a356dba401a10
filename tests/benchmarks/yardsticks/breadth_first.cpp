// breadth_first.cpp - batches of 32 tuples through one operator after the other, on one thread, with a copy of each tuple a hop: what a
// pool of one scheduler thread does, without its queues.
//
//   breadth_first OPERATORS COST TUPLES
//
// Tuples are copied to and fro between two batches, which stay in the first-level cache: no queue could be nearer. Where COST is high the
// core overlaps the multiplies of neighbouring tuples, so that ns per hop is less than COST times the latency of a multiply.
// Prints ns per hop.
#include "yardstick.hpp"

struct BatchOperator {
  virtual ~BatchOperator() = default;
  virtual void process(const Tuple* from, Tuple* to) = 0;
  uint64_t count = 0;
};

struct BatchWork : BatchOperator {
  explicit BatchWork(const Options& options) : cost(options.cost), factor(options.factor) {}
  void process(const Tuple* from, Tuple* to) override {
    for (long i = 0; i < BATCH; ++i) {
      to[i] = from[i];
      to[i].value = multiply(to[i].value, factor, cost);
    }
    count += BATCH;
  }
  long cost;
  double factor;
};

int main(int argc, char** argv) {
  const Options options(argc, argv);
  std::vector<std::unique_ptr<BatchOperator>> chain;
  for (long i = 0; i < options.operators; ++i) chain.push_back(std::make_unique<BatchWork>(options));
  Sink sink(options);
  alignas(64) Tuple batches[2][BATCH] = {};
  for (long first = 0; first < options.total(); first += BATCH) {
    Tuple *from = batches[0], *to = batches[1];
    for (long i = 0; i < BATCH; ++i) fill(from[i], first + i);
    for (const auto& op : chain) {
      op->process(from, to);
      std::swap(from, to);
    }
    for (long i = 0; i < BATCH; ++i) sink.process(from[i]);
  }
  return sink.report();
}
