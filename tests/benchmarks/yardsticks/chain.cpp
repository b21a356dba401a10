// chain.cpp - the yardstick: the same work as a pipeline, as a plain chain of virtual calls on one thread, nothing else.
//
//   chain OPERATORS COST TUPLES [copy]
//
// A tuple is 128 bytes. Each operator multiplies COST times, counts, and calls the next one, on the tuple itself or on a copy of its own
// ("copy"). Prints ns per hop.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

struct Tuple {
  uint64_t sequence;
  double value;
  char payload[112];
};
static_assert(sizeof(Tuple) == 128);

struct Operator {
  virtual ~Operator() = default;
  virtual void process(Tuple& tuple) = 0;
  Operator* next = nullptr;
  uint64_t count = 0;
};

struct Work : Operator {
  Work(long cost, double factor) : cost(cost), factor(factor) {}
  void process(Tuple& tuple) override {
    for (long i = 0; i < cost; ++i) tuple.value *= factor;
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
    for (long i = 0; i < cost; ++i) own.value *= factor;
    ++count;
    next->process(own);
  }
};

struct Sink : Operator {
  void process(Tuple& tuple) override {
    in_order = in_order && tuple.sequence == count;
    ++count;
    sum += tuple.value;
  }
  bool in_order = true;
  double sum = 0;
};

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const long operators = std::atol(argv[1]), cost = std::atol(argv[2]), tuples = std::atol(argv[3]);
  const bool copy = argc > 4 && std::strcmp(argv[4], "copy") == 0;
  const double factor = argc > 100 ? 2.0 : 1.0;  // 1.0, but not for the compiler to know
  std::vector<std::unique_ptr<Operator>> chain;
  for (long i = 0; i < operators; ++i) {
    if (copy)
      chain.push_back(std::make_unique<CopyingWork>(cost, factor));
    else
      chain.push_back(std::make_unique<Work>(cost, factor));
  }
  Sink sink;
  for (long i = 0; i < operators; ++i) chain[i]->next = i + 1 < operators ? chain[i + 1].get() : &sink;
  Operator& head = operators > 0 ? *chain[0] : sink;
  const auto begin = std::chrono::steady_clock::now();
  Tuple tuple{};
  for (long i = 0; i < tuples; ++i) {
    tuple.sequence = i;
    tuple.value = 1.0 + (i & 1023) / 1024.0;
    std::memset(tuple.payload, static_cast<int>(i), sizeof tuple.payload);
    head.process(tuple);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  if (!sink.in_order || sink.sum <= 0) return 1;
  std::printf("%.4f\n", took.count() / (static_cast<double>(tuples) * (operators > 0 ? operators : 1)));
}
