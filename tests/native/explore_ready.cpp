// The lock-free structures of scheduled ports, in many interleavings: the ring and its flags, who
// sees to a port with tuples (READY, ready_flag.hpp), the list of ready ports, and how threads
// sleep for ports and for words.
//
//   ONCE    each tuple is executed once, in order, by one thread at a time
//   LISTED  a port is on the list once
//   ENDS    every run comes to its end: no tuple is left lying, no wake-up is lost
#include <vector>

#include "explore.hpp"
#include "free_list.hpp"
#include "parking.hpp"
#include "ready_flag.hpp"
#include "ready_ports.hpp"
#include "spsc_ring.hpp"
#include "try_flag.hpp"
#include "windows.hpp"

using namespace millrace;
using explore::Owned;
using explore::Platform;
using explore::Where;
using explore::Word;
using explore::world;

namespace {

constexpr size_t STRIDE = 2 * CACHE_LINE, MOST_SLOTS = 4;

// -- one port: a thread that sends to it and drains it when it is full, threads that drain it while
// they wait for something behind it, and scheduler threads, which take it from the list of ready
// ports

struct Sizes {
  uint64_t tuples = 2, capacity = 1;
  uint32_t holders = 1, takers = 1;
};

struct Port {
  BasicSpscRing<Platform> ring;
  alignas(CACHE_LINE) char slots[MOST_SLOTS * STRIDE];
  Owned slot_owners[MOST_SLOTS];
  BasicTryFlag<Platform> consuming;
  BasicReadyFlag<Platform> ready;
  Owned operator_state;
  uint64_t pushed = 0, executed = 0;

  explicit Port(uint64_t capacity) { ring.init(slots, capacity, STRIDE); }
  bool push() {
    if (ring.room(1) == 0) return false;
    alignas(CACHE_LINE) char memory[STRIDE] = {};
    Tuple* tuple = reinterpret_cast<Tuple*>(memory);
    tuple->sequence = pushed;
    slot_owners[pushed++ % ring.capacity()].touch();
    EXPECT(ring.push(tuple, 1, STRIDE, 0) == 1);
    return true;
  }
  // By who has the consumer flag
  uint64_t drain(uint64_t most) {
    uint64_t done = 0;
    Tuple* first = nullptr;
    for (; done < most && ring.front(1, &first) > 0; ++done) {
      operator_state.touch();
      slot_owners[executed % ring.capacity()].touch();
      EXPECT(first->sequence == executed);  // ONCE
      ++executed;
      ring.release(1);
    }
    return done;
  }
};

struct Case {
  const Sizes sizes;
  Port port{sizes.capacity};
  BasicReadyPorts<Platform> list{1};
  bool listed = false;
  Word<bool> stop{false};
  Word<uint64_t> suspended{0}, done{0};

  void put_on_list() {
    EXPECT(!listed);  // LISTED
    listed = true;
    list.push(0);
    list.wake_one();
  }
  void account(uint64_t tuples) {
    if (tuples == 0 || done.fetch_add(tuples) + tuples < sizes.tuples) return;
    stop.store(true);
    list.wake_all();
  }
  // As reschedule() of dynamic.hpp
  bool help(uint64_t most) {
    if (port.ring.size_guess() == 0 || !port.consuming.try_lock()) return false;
    const uint64_t tuples = port.drain(most);
    if (port.ready.release(port.ring, port.consuming)) put_on_list();
    account(tuples);
    return true;
  }
  void produce() {
    bool unannounced = false;
    const auto announce = [&] {
      if (unannounced && port.ready.set()) put_on_list();
      unannounced = false;
    };
    while (port.pushed < sizes.tuples) {
      if (port.push()) {
        unannounced = true;
        if (!port.ready.seems_set()) announce();
        continue;
      }
      announce();
      if (!help(1)) world.yield(Where::current());
    }
    announce();
  }
  // As scheduler_body() and next_port() of dynamic.hpp
  void schedule() {
    while (!stop.load()) {
      if (list.pop() == BasicReadyPorts<Platform>::NONE) {
        list.sleep(stop, suspended);
        continue;
      }
      listed = false;
      if (port.consuming.try_lock()) {
        list.wake_one();
        const uint64_t tuples = port.drain(2);
        port.consuming.unlock();
        if (port.ring.size_guess() > 0) {
          put_on_list();
        } else if (port.ready.clear(port.ring, port.consuming)) {
          put_on_list();
        }
        account(tuples);
      } else if (port.ready.clear(port.ring, port.consuming)) {
        put_on_list();
      }
    }
  }
};

void port(const Sizes& sizes) {
  auto of = std::make_shared<Case>(sizes);
  world.spawn("producer", [c = of.get()] { c->produce(); });
  for (uint32_t i = 0; i < sizes.holders; ++i)
    world.spawn("holder " + std::to_string(i), [c = of.get()] { c->help(255); });
  for (uint32_t i = 0; i < sizes.takers; ++i)
    world.spawn("taker " + std::to_string(i), [c = of.get()] { c->schedule(); });
  world.at_end([of] { EXPECT(of->port.executed == of->sizes.tuples); });
}

// -- the structures by themselves

void ring(uint64_t capacity, uint64_t tuples) {
  auto of = std::make_shared<Port>(capacity);
  world.spawn("producer", [=, c = of.get()] {
    while (c->pushed < tuples)
      if (!c->push()) world.yield(Where::current());
  });
  world.spawn("consumer", [=, c = of.get()] {
    while (c->executed < tuples)
      if (c->drain(tuples) == 0) world.yield(Where::current());
  });
  world.at_end([=] { EXPECT(of->executed == tuples && of->ring.size_guess() == 0); });
}

// Threads that take ports from the list and put them back.
void free_list(uint32_t ports, uint32_t threads, uint32_t rounds) {
  struct List {
    BasicFreeList<Platform> list;
    Owned owners[4];
    uint32_t taken = 0;
    explicit List(uint32_t ports) : list(ports) {}
  };
  auto of = std::make_shared<List>(ports);
  for (uint32_t i = 0; i < ports; ++i) of->list.push(i);
  for (uint32_t i = 0; i < threads; ++i) {
    world.spawn("thread " + std::to_string(i), [=, c = of.get()] {
      for (uint32_t round = 0; round < rounds;) {
        const uint32_t port = c->list.pop();
        if (port == BasicFreeList<Platform>::NONE) {
          world.yield(Where::current());
          continue;
        }
        EXPECT(port < ports);
        c->owners[port].touch();
        ++round;
        c->list.push(port);
      }
    });
  }
  world.at_end([=] {
    uint32_t found = 0;
    for (uint32_t i = 0; i < ports; ++i) found |= 1U << of->list.pop();
    EXPECT(found == (1U << ports) - 1 && of->list.pop() == BasicFreeList<Platform>::NONE);
  });
}

// A port for each of the sleepers: one wakes the next.
void sleepers(uint32_t threads) {
  struct Sleepers {
    BasicReadyPorts<Platform> ready;
    Word<bool> stop{false};
    Word<uint64_t> suspended{0};
    explicit Sleepers(uint32_t ports) : ready(ports) {}
  };
  auto of = std::make_shared<Sleepers>(threads);
  for (uint32_t i = 0; i < threads; ++i) {
    world.spawn("sleeper " + std::to_string(i), [c = of.get()] {
      while (c->ready.pop() == BasicReadyPorts<Platform>::NONE)
        c->ready.sleep(c->stop, c->suspended);
      c->ready.wake_one();
    });
  }
  world.spawn("source", [=, c = of.get()] {
    for (uint32_t i = 0; i < threads; ++i) {
      c->ready.push(i);
      c->ready.wake_one();
    }
  });
  world.at_end([of] { EXPECT(of->ready.empty()); });
}

struct Parked {
  BasicParking<Platform> even, odd;
  Word<uint64_t> word{0};
  Word<bool> stop{false};
};
// A word that two threads hand back and forth.
void handed_over(uint64_t rounds) {
  auto of = std::make_shared<Parked>();
  for (const uint64_t side : {uint64_t{0}, uint64_t{1}}) {
    world.spawn(side == 0 ? "even" : "odd", [=, c = of.get()] {
      BasicParking<Platform>& mine = side == 0 ? c->even : c->odd;
      BasicParking<Platform>& other = side == 0 ? c->odd : c->even;
      for (uint64_t turn = side; turn < rounds; turn += 2) {
        while (c->word.load(std::memory_order_acquire) != turn)
          mine.sleep_while(c->word, turn == 0 ? 0 : turn - 1, c->stop);
        c->word.store(turn + 1, std::memory_order_release);
        other.wake_one();
      }
    });
  }
  world.at_end([=] { EXPECT(of->word.load() == rounds && !of->even.somebody_guess()); });
}
void stop_wakes_all() {
  auto of = std::make_shared<Parked>();
  world.spawn("waiter", [c = of.get()] { c->even.sleep_while(c->word, 0, c->stop); });
  world.spawn("sleeper", [c = of.get()] {
    while (!c->stop.load()) c->even.sleep_for(1'000'000, c->stop);
    EXPECT(Platform().now() == 0);  // it was woken, and no time has passed
  });
  world.spawn("engine", [c = of.get()] {
    c->stop.store(true);
    c->even.wake_all();
  });
  world.at_end([of] { EXPECT(!of->even.somebody_guess()); });
}

// Who reads sees a whole window, while the thread that counts goes from one to the next.
void windows() {
  auto of = std::make_shared<BasicWindows<Platform>>();
  of->init(1, 4);
  world.spawn("counts", [c = of.get()] {
    for (int64_t now = 1; now <= 6; ++now) {
      c->pass(now);
      c->count(0);
    }
  });
  world.spawn("reads", [c = of.get()] {
    uint64_t before = 0;
    for (int i = 0; i < 2; ++i) {
      const uint64_t count = c->read()[0];
      EXPECT(count <= 4 && (count > 0 || before == 0));
      before = count;
    }
  });
  world.at_end([of] {});
}

}  // namespace

int main(int argc, char** argv) {
  return explore::main_of(argc, argv,
                          {
                              {"ring-of-one", [] { ring(1, 3); }, {.surprises = 3}},
                              {"ring-of-two", [] { ring(2, 4); }, {.surprises = 3}},
                              {"free-list", [] { free_list(2, 2, 2); }},
                              {"free-list-of-one", [] { free_list(1, 3, 1); }},
                              {"sleepers", [] { sleepers(2); }},
                              {"handed-over", [] { handed_over(4); }, {.surprises = 3}},
                              {"stop-wakes-all", stop_wakes_all},
                              {"windows", windows},
                              {"port", [] { port({}); }},
                              {"port-of-two", [] { port({.tuples = 3, .capacity = 2}); }},
                              {"two-takers", [] { port({.takers = 2}); }, {.surprises = 1}},
                              {"two-holders", [] { port({.holders = 2}); }, {.surprises = 1}},
                          });
}
