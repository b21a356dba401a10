// Replicas that come and go, and threads too, while tuples flow through trees of operators:
// stateless ones and such with a state by key, that send nothing, one or many for a tuple. Every
// stream is the one that operators without replicas make, tuple by tuple; a run that is cut short
// has made the beginning of it, and all its tuples are accounted for. States and rings have no
// atomics that would hide a missing edge from ThreadSanitizer.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "coroutines.hpp"
#include "real_platform.hpp"
#include "replicas.hpp"
#include "spsc_ring.hpp"
#include "stress.hpp"

using namespace millrace;

namespace {

constexpr size_t STRIDE = CACHE_LINE;

struct Chance {  // xorshift64*
  uint64_t x;
  uint64_t operator()(uint64_t below) {
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    return (x * 0x2545F4914F6CDD1D >> 32) % below;
  }
};

struct Port {
  SpscRing ring;
  std::vector<char> memory;
  std::atomic<bool> closed{false};
  std::vector<uint32_t> writers;     // one
  uint64_t pushed = 0, refused = 0;  // by the operator before it
};

struct Flow;
struct Operator {
  std::unique_ptr<Port> input;    // none: the source
  std::vector<uint32_t> outputs;  // operators; none: a sink
  ReplicaSizes sizes{.most = 1, .window = 4, .batch = 8, .outputs = 8, .bins = 0, .stride = STRIDE};
  bool pairs = false;  // it sends none or two for a tuple
  bool meets = false;  // two tuples are worked on at once, or none
  std::atomic<uint64_t> inside{0};
  std::vector<uint64_t> counts;  // its state, by bin
  std::unique_ptr<Flow> flow;
  std::atomic<uint64_t> worked{0}, made{0}, dropped{0};
  uint64_t stream = 0, arrived = 0;  // of a sink: what came, in its order
};

// What an operator sends for a tuple.
void produce(const Operator& op, uint32_t index, uint64_t tuple, std::vector<uint64_t>& counts,
             std::vector<uint64_t>& out) {
  out.clear();
  uint64_t mixed = fingerprint(tuple + index * GOLDEN);
  if (op.sizes.bins > 0) mixed = fingerprint(mixed ^ ++counts[tuple % op.sizes.bins]);
  uint64_t many = 1;
  if (mixed % 4 == 0) many = 0;
  if (mixed % 16 == 1) many = 3;
  if (mixed % 256 == 2) many = 40;
  if (op.pairs) many = mixed % 2 * 2;
  for (uint64_t i = 0; i < many; ++i) out.push_back(fingerprint(mixed + i));
}
void arrive(uint64_t& stream, uint64_t tuple) { stream = fingerprint(stream * 31 + tuple); }

struct Graph {
  std::vector<std::unique_ptr<Operator>>
      operators;  // a port has the number of the operator that it belongs to
  uint64_t size(uint32_t port) const { return operators[port]->input->ring.size_guess(); }
  uint64_t room(uint32_t port) const {
    return operators[port]->input->ring.capacity() - size(port);
  }
  bool closed(uint32_t port) const {
    return operators[port]->input->closed.load(std::memory_order_acquire);
  }
  uint32_t reader(uint32_t port) const { return port; }
  const std::vector<uint32_t>& writers(uint32_t port) const {
    return operators[port]->input->writers;
  }
  bool given(uint32_t) const { return true; }
  void leaves(uint32_t) {}
  void turn_begins(uint32_t, uint32_t, int64_t) {}
  void turn_ends(uint32_t, uint32_t, int64_t, int64_t) {}
  void rests(uint32_t, bool) {}
  void wakes(uint32_t, bool) {}
  void refused(uint32_t) const {}
  void stuck() const { EXPECT(!"trees never deadlock"); }
  Seen seen(uint32_t, int64_t scheduled_ns, uint32_t) const {
    Seen seen{};
    seen.scheduled_ns = scheduled_ns;
    return seen;
  }
};
using All = Coroutines<RealPlatform, Graph>;

struct Flow {
  Graph& graph;
  All& all;
  uint32_t op;

  using Tuple = millrace::Tuple;
  struct Trace {  // the last tuple that was copied
    const Tuple* at = nullptr;
    uint64_t sequence = 0;
  };

  SpscRing& ring() const { return graph.operators[op]->input->ring; }
  uint64_t size() const { return graph.size(op); }
  bool closed() const { return graph.closed(op); }
  size_t front(All::Coroutine&, size_t most, Tuple** first) { return ring().front(most, first); }
  void release(All::Coroutine&, size_t count) { ring().release(count); }
  void taken(All::Coroutine&) { all.read(op); }
  void passing(All::Coroutine&) {}
  void copy(All::Coroutine&, Tuple* to, const Tuple* first, size_t count, size_t,
            Trace& trace) const {
    std::memcpy(to, first, count * STRIDE);
    if (count > 0) trace.at = slot(to, STRIDE, count - 1);
    if (count > 0) trace.sequence = trace.at->sequence;
  }
  void fetch(All::Coroutine&, size_t count, const Trace& trace) const {
    EXPECT(count > 0 && trace.at->sequence == trace.sequence);
  }
  uint32_t bin(const Tuple* tuple) const {
    return static_cast<uint32_t>(tuple->sequence % graph.operators[op]->sizes.bins);
  }
  size_t send(All::Coroutine& co, Tuple* first, size_t count) {
    if (all.over()) return 0;
    for (const uint32_t to : graph.operators[op]->outputs) {
      Port& port = *graph.operators[to]->input;
      size_t done = 0;
      while (done < count) {
        const size_t pushed = port.ring.push(slot(first, STRIDE, done), count - done, STRIDE, 0);
        port.pushed += pushed;
        done += pushed;
        if (pushed > 0) all.written(to);
        if (done == count) break;
        if (all.over()) {
          port.refused += count - done;
          break;
        }
        all.wait_for_room(co, to);
      }
      all.check_for_preemption(co);
    }
    return count;
  }
  void close() {
    for (const uint32_t to : graph.operators[op]->outputs) {
      graph.operators[to]->input->closed.store(true, std::memory_order_release);
      all.written(to);
    }
  }
};
using Crew = Replicas<All, Flow>;

struct Outgoing {
  alignas(CACHE_LINE) char room[40 * STRIDE]{};
  Tuple* fill(const std::vector<uint64_t>& tuples) {
    Tuple* first = reinterpret_cast<Tuple*>(room);
    for (size_t i = 0; i < tuples.size(); ++i) slot(first, STRIDE, i)->sequence = tuples[i];
    return first;
  }
};

struct Source {
  Flow* flow = nullptr;
  std::atomic<bool> enough{false};
  std::atomic<uint64_t> allowed{UINT64_MAX};
  uint64_t at_once = 1, sent = 0;
};
void source(All::Coroutine& self) {
  Source& own = *static_cast<Source*>(self.own);
  Flow& flow = *own.flow;
  Outgoing out;
  std::vector<uint64_t> tuples(own.at_once);
  while (!own.enough.load(std::memory_order_relaxed) && !flow.all.over()) {
    if (own.sent == own.allowed.load(std::memory_order_relaxed)) {
      std::this_thread::yield();
      flow.all.check_for_preemption(self);
      continue;
    }
    for (uint64_t i = 0; i < own.at_once; ++i) tuples[i] = fingerprint(own.sent + i);
    own.sent += flow.send(self, out.fill(tuples), tuples.size());
  }
  flow.close();
}

struct Place {  // of an operator
  Flow* flow;
  Crew* crew;
};
void loop(All::Coroutine& self) {
  Crew::Replica& replica = *static_cast<Crew::Replica*>(self.own);
  Place place = *static_cast<Place*>(replica.place);
  Operator& op = *place.flow->graph.operators[place.flow->op];
  Outgoing out;
  std::vector<uint64_t> made;
  Chance chance{self.index * 977 + 1};
  size_t count;
  while (Tuple* first = place.crew->take(replica, &count)) {
    size_t worked = 0;
    for (; worked < count && !self.all->over(); ++worked) {
      const uint64_t tuple = slot(first, STRIDE, worked)->sequence;
      if (op.outputs.empty()) {
        arrive(op.stream, tuple);
        ++op.arrived;
      } else {
        produce(op, place.flow->op, tuple, op.counts, made);
        if (op.meets) {
          const uint64_t arrived = op.inside.fetch_add(1);
          while (op.inside.load() < (arrived / 2 + 1) * 2) std::this_thread::yield();
        }
        const uint64_t effort = chance(64);  // uneven, so that later tickets end first
        if (effort == 0) std::this_thread::yield();
        for (volatile uint64_t i = 0; i < effort * 8;) i = i + 1;
        if (!made.empty()) {
          op.made.fetch_add(made.size(), std::memory_order_relaxed);
          const size_t went = place.crew->send(replica, out.fill(made), made.size());
          op.dropped.fetch_add(made.size() - went, std::memory_order_relaxed);
        }
      }
      op.worked.fetch_add(1, std::memory_order_relaxed);
    }
    if (worked < count) {
      place.crew->give_up(replica, worked);
      break;
    }
  }
  if (place.crew->ends(replica)) place.flow->close();
}

struct World {
  Graph graph;
  // A source, and nothing else.
  World() { graph.operators.emplace_back(std::make_unique<Operator>()); }
  // A tree of operators, and a sink at each end.
  explicit World(Chance& chance) : World() {
    const auto inner = static_cast<uint32_t>(2 + chance(6));
    for (uint32_t i = 1; i <= inner; ++i) {
      Operator& op = add(static_cast<uint32_t>(chance(3) == 0 ? chance(i) : i - 1),
                         1 + chance(chance(2) == 0 ? 4 : 64));
      op.sizes = {
          .most = static_cast<uint32_t>(1 + chance(6)),
          .window = static_cast<uint32_t>(1 + chance(12)),
          .batch = static_cast<uint32_t>(1 + chance(8)),
          .outputs = static_cast<uint32_t>(1 + chance(12)),
          .bins = chance(3) == 0 ? static_cast<uint32_t>(1 + chance(chance(2) == 0 ? 3 : 16)) : 0,
          .stride = STRIDE};
      op.pairs = chance(3) == 0;
      if (op.pairs) op.sizes.outputs = static_cast<uint32_t>(1 + chance(2));
    }
    for (uint32_t i = 0; i <= inner; ++i) {
      if (graph.operators[i]->outputs.empty()) add(i, 1 + chance(20));
    }
  }
  Operator& add(uint32_t before, size_t capacity) {
    const auto index = static_cast<uint32_t>(graph.operators.size());
    Operator& op = *graph.operators.emplace_back(std::make_unique<Operator>());
    op.input = std::make_unique<Port>();
    op.input->memory.resize(capacity * STRIDE);
    op.input->ring.init(op.input->memory.data(), capacity, STRIDE);
    op.input->writers = {before};
    graph.operators[before]->outputs.push_back(index);
    return op;
  }

  // The same without replicas, threads or queues: how many tuples come to each sink, and what has
  // come of them when as many are there as `graph` says.
  struct Expected {
    std::vector<uint64_t> stream, arrived;
    std::vector<std::vector<uint64_t>> counts;
  };
  void follow(uint32_t index, uint64_t tuple, Expected& expected) {
    Operator& op = *graph.operators[index];
    if (op.outputs.empty()) {
      if (expected.arrived[index]++ < op.arrived) arrive(expected.stream[index], tuple);
      return;
    }
    std::vector<uint64_t> made{tuple};
    if (op.input != nullptr) produce(op, index, tuple, expected.counts[index], made);
    for (const uint64_t one : made) {
      for (const uint32_t to : op.outputs) follow(to, one, expected);
    }
  }
};

// A world on threads.
struct Machine {
  World& world;
  const uint32_t count, threads;
  All all;
  std::unique_ptr<All::Thread[]> own;
  Source feed;
  std::vector<std::unique_ptr<Crew>> crews;
  std::vector<Place> places;

  Machine(World& of, uint32_t threads, const Policy& policy, int64_t quantum_ns)
      : world(of),
        count(static_cast<uint32_t>(of.graph.operators.size())),
        threads(threads),
        all(of.graph, count + extras(of), count, policy, quantum_ns, extras(of)),
        own(new All::Thread[threads]) {
    crews.resize(count);
    places.resize(count);
    uint32_t next = count;
    for (uint32_t i = 0; i < count; ++i) {
      Operator& op = *world.graph.operators[i];
      op.flow.reset(new Flow{world.graph, all, i});
      op.counts.resize(op.sizes.bins);
      all[i].body = i == 0 ? source : loop;
      all[i].own = &feed;
      if (i == 0) continue;
      crews[i] = std::make_unique<Crew>(all, *op.flow, op.sizes, all[i],
                                        op.sizes.most > 1 ? &all[next] : nullptr);
      crews[i]->prepare();
      places[i] = {op.flow.get(), crews[i].get()};
      for (uint32_t k = 0; k < op.sizes.most; ++k) (*crews[i])[k].place = &places[i];
      next += op.sizes.most - 1;
    }
    feed.flow = world.graph.operators[0]->flow.get();
    EXPECT(all.begin(65536));
  }
  static uint32_t extras(const World& world) {
    uint32_t extras = 0;
    for (const auto& op : world.graph.operators) extras += op->sizes.most - 1;
    return extras;
  }

  // Until the end that `control`, on a thread of its own, leads to.
  template <class Control>
  void run(Control control) {
    together(static_cast<int>(threads) + 1, [&](int thread) {
      if (thread == static_cast<int>(threads)) return control();
      own[thread].index = static_cast<uint32_t>(thread);
      own[thread].chance += static_cast<uint64_t>(thread) * 977;
      all.work(own[thread]);
    });
  }

  void judge(bool stopped) {
    World::Expected expected;
    expected.stream.resize(count);
    expected.arrived.resize(count);
    for (const auto& op : world.graph.operators) expected.counts.emplace_back(op->sizes.bins);
    for (uint64_t i = 0; i < feed.sent; ++i) world.follow(0, fingerprint(i), expected);
    for (uint32_t i = 1; i < count; ++i) {
      Operator& op = *world.graph.operators[i];
      const uint64_t queued = op.input->ring.size_guess();
      uint64_t taken = 0, made = 0;
      crews[i]->left_behind([&](Tuple*) { ++taken; }, [&](Tuple*) { ++made; });
      EXPECT(op.input->pushed == op.worked + queued + taken);
      for (const uint32_t to : op.outputs) {
        const Port& port = *world.graph.operators[to]->input;
        EXPECT(op.made == port.pushed + port.refused + made + op.dropped);
      }
      EXPECT(expected.stream[i] == op.stream && expected.arrived[i] >= op.arrived);
      if (stopped) continue;
      EXPECT(taken + made + queued + op.input->refused + op.dropped == 0);
      EXPECT(op.outputs.empty() ? op.arrived == expected.arrived[i]
                                : op.counts == expected.counts[i]);
      EXPECT(!crews[i]->set(1));
    }
  }
};

// As many changes of levels and replicas as `changes`, and then to the end, or, where `stops`, cut
// short.
void changes(uint64_t seed, uint64_t changes, bool stops) {
  Chance chance{seed};
  World world(chance);
  const auto threads = static_cast<uint32_t>(1 + chance(4));
  Machine machine(world, threads, POLICIES[chance(2) == 0 ? 0 : 3],
                  chance(2) == 0 ? 20'000 : 50'000'000);
  machine.run([&] {
    for (uint64_t i = 0; i < changes; ++i) {
      const auto which = static_cast<uint32_t>(1 + chance(machine.count - 1));
      const Operator& op = *world.graph.operators[which];
      if (chance(8) == 0) {
        const uint64_t level = 1 + chance(threads);
        for (uint32_t i = 0; i < threads; ++i) machine.all.suspend(machine.own[i], i >= level);
      } else {
        EXPECT(machine.crews[which]->set(static_cast<uint32_t>(1 + chance(op.sizes.most))));
      }
      // The next one at once, or when some tuples have passed
      const uint64_t passed =
          op.worked.load(std::memory_order_relaxed) + chance(chance(2) == 0 ? 3 : 60);
      for (uint32_t wait = 0; wait < 100 && op.worked.load(std::memory_order_relaxed) < passed;
           ++wait)
        std::this_thread::yield();
    }
    for (uint32_t i = 0; i < threads; ++i) machine.all.suspend(machine.own[i], false);
    if (stops) {
      machine.all.end();
    } else {
      machine.feed.enough.store(true, std::memory_order_relaxed);
    }
  });
  machine.judge(stops);
}

World one_operator(uint32_t most, uint32_t bins) {
  World world;
  world.add(0, 64).sizes = {
      .most = most, .window = 4, .batch = 1, .outputs = 2, .bins = bins, .stride = STRIDE};
  world.add(1, 64);
  return world;
}

// Replicas leave where no tuples come.
void idle(uint32_t bins) {
  World world = one_operator(4, bins);
  Machine machine(world, 2, POLICIES[0], 0);
  machine.feed.allowed = 40;
  machine.run([&] {
    for (uint32_t turn = 0; turn < 50; ++turn) {
      EXPECT(machine.crews[1]->set(4));
      if (turn == 20) machine.feed.allowed = 400;
      for (uint32_t yields = 0; yields < turn; ++yields) std::this_thread::yield();
      EXPECT(machine.crews[1]->set(1));
      while (machine.crews[1]->living() > 1) std::this_thread::yield();
    }
    machine.feed.enough.store(true);
  });
  machine.judge(false);
}

// One push brings work for two: the replica that is woken wakes the other.
void share() {
  World world = one_operator(3, 0);
  world.graph.operators[1]->meets = true;
  Machine machine(world, 3, POLICIES[0], 0);
  machine.feed.at_once = 2;
  machine.feed.allowed = 0;
  machine.run([&] {
    EXPECT(machine.crews[1]->set(3));
    for (uint64_t pair = 1; pair <= 200; ++pair) {
      machine.feed.allowed = 2 * pair;
      while (world.graph.operators[1]->worked.load() < 2 * pair) std::this_thread::yield();
      for (uint64_t yields = 0; yields < pair % 20; ++yields)
        std::this_thread::yield();  // until all wait
    }
    machine.feed.enough.store(true);
  });
  machine.judge(false);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t all_changes = argc > 1 ? std::stoull(argv[1]) : 1'500;
  const uint64_t runs = argc > 2 ? std::stoull(argv[2]) : 30;
  const uint64_t seed = argc > 3 ? std::stoull(argv[3]) : 1;
  idle(0);
  idle(3);
  share();
  for (uint64_t i = 0; i < runs; ++i) {
    if (argc > 3) std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed + i));
    changes(seed + i, all_changes / runs, i % 3 == 2);
  }
}
