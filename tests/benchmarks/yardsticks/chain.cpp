// chain.cpp - a plain chain of virtual calls on one thread, tuple by tuple, nothing else: the
// yardstick of the manual model.
//
//   chain OPERATORS COST TUPLES [copy]
//
// Each operator works on the tuple itself, or on a copy of its own ("copy"). Prints ns per hop.
#include "yardstick.hpp"

int main(int argc, char** argv) {
  const Options options(argc, argv);
  const bool copy = std::strcmp(options.mode, "copy") == 0;
  Sink sink(options);
  const Chain chain = copy ? chain_of<CopyingWork>(options.operators, options, sink)
                           : chain_of<Work>(options.operators, options, sink);
  Tuple tuple{};
  for (long i = 0; i < options.total(); ++i) {
    fill(tuple, i);
    chain.front()->process(tuple);
  }
  return sink.report();
}
