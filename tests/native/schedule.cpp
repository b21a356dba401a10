// The scheduler of co-routines (coroutines.hpp) on one thread, on a clock that only the work of
// operators moves: what it does and what its policies see, event by event.
// tests/runtime/scheduler.py has the other half, and says what a graph is.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "coroutine_run.hpp"
#include "coroutines.hpp"

namespace {

using millrace::Policy;
using millrace::Seen;
using millrace::Waited;
using millrace::WaitMode;

int64_t clock_ns;

enum Event : uint32_t { LOOK, PICK, STUCK, PORT, STATE };
struct Row {
  double kind = 0, co = 0, time = 0, queued = 0, scheduled = 0, enqueued = 0, born = 0, room = 0,
         behind = 0, score = 0;
};
std::vector<Row> rows;
void (*all_sleep)(int64_t until);

struct Platform {
  template <class T>
  class Word {
   public:
    Word() = default;
    Word(T value) : value_(value) {}  // NOLINT: as std::atomic
    T load(std::memory_order) const { return value_; }
    void store(T value, std::memory_order) { value_ = value; }
    void fetch_add(T value, std::memory_order) { value_ += value; }
    void fetch_sub(T value, std::memory_order) { value_ -= value; }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order) {
      if (value_ == expected) return value_ = desired, true;
      return expected = value_, false;
    }

   private:
    T value_{};
  };
  template <class T>
  using RareWord = Word<T>;
  struct Lock {
    void lock() {}
    void unlock() {}
  };
  struct Signal {
    void wait(Lock&) { all_sleep(-1); }
    void wait_until(Lock&, int64_t time_ns) { all_sleep(time_ns); }
    void wake_one() {}
  };
  using Fibre = millrace::Fibre;
  void fence() {}
  int64_t now() const { return clock_ns; }
};

struct Tuple {
  int64_t enqueued_ns, born_ns;
};
struct Port {
  uint64_t capacity = 0, pushed = 0, refused = 0;
  uint32_t reader = 0;
  std::vector<uint32_t> writers;
  std::deque<Tuple> queue;
  uint32_t open = 0;
};
struct Operator {
  WaitMode mode = WaitMode::ALL;
  uint64_t steps = 0;  // of a source: how many
  int64_t cost_ns = 0, gap_ns = 0;
  uint32_t batch = 1;
  double reads_per_s = 0, writes_per_s = 0, gain_per_s = 0;
  std::vector<uint32_t> inputs, outputs;
  std::vector<uint32_t> needs, gives;
};

struct Graph {
  std::vector<Operator> operators;
  std::vector<Port> ports;
  const Policy* policy = nullptr;

  uint64_t size(uint32_t port) const { return ports[port].queue.size(); }
  uint64_t room(uint32_t port) const { return ports[port].capacity - ports[port].queue.size(); }
  bool closed(uint32_t port) const { return ports[port].open == 0; }
  uint32_t reader(uint32_t port) const { return ports[port].reader; }
  const std::vector<uint32_t>& writers(uint32_t port) const { return ports[port].writers; }
  bool given(uint32_t) const { return true; }
  void leaves(uint32_t) {}
  void turn_begins(uint32_t, uint32_t co, int64_t now_ns) {
    rows.push_back(
        {.kind = PICK, .co = static_cast<double>(co), .time = static_cast<double>(now_ns)});
  }
  void turn_ends(uint32_t, uint32_t, int64_t, int64_t) {}
  void rests(uint32_t, bool) {}
  void wakes(uint32_t, bool) {}
  void refused(uint32_t) const {}
  void stuck() const {}
  Seen seen(uint32_t co, int64_t scheduled_ns, uint32_t) {
    const Operator& op = operators[co];
    Seen seen{};
    seen.source = op.inputs.empty();
    seen.batch = op.batch;
    seen.scheduled_ns = seen.enqueued_ns = seen.born_ns = scheduled_ns;
    seen.room = UINT64_MAX;
    bool first = true;
    for (const uint32_t port : op.inputs) {
      const std::deque<Tuple>& queue = ports[port].queue;
      seen.queued += queue.size();
      if (queue.empty()) continue;
      seen.enqueued_ns =
          first ? queue.front().enqueued_ns : std::min(seen.enqueued_ns, queue.front().enqueued_ns);
      seen.born_ns = first ? queue.front().born_ns : std::min(seen.born_ns, queue.front().born_ns);
      first = false;
    }
    for (const uint32_t port : op.outputs) {
      seen.room = std::min(seen.room, room(port));
      seen.queued_behind = std::max(seen.queued_behind, size(port));
    }
    seen.reads_per_s = op.reads_per_s, seen.writes_per_s = op.writes_per_s,
    seen.gain_per_s = op.gain_per_s;
    rows.push_back({LOOK, static_cast<double>(co), static_cast<double>(clock_ns),
                    static_cast<double>(seen.queued), static_cast<double>(seen.scheduled_ns),
                    static_cast<double>(seen.enqueued_ns), static_cast<double>(seen.born_ns),
                    static_cast<double>(seen.room), static_cast<double>(seen.queued_behind),
                    policy->score(&seen, policy->state)});
    return seen;
  }
};
using All = millrace::Coroutines<Platform, Graph>;

struct World {
  Graph graph;
  std::unique_ptr<All> all;

  void push(All::Coroutine& self, uint32_t index, uint64_t count, int64_t born_ns) {
    Port& port = graph.ports[index];
    while (count > 0) {
      const auto completed = [&] {
        return (*all)[port.reader].state.load(std::memory_order_relaxed) ==
               millrace::CoState::COMPLETED;
      };
      if (completed()) break;
      const uint64_t fitting = std::min(count, graph.room(index));
      for (uint64_t i = 0; i < fitting; ++i) port.queue.push_back({clock_ns, born_ns});
      port.pushed += fitting;
      count -= fitting;
      if (fitting > 0) all->written(index);
      if (fitting > 0 && port.writers.size() > 1) all->written_by_one_of(index);
      if (count == 0) break;
      if (all->over()) break;
      all->wait_for_room(self, index);
    }
    port.refused += count;
  }
  void send(All::Coroutine& self, const Operator& op, int64_t born_ns) {
    for (size_t i = 0; i < op.outputs.size(); ++i) push(self, op.outputs[i], op.gives[i], born_ns);
    all->check_for_preemption(self);
  }
  void source(All::Coroutine& self, const Operator& op) {
    int64_t due_ns = 0;
    for (uint64_t step = 0; step < op.steps && !all->over(); ++step) {
      if (op.gap_ns > 0 && due_ns > clock_ns) all->sleep_until(self, due_ns);
      due_ns += op.gap_ns;
      clock_ns += op.cost_ns;
      send(self, op, clock_ns);
    }
  }
  void loop(All::Coroutine& self, const Operator& op) {
    for (size_t i = 0; i < op.inputs.size(); ++i)
      self.need[i].store(op.needs[i], std::memory_order_relaxed);
    while (all->wait(self, op.mode) == Waited::DONE) {
      int64_t born_ns = INT64_MAX;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        std::deque<Tuple>& queue = graph.ports[op.inputs[i]].queue;
        if (queue.size() < op.needs[i]) continue;
        for (uint32_t taken = 0; taken < op.needs[i]; ++taken) {
          born_ns = std::min(born_ns, queue.front().born_ns);
          queue.pop_front();
        }
        all->read(op.inputs[i]);
      }
      clock_ns += op.cost_ns;
      send(self, op, born_ns);
    }
  }
  void close(const Operator& op) {
    for (const uint32_t port : op.outputs) {
      --graph.ports[port].open;
      all->written(port);
    }
  }
};
World* world;

void body(All::Coroutine& self) {
  const Operator& op = world->graph.operators[self.index];
  if (op.inputs.empty()) {
    world->source(self, op);
  } else {
    world->loop(self, op);
  }
  world->close(op);
}

}  // namespace

// Runs a graph to its end. `of_operators`: 8 numbers each (see scheduler.py), `of_ways`: operator,
// port, need or give, and whether it is an input. Writes at most `room` events and returns how many
// there were.
extern "C" [[gnu::visibility("default")]] int64_t run_schedule(
    const double* of_operators, int64_t operators, const double* of_ports, int64_t ports,
    const double* of_ways, int64_t ways, int32_t policy, int64_t quantum_ns, Row* out,
    int64_t room) {
  World here;
  world = &here;
  rows.clear();
  clock_ns = 1000;
  here.graph.policy = &millrace::POLICIES[policy];
  here.graph.operators.resize(static_cast<size_t>(operators));
  here.graph.ports.resize(static_cast<size_t>(ports));
  for (Operator& op : here.graph.operators) {
    op.mode = of_operators[0] != 0 ? WaitMode::ANY : WaitMode::ALL;
    op.steps = static_cast<uint64_t>(of_operators[1]);
    op.cost_ns = static_cast<int64_t>(of_operators[2]);
    op.gap_ns = static_cast<int64_t>(of_operators[3]);
    op.batch = static_cast<uint32_t>(of_operators[4]);
    op.reads_per_s = of_operators[5], op.writes_per_s = of_operators[6],
    op.gain_per_s = of_operators[7];
    of_operators += 8;
  }
  for (int64_t i = 0; i < ports; ++i)
    here.graph.ports[static_cast<size_t>(i)].capacity = static_cast<uint64_t>(of_ports[i]);
  for (; ways > 0; --ways, of_ways += 4) {
    const auto co = static_cast<uint32_t>(of_ways[0]), port = static_cast<uint32_t>(of_ways[1]),
               count = static_cast<uint32_t>(of_ways[2]);
    Operator& op = here.graph.operators[co];
    (of_ways[3] != 0 ? op.inputs : op.outputs).push_back(port);
    (of_ways[3] != 0 ? op.needs : op.gives).push_back(count);
    if (of_ways[3] != 0) {
      here.graph.ports[port].reader = co;
    } else {
      here.graph.ports[port].writers.push_back(co);
      ++here.graph.ports[port].open;
    }
  }
  here.all = std::make_unique<All>(here.graph, static_cast<uint32_t>(operators),
                                   static_cast<uint32_t>(ports), *here.graph.policy, quantum_ns);
  all_sleep = [](int64_t until) {
    if (until >= 0) {
      clock_ns = std::max(clock_ns, until);
      return;
    }
    rows.push_back({.kind = STUCK, .time = static_cast<double>(clock_ns)});
    world->all->end();
  };
  for (uint32_t co = 0; co < here.all->count(); ++co) {
    (*here.all)[co].body = body;
    (*here.all)[co].inputs = here.graph.operators[co].inputs;
  }
  if (!here.all->begin(64 << 10)) return -1;
  All::Thread thread;
  here.all->work(thread);
  for (const Port& port : here.graph.ports)
    rows.push_back({.kind = PORT,
                    .queued = static_cast<double>(port.queue.size()),
                    .scheduled = static_cast<double>(port.pushed),
                    .enqueued = static_cast<double>(port.refused)});
  for (uint32_t co = 0; co < here.all->count(); ++co)
    rows.push_back(
        {.kind = STATE,
         .co = static_cast<double>(co),
         .time = static_cast<double>((*here.all)[co].state.load(std::memory_order_relaxed))});
  const auto count = static_cast<int64_t>(rows.size());
  std::copy_n(rows.begin(), std::min(count, room), out);
  return count;
}

// When what a replica has taken left its source, as policies shall be told of what it sends; the
// tuple before it left at 7, this one at `born_ns`.
extern "C" [[gnu::visibility("default")]] int64_t age_in_hand(int64_t born_ns) {
  using millrace::CACHE_LINE;
  alignas(CACHE_LINE) char memory[4 * CACHE_LINE]{};
  alignas(CACHE_LINE) char tuple[2 * CACHE_LINE]{};
  millrace::Port port{};
  port.ring.init(memory, 4, CACHE_LINE);
  millrace::Stamps stamps(4);
  port.stamps = &stamps;
  millrace::Worker worker{};
  worker.born_ns = 7;
  millrace::Run run{};
  millrace::RunPorts ports;
  run.ports = &port;
  ports.run = &run;
  ports.workers = &worker;
  millrace::Crew::All all(ports, 1, 1, millrace::POLICIES[0], 1);
  millrace::Crew crew{ports, all, port, nullptr};
  stamps.stamp(0, 0, 1, born_ns, [] { return int64_t{9}; });
  port.ring.push(reinterpret_cast<millrace::Tuple*>(tuple), 1, CACHE_LINE, 0);
  millrace::Tuple* first = nullptr;
  return crew.front(all[0], 1, &first) == 1 ? worker.born_ns : -1;
}
