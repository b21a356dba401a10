// breadth_first.cpp - batches of 32 tuples through one operator after the other, on one thread,
// with a copy of each tuple a hop: what a pool of one scheduler thread does, without its queues.
//
//   breadth_first OPERATORS COST TUPLES
//
// Each operator has room for a batch of its own, as an operator with an input queue has, and copies
// its tuples to the next one's. Where COST is high the core overlaps the multiplies of neighbouring
// tuples, so that ns per hop is less than COST times the latency of a multiply. Prints ns per hop.
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
  for (long i = 0; i < options.operators; ++i)
    chain.push_back(std::make_unique<BatchWork>(options));
  Sink sink(options);
  struct alignas(64) Batch {
    Tuple tuples[BATCH] = {};
  };
  std::vector<Batch> batches(static_cast<size_t>(options.operators) +
                             1);  // what each operator gets, and the sink
  for (long first = 0; first < options.total(); first += BATCH) {
    for (long i = 0; i < BATCH; ++i) fill(batches[0].tuples[i], first + i);
    for (size_t i = 0; i < chain.size(); ++i)
      chain[i]->process(batches[i].tuples, batches[i + 1].tuples);
    for (long i = 0; i < BATCH; ++i) sink.process(batches.back().tuples[i]);
  }
  return sink.report();
}
