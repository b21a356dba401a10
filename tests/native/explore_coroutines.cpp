// Co-routines that block and are woken (coroutines.hpp), in many interleavings: writers and a
// reader with a queue between them, executed by one to three threads. One of these may be
// suspended, and the run may be cut short, at any moment.
//
//   ALONE   one thread at a time executes a co-routine, and not before it is off its stack
//   ONCE    the reader takes each tuple, in order
//   ENDS    every run comes to its end: no deadlock, no livelock; no run that goes on seems
//           to be deadlocked
#include <vector>

#include "coroutines.hpp"
#include "explore.hpp"
#include "spsc_ring.hpp"
#include "try_flag.hpp"

using namespace millrace;
using explore::Platform;
using explore::Where;
using explore::world;

namespace {

constexpr size_t STRIDE = 2 * CACHE_LINE, MOST_SLOTS = 4;

struct Sizes {
  uint32_t workers = 2, tuples = 2, capacity = 1, writers = 1;
  bool stops = false, suspends = false;
  int64_t quantum_ns = 1000;           // 0: each co-routine is preempted wherever it may be
  uint64_t leaves_after = UINT64_MAX;  // tuples, after which the reader returns
};

// Co-routine 0 reads from port 0; the others write to it.
struct Graph {
  BasicSpscRing<Platform> ring;
  alignas(CACHE_LINE) char slots[MOST_SLOTS * STRIDE];
  explore::Owned slot_owners[MOST_SLOTS];
  explore::Word<uint32_t> open;  // streams that have not ended
  std::vector<uint32_t> senders;
  std::function<void()> when_stuck;

  uint64_t size(uint32_t) const { return ring.size_guess(); }
  uint64_t room(uint32_t) const { return ring.capacity() - ring.size_guess(); }
  bool closed(uint32_t) const { return open.load(std::memory_order_acquire) == 0; }
  uint32_t reader(uint32_t) const { return 0; }
  const std::vector<uint32_t>& writers(uint32_t) const { return senders; }
  bool given(uint32_t) const { return true; }
  void leaves(uint32_t) {}
  void turn_begins(uint32_t, uint32_t, int64_t) {}
  void turn_ends(uint32_t, uint32_t, int64_t, int64_t) {}
  void rests(uint32_t, bool) {}
  void wakes(uint32_t, bool) {}
  void refused(uint32_t) const {}
  void stuck() const { when_stuck(); }
  Seen seen(uint32_t, int64_t, uint32_t) const { return {}; }
};
using All = Coroutines<Platform, Graph>;

struct Case {
  const Sizes sizes;
  Graph graph;
  All all;
  All::Thread threads[3];
  BasicTryFlag<Platform> producing;
  uint64_t pushed = 0;  // into the ring, by who has the flag
  uint64_t sent[3] = {}, expected[3] = {}, taken = 0;

  explicit Case(const Sizes& of)
      : sizes(of), all(graph, 1 + of.writers, 1, POLICIES[0], of.quantum_ns) {
    graph.ring.init(graph.slots, sizes.capacity, STRIDE);
    graph.open.store(sizes.writers);
    graph.when_stuck = [this] {
      if (all.is_stuck()) world.fail("deadlock: no co-routine can go on");
    };
    for (uint32_t i = 0; i <= sizes.writers; ++i) {
      all[i].own = this;
      all[i].body = i == 0 ? read : write;
      if (i == 0) all[i].inputs = {0};
      if (i > 0) graph.senders.push_back(i);
    }
    EXPECT(all.begin(32 << 10));
    for (uint32_t i = 0; i < sizes.workers; ++i) {
      threads[i].index = i;
      all.prepare(threads[i]);
    }
  }

  bool try_push(uint32_t writer) {
    if (sizes.writers > 1 && !producing.try_lock()) {
      world.yield(Where::current());
      return false;
    }
    const bool fits = graph.ring.room(1) > 0;
    if (fits) {
      alignas(CACHE_LINE) char memory[STRIDE] = {};
      Tuple* tuple = reinterpret_cast<Tuple*>(memory);
      tuple->sequence = sent[writer];
      tuple->order = writer;
      graph.slot_owners[pushed % sizes.capacity].touch();
      EXPECT(graph.ring.push(tuple, 1, STRIDE, 0) == 1);
      ++pushed;
    }
    if (sizes.writers > 1) producing.unlock();
    return fits;
  }
  static void write(All::Coroutine& self) {
    Case& of = *static_cast<Case*>(self.own);
    uint64_t& sent = of.sent[self.index];
    const auto gone = [&] {
      return of.all[0].state.load(std::memory_order_acquire) == CoState::COMPLETED;
    };
    while (sent < of.sizes.tuples && !of.all.over() && !gone()) {
      if (!of.try_push(self.index)) {
        of.all.wait_for_room(self, 0);
        continue;
      }
      ++sent;
      of.all.written(0);
      if (of.sizes.writers > 1) of.all.written_by_one_of(0);
      of.all.check_for_preemption(self);
    }
    of.graph.open.fetch_sub(1, std::memory_order_release);
    of.all.written(0);
  }
  static void read(All::Coroutine& self) {
    Case& of = *static_cast<Case*>(self.own);
    self.need[0].store(1, std::memory_order_relaxed);
    while (of.taken < of.sizes.leaves_after && of.all.wait(self, WaitMode::ANY) == Waited::DONE) {
      Tuple* first = nullptr;
      EXPECT(of.graph.ring.front(1, &first) == 1);
      of.graph.slot_owners[of.taken % of.sizes.capacity].touch();
      EXPECT(first->sequence == of.expected[first->order]);
      ++of.expected[first->order];
      ++of.taken;
      of.graph.ring.release(1);
      of.all.read(0);
    }
  }
};

void scenario(const Sizes& sizes) {
  auto of = std::make_shared<Case>(sizes);
  for (uint32_t i = 0; i < sizes.workers; ++i)
    world.spawn("worker " + std::to_string(i), [c = of.get(), i] { c->all.work(c->threads[i]); });
  if (sizes.stops) world.spawn("engine", [c = of.get()] { c->all.end(); });
  if (sizes.suspends) world.spawn("pool", [c = of.get()] { c->all.suspend(c->threads[0], true); });
  world.at_end([of] {
    const uint64_t all_sent = of->sizes.tuples * of->sizes.writers;
    EXPECT(of->all.over() || of->taken == std::min(all_sent, of->sizes.leaves_after));
    for (uint32_t i = 0; i < of->all.count(); ++i)
      EXPECT(of->all[i].state.load(std::memory_order_relaxed) == CoState::COMPLETED);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return explore::main_of(
      argc, argv,
      {
          {"one-thread", [] { scenario({.workers = 1}); }},
          {"two-threads", [] { scenario({}); }},
          {"three-threads", [] { scenario({.workers = 3, .tuples = 1}); }},
          {"queue-of-two", [] { scenario({.tuples = 3, .capacity = 2}); }},
          {"two-writers", [] { scenario({.tuples = 1, .writers = 2}); }},
          {"preempted", [] { scenario({.tuples = 1, .quantum_ns = 0}); }},
          {"reader-leaves", [] { scenario({.tuples = 3, .leaves_after = 1}); }},
          {"stopped", [] { scenario({.tuples = 1, .stops = true}); }},
          {"stopped-one-thread", [] { scenario({.workers = 1, .stops = true}); }},
          {"suspended", [] { scenario({.tuples = 1, .suspends = true, .quantum_ns = 0}); }},
          {"suspended-and-stopped",
           [] { scenario({.tuples = 1, .stops = true, .suspends = true, .quantum_ns = 0}); },
           {.surprises = 1}},
      });
}
