// Which ports are fed from one context: on random graphs what the definition says, after any
// changes, each of which looks no further than it reaches.
#include <random>
#include <vector>

#include "contexts.hpp"
#include "stress.hpp"

using namespace millrace;

struct Stream {
  uint32_t source, target, queue;
};

// Operators have up to two input ports; streams come from operators before them.
static void random_graph(std::mt19937& draw) {
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(draw() % bound); };
  const uint32_t operators = 2 + below(20);
  uint32_t queues = 0;
  std::vector<std::vector<Stream>> arriving(operators);
  for (uint32_t target = 1; target < operators; ++target) {
    for (uint32_t ports = below(3); ports > 0; --ports) {
      const uint32_t queue = below(3) == 0 ? Contexts::NO_QUEUE : queues++;
      for (uint32_t streams = 1 + below(3); streams > 0; --streams)
        arriving[target].push_back({below(target), target, queue});
    }
  }
  Contexts contexts(operators, queues);
  std::vector<bool> on(queues);
  for (uint32_t index = 0; index < operators; ++index) contexts.add_operator(index);
  for (const auto& all : arriving) {
    for (const Stream& stream : all)
      contexts.add_stream(stream.source, stream.target, stream.queue);
  }
  for (uint32_t queue = 0; queue < queues; ++queue) {
    on[queue] = below(2) == 1;
    if (on[queue]) contexts.begin_on(queue);
  }
  contexts.settle();
  std::vector<bool> known(queues);
  for (uint32_t queue = 0; queue < queues; ++queue) known[queue] = contexts.sole(queue);
  for (int round = 0; round < 20; ++round) {
    std::vector<uint32_t> context(operators);
    std::vector<bool> sole(queues, true);
    for (uint32_t target = 0; target < operators; ++target) {
      const auto entered = [&](const Stream& stream) {
        return stream.queue != Contexts::NO_QUEUE && on[stream.queue] ? operators + stream.queue
                                                                      : context[stream.source];
      };
      context[target] = arriving[target].empty() ? target : entered(arriving[target][0]);
      for (const Stream& stream : arriving[target]) {
        if (entered(stream) != entered(arriving[target][0]))
          context[target] = operators + queues + target;
        for (const Stream& other : arriving[target]) {
          if (stream.queue != Contexts::NO_QUEUE && other.queue == stream.queue &&
              context[other.source] != context[stream.source])
            sole[stream.queue] = false;
        }
      }
    }
    for (uint32_t queue = 0; queue < queues; ++queue)
      EXPECT(known[queue] == sole[queue] && contexts.sole(queue) == sole[queue]);
    if (queues == 0) return;
    const uint32_t changed = below(queues);
    on[changed] = below(4) == 0 ? static_cast<bool>(on[changed]) : !on[changed];
    std::vector<int> told(queues, 0);
    contexts.change(changed, on[changed], [&](uint32_t queue, bool said) {
      known[queue] = said;
      EXPECT(++told[queue] == 1);
    });
  }
}

// A million branches that join: what changes in one of them is seen there and at the join, and no
// other branch is looked at.
static void wide(uint32_t width) {
  Contexts contexts(width + 2, width + 1);
  for (uint32_t index = 0; index < width + 2; ++index) contexts.add_operator(index);
  for (uint32_t branch = 0; branch < width; ++branch) {
    contexts.add_stream(0, branch + 1, branch);
    contexts.add_stream(branch + 1, width + 1, width);
  }
  contexts.settle();
  EXPECT(contexts.sole(width));
  for (const uint32_t queue : {7u, width, 8u, 7u, 8u, width}) {
    static std::vector<bool> on(width + 1);
    const uint64_t before = contexts.looks();
    on[queue] = !on[queue];
    contexts.change(queue, on[queue], [&](uint32_t told, bool sole) {
      EXPECT(told == width && sole == !(on[7] || on[8]));
    });
    EXPECT(contexts.looks() - before <= 4);
    EXPECT(contexts.sole(width) == !(on[7] || on[8]));
  }
}

int main() {
  std::mt19937 draw(1);
  for (int graph = 0; graph < 2'000; ++graph) random_graph(draw);
  wide(1 << 20);
}
