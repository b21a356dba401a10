// Replicas of an operator that come and go (replicas.hpp), in many interleavings: a source, an
// operator, threads that execute them, and one more that changes the number of replicas, to any.
// What is sent for a tuple follows from its number.
//
//   ORDER   what is sent for a tuple is sent after all that is sent for those before it
//   ONCE    all of it is sent, once; by key, tuples of a bin are worked on one by one, in order
//   ENDS    every run comes to its end: no deadlock, no livelock; no run that goes on seems
//           to be deadlocked
#include <cstring>
#include <vector>

#include "coroutines.hpp"
#include "explore.hpp"
#include "replicas.hpp"
#include "spsc_ring.hpp"

using namespace millrace;
using explore::Owned;
using explore::Platform;
using explore::world;

namespace {

constexpr size_t STRIDE = 2 * CACHE_LINE, MOST_SLOTS = 4;
constexpr uint32_t MOST_SENT = 2;  // for a tuple
constexpr uint32_t BINS = 2;

struct Sizes {
  uint32_t workers = 2, replicas = 2, tuples = 3, window = 2, changes = 1, capacity = 2;
  uint32_t begins_with = 1;                 // replicas
  uint32_t first_sends = 1;                 // for tuple 0, and so 1, 2, 0, 1, ...
  bool keyed = false, sent_before = false;  // all tuples are in the queue before the threads run
};

uint32_t bin_of_number(uint64_t number) { return number / 2 % BINS; }  // 0 0 1 1 0 0 ...

// Co-routine 0 is the source, 1 and those behind it the operator's; port 1 is the operator's.
struct Graph {
  BasicSpscRing<Platform> ring;
  alignas(CACHE_LINE) char slots[MOST_SLOTS * STRIDE];
  explore::Word<bool> ended{false};
  std::vector<uint32_t> senders{0};
  std::function<void()> when_stuck;

  uint64_t size(uint32_t) const { return ring.size_guess(); }
  uint64_t room(uint32_t) const { return ring.capacity() - ring.size_guess(); }
  bool closed(uint32_t) const { return ended.load(std::memory_order_acquire); }
  uint32_t reader(uint32_t) const { return 1; }
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

struct Flow {
  using Tuple = millrace::Tuple;
  struct Trace {
    mutable Owned owner;
  };

  Graph& graph;
  All& all;
  Owned output{};
  uint64_t sent = 0, last = 0;  // how many; the place of the last one

  uint64_t size() const { return graph.size(1); }
  bool closed() const { return graph.closed(1); }
  size_t front(All::Coroutine&, size_t most, Tuple** first) {
    return graph.ring.front(most, first);
  }
  void release(All::Coroutine&, size_t count) { graph.ring.release(count); }
  void taken(All::Coroutine&) { all.read(1); }
  void passing(All::Coroutine&) {}
  void copy(All::Coroutine&, Tuple* to, const Tuple* first, size_t count, size_t,
            const Trace& trace) const {
    trace.owner.touch();
    std::memcpy(static_cast<void*>(to), first, count * STRIDE);
  }
  void fetch(All::Coroutine&, size_t, const Trace& trace) const { trace.owner.touch(); }
  uint32_t bin(const Tuple* tuple) const { return bin_of_number(tuple->sequence); }
  size_t send(All::Coroutine&, Tuple* first, size_t count) {
    output.touch();
    for (size_t i = 0; i < count; ++i) {
      const Tuple* tuple = slot(first, STRIDE, i);
      const uint64_t place = tuple->sequence * MOST_SENT + tuple->order + 1;
      EXPECT(place > last);  // ORDER
      last = place;
      ++sent;
    }
    return count;
  }
};
using Crew = Replicas<All, Flow>;

struct Case {
  const Sizes sizes;
  Graph graph;
  All all;
  All::Thread threads[3];
  Flow flow{graph, all};
  Crew crew;
  Owned bins[BINS];
  uint64_t worked_in[BINS] = {}, pushed = 0, all_sent = 0;

  explicit Case(const Sizes& of)
      : sizes(of),
        all(graph, 1 + of.replicas, 2, POLICIES[0], 1000, of.replicas - 1),
        crew(all, flow,
             {.most = of.replicas,
              .window = of.window,
              .batch = 1,
              .outputs = 1,
              .bins = of.keyed ? BINS : 0,
              .stride = STRIDE},
             body_of_first(), of.replicas > 1 ? &all[2] : nullptr) {
    graph.ring.init(graph.slots, sizes.capacity, STRIDE);
    graph.when_stuck = [this] {
      if (all.is_stuck()) world.fail("deadlock: no co-routine can go on");
    };
    crew.prepare();
    for (uint32_t i = 0; i < sizes.replicas; ++i) crew[i].place = this;
    all[0].body = source;
    all[0].own = this;
    EXPECT(all.begin(32 << 10));
    for (uint32_t i = 0; i < sizes.workers; ++i) {
      threads[i].index = i;
      all.prepare(threads[i]);
    }
    if (sizes.begins_with > 1) crew.set(sizes.begins_with);
    while (sizes.sent_before && pushed < sizes.tuples) EXPECT(push());
  }
  uint32_t many(uint64_t number) const { return (number + sizes.first_sends) % 3; }
  bool push() {
    alignas(CACHE_LINE) char memory[STRIDE] = {};
    Tuple* tuple = reinterpret_cast<Tuple*>(memory);
    tuple->sequence = pushed;
    if (graph.ring.push(tuple, 1, STRIDE, 0) == 0) return false;
    all_sent += many(pushed++);
    return true;
  }
  All::Coroutine& body_of_first() {
    all[1].body = loop;
    return all[1];
  }

  static void source(All::Coroutine& self) {
    Case& of = *static_cast<Case*>(self.own);
    while (of.pushed < of.sizes.tuples) {
      if (of.push()) {
        of.all.written(1);
      } else {
        of.all.wait_for_room(self, 1);
      }
    }
    of.graph.ended.store(true, std::memory_order_release);
    of.all.written(1);
  }
  static void loop(All::Coroutine& self) {
    Crew::Replica& replica = *static_cast<Crew::Replica*>(self.own);
    Case& of = *static_cast<Case*>(replica.place);
    alignas(CACHE_LINE) char memory[MOST_SENT * STRIDE] = {};
    Tuple* out = reinterpret_cast<Tuple*>(memory);
    size_t count;
    while (Tuple* first = of.crew.take(replica, &count)) {
      EXPECT(count == 1);
      const uint64_t number = first->sequence;
      if (of.sizes.keyed) {
        of.bins[bin_of_number(number)].touch();
        EXPECT(number + 1 > of.worked_in[bin_of_number(number)]);
        of.worked_in[bin_of_number(number)] = number + 1;
      }
      for (uint32_t i = 0; i < of.many(number); ++i) {
        slot(out, STRIDE, i)->sequence = number;
        slot(out, STRIDE, i)->order = i;
      }
      if (of.many(number) > 0)
        EXPECT(of.crew.send(replica, out, of.many(number)) == of.many(number));
      if (of.sizes.keyed) of.bins[bin_of_number(number)].touch();
    }
    if (of.crew.ends(replica)) {
      of.flow.output.touch();
      EXPECT(of.pushed == of.sizes.tuples && of.flow.sent == of.all_sent);
    }
  }
};

void scenario(const Sizes& sizes) {
  auto of = std::make_shared<Case>(sizes);
  for (uint32_t i = 0; i < sizes.workers; ++i)
    world.spawn("worker " + std::to_string(i), [c = of.get(), i] { c->all.work(c->threads[i]); });
  world.spawn("control", [c = of.get()] {
    for (uint32_t i = 0; i < c->sizes.changes; ++i) c->crew.set(1 + world.any(c->sizes.replicas));
  });
  world.at_end([of] {
    EXPECT(of->flow.sent == of->all_sent);
    for (uint32_t i = 0; i < of->all.count(); ++i)
      EXPECT(of->all[i].state.load(std::memory_order_relaxed) == CoState::COMPLETED);
  });
}
Sizes by_key(uint32_t changes) {
  return {.tuples = 4,
          .window = 4,
          .changes = changes,
          .capacity = 4,
          .begins_with = 2,
          .first_sends = 2,
          .keyed = true,
          .sent_before = true};
}

}  // namespace

int main(int argc, char** argv) {
  return explore::main_of(
      argc, argv,
      {
          {"one-then-any", [] { scenario({}); }, {.surprises = 1}},
          {"short-queue", [] { scenario({.tuples = 4, .capacity = 1}); }, {.surprises = 1}},
          {"three-replicas", [] { scenario({.replicas = 3, .tuples = 2}); }, {.surprises = 1}},
          {"two-then-any",
           [] { scenario({.changes = 1, .capacity = 4, .begins_with = 2, .sent_before = true}); },
           {.surprises = 1}},
          {"two",
           [] { scenario({.changes = 0, .capacity = 4, .begins_with = 2, .sent_before = true}); },
           {.surprises = 1}},
          {"one-ticket-at-a-time",
           [] {
             scenario(
                 {.tuples = 2, .window = 1, .capacity = 4, .begins_with = 2, .sent_before = true});
           },
           {.surprises = 1}},
          {"by-key", [] { scenario(by_key(0)); }, {.surprises = 1}},
          {"by-key-then-any", [] { scenario(by_key(1)); }, {.surprises = 1}},
          {"by-key-one-then-any",
           [] { scenario({.tuples = 4, .window = 4, .changes = 2, .keyed = true}); },
           {.surprises = 1}},
      });
}
