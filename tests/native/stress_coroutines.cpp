// Co-routines that wait for tuples and for room, on any number of threads, under every policy:
// tuples come once and in order, every run comes to its end by itself or when it is told to, and
// nobody sleeps over what is there. Operators' states have no atomics, so ThreadSanitizer sees it
// if an edge is missing.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coroutines.hpp"
#include "deadlock.hpp"
#include "real_platform.hpp"
#include "spsc_ring.hpp"
#include "stamps.hpp"
#include "stress.hpp"
#include "try_flag.hpp"

using namespace millrace;

namespace {

constexpr size_t STRIDE = CACHE_LINE;

struct Port {
  SpscRing ring;
  std::vector<char> memory;
  TryFlag producing;  // where several send
  std::atomic<uint32_t> open{0};
  uint32_t reader = 0;
  std::vector<uint32_t> writers;
};

struct Operator {
  std::vector<uint32_t> outputs;  // ports
  uint64_t sends = 0, sent = 0;   // of a source
  uint32_t wants = 1;             // tuples at each input for one that goes out
  WaitMode mode = WaitMode::ANY;
  std::vector<std::vector<uint64_t>> expected;  // by input, by source operator: the next number
  uint64_t leaves_after = UINT64_MAX;  // executions after which it returns, whatever is left
  bool paced = false;                  // a source that sleeps between two tuples
  uint64_t executed = 0, given_up = 0;
};

struct Graph {
  std::vector<std::unique_ptr<Port>> ports;
  std::vector<Operator> operators;

  uint64_t size(uint32_t port) const { return ports[port]->ring.size_guess(); }
  uint64_t room(uint32_t port) const {
    return ports[port]->ring.capacity() - ports[port]->ring.size_guess();
  }
  bool closed(uint32_t port) const {
    return ports[port]->open.load(std::memory_order_acquire) == 0;
  }
  uint32_t reader(uint32_t port) const { return ports[port]->reader; }
  const std::vector<uint32_t>& writers(uint32_t port) const { return ports[port]->writers; }
  bool given(uint32_t index) const { return tokens[index]->load(std::memory_order_acquire) > 0; }
  void leaves(uint32_t) {}
  void turn_begins(uint32_t thread, uint32_t index, int64_t) {
    EXPECT(executes[thread] == NO_CO);
    executes[thread] = index;
    if (tells_order) order.push_back(index);
  }
  void turn_ends(uint32_t thread, uint32_t index, int64_t began_ns, int64_t now_ns) {
    EXPECT(executes[thread] == index && began_ns <= now_ns);
    executes[thread] = NO_CO;
  }
  void refused(uint32_t) const { EXPECT(false); }
  void stuck() const {
    EXPECT(when_stuck != nullptr);
    when_stuck();
  }
  void rests(uint32_t thread, bool) { EXPECT(executes[thread] == NO_CO); }
  void wakes(uint32_t thread, bool) { EXPECT(executes[thread] == NO_CO); }
  Seen seen(uint32_t index, int64_t scheduled_ns, uint32_t) const {
    const Operator& op = operators[index];
    Seen seen{.index = index,
              .source = op.sends > 0,
              .batch = 4,
              .scheduled_ns = scheduled_ns,
              .queued = 0,
              .enqueued_ns = scheduled_ns,
              .born_ns = scheduled_ns,
              .reads_per_s = 1e6,
              .writes_per_s = 1e6,
              .room = UINT64_MAX,
              .queued_behind = 0,
              .gain_per_s = 1.0 / (1.0 + index),
              .ran_ns = 0,
              .quantum_ns = 0,
              .waits_for_all = 0.0,
              .inputs = 0,
              .outputs = 0,
              .input = nullptr,
              .output = nullptr};
    for (const uint32_t port : inputs[index]) seen.queued += size(port);
    for (const uint32_t port : op.outputs) {
      seen.room = std::min(seen.room, room(port));
      seen.queued_behind = std::max(seen.queued_behind, size(port));
    }
    return seen;
  }
  std::vector<std::vector<uint32_t>> inputs;  // by operator: ports
  std::vector<std::unique_ptr<std::atomic<uint32_t>>>
      tokens;  // by operator: what it waits for besides, each time it has executed a tuple
  std::vector<uint32_t> executes = std::vector<uint32_t>(8, NO_CO);  // by thread
  bool passes_tokens = false, tells_order = false;
  bool sends_ahead =
      // operators send to whichever port has room, and wait for room at any of those that are left
      false;
  std::function<void()> when_stuck;  // null: that must not be
  std::vector<uint32_t> order;       // in which co-routines were picked, by one thread

  uint32_t add(uint64_t sends = 0) {
    operators.emplace_back().sends = sends;
    inputs.emplace_back();
    tokens.emplace_back(std::make_unique<std::atomic<uint32_t>>(1));
    return static_cast<uint32_t>(operators.size() - 1);
  }
  // A port of `to` that all of `from` send to.
  void connect(const std::vector<uint32_t>& from, uint32_t to, size_t capacity) {
    const auto index = static_cast<uint32_t>(ports.size());
    Port& port = *ports.emplace_back(std::make_unique<Port>());
    port.memory.resize(capacity * STRIDE);
    port.ring.init(port.memory.data(), capacity, STRIDE);
    port.reader = to;
    port.writers = from;
    port.open.store(static_cast<uint32_t>(from.size()));
    for (const uint32_t writer : from) operators[writer].outputs.push_back(index);
    inputs[to].push_back(index);
  }
};

using All = Coroutines<RealPlatform, Graph>;

struct World {
  Graph graph;
  All* all = nullptr;

  bool try_push(uint32_t index, Tuple* tuple) {
    Port& port = *graph.ports[index];
    const bool shared = port.writers.size() > 1;
    if (shared && !port.producing.try_lock()) return false;
    const bool pushed = port.ring.push(tuple, 1, STRIDE, 0) == 1;
    if (shared) port.producing.unlock();
    if (!pushed) return false;
    all->written(index);
    if (shared) all->written_by_one_of(index);
    return true;
  }
  void push(All::Coroutine& self, uint32_t index, Tuple* tuple) {
    Port& port = *graph.ports[index];
    for (;;) {
      if (try_push(index, tuple)) return all->check_for_preemption(self);
      const bool gone =
          graph.operators[port.reader].leaves_after != UINT64_MAX &&
          (*all)[port.reader].state.load(std::memory_order_acquire) == CoState::COMPLETED;
      if (all->over() || gone) {
        ++graph.operators[self.index].given_up;
        return;
      }
      all->wait_for_room(self, index);
    }
  }
  void send(All::Coroutine& self, uint64_t number) {
    alignas(CACHE_LINE) char room[STRIDE]{};
    Tuple* tuple = reinterpret_cast<Tuple*>(room);
    tuple->sequence = number;
    tuple->order = self.index;
    if (graph.sends_ahead) return send_ahead(self, tuple);
    for (const uint32_t port : graph.operators[self.index].outputs) push(self, port, tuple);
  }
  void send_ahead(All::Coroutine& self, Tuple* tuple) {
    std::vector<uint32_t> left = graph.operators[self.index].outputs;
    while (!left.empty() && !all->over()) {
      const size_t before = left.size();
      std::erase_if(left, [&](uint32_t port) { return try_push(port, tuple); });
      if (left.size() < before) continue;
      for (const uint32_t port : left) all->lack(self, port);
      all->wait_for_any(self);
    }
    all->check_for_preemption(self);
  }
  // Tokens go round: each operator needs one for a tuple, and gives it to the next.
  void pass_token(All::Coroutine& self) {
    if (!graph.passes_tokens) return;
    std::atomic<uint32_t>& own = *graph.tokens[self.index];
    while (own.load(std::memory_order_acquire) == 0 && !all->over()) all->wait_for_other(self);
    if (all->over()) return;
    own.fetch_sub(1, std::memory_order_acq_rel);
    const uint32_t next = self.index + 1 < graph.operators.size() ? self.index + 1 : 1;
    graph.tokens[next]->fetch_add(1, std::memory_order_acq_rel);
    all->gave(next);
  }
  void close(All::Coroutine& self) {
    for (const uint32_t port : graph.operators[self.index].outputs) {
      graph.ports[port]->open.fetch_sub(1, std::memory_order_release);
      all->written(port);
    }
  }
};

void on_its_own_stack(void* argument) { ++*static_cast<uint64_t*>(argument); }

void source(All::Coroutine& self) {
  World& world = *static_cast<World*>(self.own);
  Operator& op = world.graph.operators[self.index];
  while (op.sent < op.sends && !world.all->over()) {
    if (op.paced) world.all->sleep_until(self, now_ns() + 20'000);
    world.send(self, op.sent++);
  }
  world.close(self);
}

void loop(All::Coroutine& self) {
  World& world = *static_cast<World*>(self.own);
  Operator& op = world.graph.operators[self.index];
  uint64_t out = 0;
  while (op.executed < op.leaves_after) {
    for (size_t i = 0; i < self.inputs.size(); ++i)
      self.need[i].store(op.wants, std::memory_order_relaxed);
    if (world.all->wait(self, op.mode) == Waited::OVER) break;
    for (size_t i = 0; i < self.inputs.size(); ++i) {
      Port& port = *world.graph.ports[self.inputs[i]];
      if (port.ring.size_guess() < op.wants) continue;
      for (uint32_t taken = 0; taken < op.wants; ++taken) {
        Tuple* first;
        EXPECT(port.ring.front(1, &first) == 1);
        uint64_t& expected = op.expected[i][first->order];
        EXPECT(first->sequence == expected || (world.all->over() && first->sequence > expected));
        expected = first->sequence + 1;
        port.ring.release(1);
        world.all->read(self.inputs[i]);
      }
      if (op.mode == WaitMode::ANY) {
        world.all->on_thread(self, on_its_own_stack, &op.executed);
        world.pass_token(self);
        world.send(self, out++);
      }
    }
    if (op.mode == WaitMode::ALL) {
      ++op.executed;
      world.send(self, out++);
    }
  }
  world.close(self);
}

// Runs the graph; `stop_after`: how often the controlling thread yields before it ends the run; 0:
// never.
void run(World& world, const Policy& policy, uint32_t threads, int64_t quantum_ns,
         uint32_t stop_after) {
  Graph& graph = world.graph;
  const auto count = static_cast<uint32_t>(graph.operators.size());
  All all(graph, count, static_cast<uint32_t>(graph.ports.size()), policy, quantum_ns);
  world.all = &all;
  for (uint32_t i = 0; i < count; ++i) {
    all[i].own = &world;
    all[i].body = graph.inputs[i].empty() ? source : loop;
    all[i].inputs = graph.inputs[i];
    all[i].most_lacking = static_cast<uint32_t>(graph.operators[i].outputs.size()) + 1;
    graph.operators[i].expected.assign(graph.inputs[i].size(), std::vector<uint64_t>(count, 0));
  }
  EXPECT(all.begin(65536));
  std::unique_ptr<All::Thread[]> own(new All::Thread[threads]);
  for (uint32_t i = 0; i < threads; ++i) {
    own[i].index = i;
    own[i].chance += i * 977;
    all.prepare(own[i]);
  }
  together(static_cast<int>(threads) + 1, [&](int thread) {
    if (thread < static_cast<int>(threads)) {
      all.work(own[thread]);
    } else {
      for (uint32_t turn = 0; turn < 50; ++turn) {  // levels come and go
        all.suspend(own[turn % threads], turn % 3 != 0 && turn % threads > 0);
        std::this_thread::yield();
      }
      for (uint32_t i = 0; i < threads; ++i) all.suspend(own[i], false);
      for (uint32_t turn = 0; turn < stop_after; ++turn) std::this_thread::yield();
      if (stop_after > 0) all.end();
    }
  });
}

// A co-routine that lets go of its thread once more when the run is over and all other threads have
// left.
struct Last {
  std::atomic<All::Thread*> runs_on{nullptr};
  std::atomic<bool> alone{false};
  std::atomic<uint32_t> turns{0};
};

void outlast(All::Coroutine& self) {
  Last& last = *static_cast<Last*>(self.own);
  last.runs_on.store(self.thread);
  while (!last.alone.load()) std::this_thread::yield();
  self.all->check_for_preemption(self);
  last.turns.store(static_cast<uint32_t>(self.turns));
}

// Its thread was suspended before that, and goes on with it all the same.
void run_the_last_one_on_a_suspended_thread(const Policy& policy) {
  Graph graph;
  graph.add();
  Last last;
  All all(graph, 1, 0, policy, 50'000'000);
  all[0].own = &last;
  all[0].body = outlast;
  EXPECT(all.begin(65536));
  All::Thread own[2];
  own[1].index = 1;
  together(3, [&](int thread) {
    if (thread < 2) {
      all.work(own[thread]);
      last.alone.store(true);
    } else {
      while (last.runs_on.load() == nullptr) std::this_thread::yield();
      all.suspend(*last.runs_on.load(), true);
      all.end();
    }
  });
  EXPECT(last.turns.load() == 2);
}

World chain(uint32_t operators, uint64_t tuples, size_t capacity) {
  World world;
  uint32_t last = world.graph.add(tuples);
  for (uint32_t i = 0; i < operators; ++i) {
    const uint32_t next = world.graph.add();
    world.graph.connect({last}, next, capacity);
    last = next;
  }
  return world;
}

// Two sources, a fan-out, operators that want several at once of both ways, and a port that all of
// them send to.
World web(uint64_t tuples) {
  World world;
  Graph& graph = world.graph;
  const uint32_t one = graph.add(tuples), other = graph.add(tuples);
  std::vector<uint32_t> ends;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t pair = graph.add(), left = graph.add(), right = graph.add();
    graph.connect({one}, left, 1 + i);
    graph.connect({other}, right, 4);
    graph.connect({left}, pair, 3);
    graph.connect({right}, pair, 5);
    graph.operators[pair].mode = WaitMode::ALL;
    graph.operators[pair].wants = 1 + i;
    ends.push_back(pair);
  }
  const uint32_t sink = graph.add();
  graph.connect(ends, sink, 2);
  return world;
}

// Two ways from a source to where they meet, one of them longer; the source sends to both, and who
// waits there wants as many of each.
World rhombus(uint64_t tuples, size_t capacity) {
  World world;
  Graph& graph = world.graph;
  const uint32_t from = graph.add(tuples), way = graph.add(), pair = graph.add(),
                 sink = graph.add();
  graph.connect({from}, pair, capacity);
  graph.connect({from}, way, capacity);
  graph.connect({way}, pair, capacity);
  graph.connect({pair}, sink, capacity);
  graph.operators[pair].mode = WaitMode::ALL;
  return world;
}

// Nobody has a token for the second operator, so all wait in the end, which is noticed.
void halts(const Policy& policy, uint32_t threads) {
  World world = chain(3, 10, 2);
  world.graph.passes_tokens = true;
  world.graph.tokens[1]->store(0);
  std::string told;
  world.graph.when_stuck = [&] {
    const auto name = [](uint32_t co) { return std::to_string(co); };
    const auto owner = [&](uint32_t port) { return name(world.graph.reader(port)); };
    if (!world.all->is_stuck()) return;  // another thread was faster
    told = who_waits(*world.all, world.graph, name, [](uint32_t) { return 0; }, owner);
    world.all->end();
  };
  run(world, policy, threads, 50'000'000, 0);
  EXPECT(told ==
         "deadlock: operator '0' waits for room in the queue before input port 0 of operator '1', "
         "operator '1' waits for what others give "
         "back, "
         "operator '2' waits for tuples at input port 0, operator '3' waits for tuples at input "
         "port 0");
}

// Many send to one port, which holds two tuples.
World fan_in(uint32_t senders, uint64_t tuples) {
  World world;
  std::vector<uint32_t> from;
  for (uint32_t i = 0; i < senders; ++i) from.push_back(world.graph.add(tuples));
  const uint32_t sink = world.graph.add();
  world.graph.connect(from, sink, 2);
  return world;
}

// A policy that looks at what does not change is obeyed exactly, however many are ready, and chance
// breaks ties.
void best_first(uint32_t operators) {
  const Policy highest{"", "", [](const Seen* seen, void*) { return seen->gain_per_s; }, GAIN, 0};
  World world;
  for (uint32_t i = 0; i < operators; ++i) world.graph.add(1);
  world.graph.tells_order = true;
  run(world, highest, 1, 50'000'000, 0);
  EXPECT(world.graph.order.size() == operators);
  for (uint32_t i = 0; i < operators; ++i)
    EXPECT(world.graph.order[i] == i);  // a graph's gains fall with the index
  const Policy equal{"", "", [](const Seen*, void*) { return 0.0; }, 0, 0};
  World drawn;
  for (uint32_t i = 0; i < operators; ++i) drawn.graph.add(1);
  drawn.graph.tells_order = true;
  run(drawn, equal, 1, 50'000'000, 0);
  EXPECT(drawn.graph.order != world.graph.order);
}

// Readers of queues that grow while they wait. All are ready before there is a tuple, and the
// longest queue goes on first: the score of each is that of the moment.
void growing_queues() {
  World world;
  Graph& graph = world.graph;
  graph.tells_order = true;
  constexpr uint64_t sends[] = {3, 40, 7, 21};
  std::vector<uint32_t> readers, sources;
  for (const uint64_t count : sends) sources.push_back(graph.add(count));
  for (const uint32_t source : sources) {
    readers.push_back(graph.add());
    graph.connect({source}, readers.back(), 64);
  }
  const Policy longest{"", "", policies::max_queue_length, 0, 0};
  run(world, longest, 1, 50'000'000, 0);
  const std::vector<uint32_t> last(graph.order.end() - 4, graph.order.end());
  EXPECT((last == std::vector<uint32_t>{readers[1], readers[3], readers[2], readers[0]}));
}

// A stamp is that of the first push into a stretch, or of the last push into an empty queue.
void stamps() {
  Stamps stamps(64);
  int64_t now = 0;
  const auto clock = [&now] { return ++now; };
  stamps.stamp(0, 0, 10, 100, clock);
  stamps.stamp(10, 3, 10, 200, clock);
  EXPECT(now == 1 && stamps.at(5).enqueued_ns == 1 && stamps.at(15).born_ns == 100);
  stamps.stamp(20, 20, 4, 300, clock);
  EXPECT(now == 2 && stamps.at(20).enqueued_ns == 2 && stamps.at(20).born_ns == 300);
  stamps.stamp(24, 20, 32, 400, clock);
  EXPECT(now == 3 && stamps.at(31).born_ns == 300 && stamps.at(32).born_ns == 400 &&
         stamps.at(32).enqueued_ns == 3);
}

void longest_queues(const Seen* seen, size_t count, double* scores, void*) {
  for (size_t i = 0; i < count; ++i) scores[i] = static_cast<double>(seen[i].queued);
}

constexpr int64_t SHORT_NS = 20'000;  // a turn so short that many are cut off

// Every kind of graph on so many threads, in turns of so long.
void every_graph(const Policy& policy, uint64_t tuples, uint32_t threads, int64_t quantum_ns) {
  World line = chain(12, tuples, 3);
  run(line, policy, threads, quantum_ns, 0);
  for (size_t i = 1; i < line.graph.operators.size(); ++i)
    EXPECT(line.graph.operators[i].executed == tuples);
  World net = web(tuples);
  run(net, policy, threads, quantum_ns, 0);
  EXPECT(net.graph.operators.back().executed == tuples + tuples / 2 + tuples / 3);
  if (quantum_ns == SHORT_NS) {
    World ahead = rhombus(tuples, threads == 1 ? 1 : 3);
    ahead.graph.sends_ahead = true;
    run(ahead, policy, threads, quantum_ns, 0);
    EXPECT(ahead.graph.operators.back().executed == tuples);
    net = web(tuples);
    net.graph.sends_ahead = true;
    run(net, policy, threads, quantum_ns, 0);
    EXPECT(net.graph.operators.back().executed == tuples + tuples / 2 + tuples / 3);
  }
  World many = fan_in(20, tuples / 4);
  run(many, policy, threads, quantum_ns, 0);
  EXPECT(many.graph.operators.back().executed == 20 * (tuples / 4));
  World ring = chain(5, tuples, 4);
  ring.graph.passes_tokens = true;
  run(ring, policy, threads, quantum_ns, 0);
  EXPECT(ring.graph.operators.back().executed == tuples);
  World slow = chain(3, 10, 4);
  slow.graph.operators[0].paced = true;
  run(slow, policy, threads, quantum_ns, 0);
  EXPECT(slow.graph.operators.back().executed == 10);
  World early = chain(4, tuples, 3);  // its readers' writers must not wait for ever
  early.graph.operators[2].leaves_after = 5;
  run(early, policy, threads, quantum_ns, 0);
  EXPECT(early.graph.operators[2].executed == 5 && early.graph.operators.back().executed == 5);
  EXPECT(early.graph.operators[1].executed == tuples);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t tuples = argc > 1 ? std::stoull(argv[1]) : 60;
  stamps();
  best_first(5);
  best_first(500);
  growing_queues();
  std::vector<Policy> policies(std::begin(POLICIES), std::end(POLICIES));
  policies.push_back({.name = "judges",
                      .meaning = "",
                      .score = nullptr,
                      .looks = ALL_LOOKS,
                      .floor = 0,
                      .judge = longest_queues});
  for (const Policy& policy : policies) {
    run_the_last_one_on_a_suspended_thread(policy);
    halts(policy, 1);
    every_graph(policy, tuples, 4, SHORT_NS);
    for (uint32_t stop = 1; stop < 40; stop += 13) {
      World cut = web(UINT64_MAX / 2);
      run(cut, policy, 4, 1'000'000, stop);
    }
    // What a policy decides is all that differs between policies, and it does so in one of two
    // ways: by the scores of all that are ready, or by a score that each gets as it becomes ready.
    if (&policy != &policies.front() && &policy != &policies.back()) continue;
    for (const uint32_t threads : {1u, 2u, 4u}) {
      for (const int64_t quantum_ns : {int64_t{0}, SHORT_NS, int64_t{50'000'000}})
        every_graph(policy, tuples, threads, quantum_ns);
    }
  }
}
