// What the explorer's memory may do and what it may not, by small programs of which that is known;
// and that it finds deadlocks, livelocks and races.
#include "explore.hpp"

using namespace explore;

namespace {

constexpr Order RELAXED = Order::relaxed, ACQUIRE = Order::acquire, RELEASE = Order::release,
                SEQ_CST = Order::seq_cst;

struct Case {
  Word<uint32_t> x{0}, y{0}, flag{0};
  Platform platform;
  Owned data;
  Lock lock, other;
  Signal signal;
  uint32_t seen[4] = {};
};

// Both threads store to one word and load the other; `stores`, `loads`: with which order, `fences`:
// between the two.
void store_buffers(Order stores, Order loads, bool fences) {
  auto one = std::make_shared<Case>();
  for (const bool first : {true, false}) {
    world.spawn(first ? "first" : "second", [=, c = one.get()] {
      (first ? c->x : c->y).store(1, stores);
      if (fences) c->platform.fence();
      c->seen[first] = (first ? c->y : c->x).load(loads);
    });
  }
  world.at_end([=] { EXPECT(one->seen[0] + one->seen[1] > 0); });
}
void message(Order store, Order load) {
  auto one = std::make_shared<Case>();
  world.spawn("sender", [=, c = one.get()] {
    c->x.store(1, RELAXED);
    c->data.touch();
    c->flag.store(1, store);
  });
  world.spawn("receiver", [=, c = one.get()] {
    if (c->flag.load(load) == 0) return;
    EXPECT(c->x.load(RELAXED) == 1);
    c->data.touch();
  });
  world.at_end([one] {});
}
// A read-modify-write in between carries on what was released.
void release_sequence() {
  auto one = std::make_shared<Case>();
  world.spawn("sender", [c = one.get()] {
    c->data.touch();
    c->flag.store(1, RELEASE);
  });
  world.spawn("between", [c = one.get()] { c->flag.fetch_add(1, RELAXED); });
  world.spawn("receiver", [c = one.get()] {
    if (c->flag.load(ACQUIRE) == 2) c->data.touch();
    c->seen[0] = 1;
  });
  world.at_end([one] { EXPECT(one->seen[0] == 1); });
}
// Two loads of one word never go back.
void coherence() {
  auto one = std::make_shared<Case>();
  world.spawn("writer", [c = one.get()] {
    c->x.store(1, RELAXED);
    c->x.store(2, RELAXED);
  });
  world.spawn("reader", [c = one.get()] {
    const uint32_t first = c->x.load(RELAXED);
    EXPECT(c->x.load(RELAXED) >= first);
  });
  world.at_end([one] {});
}
// Two readers do not see two stores in different orders.
void independent_reads(Order order) {
  auto one = std::make_shared<Case>();
  world.spawn("x", [=, c = one.get()] { c->x.store(1, order == SEQ_CST ? SEQ_CST : RELEASE); });
  world.spawn("y", [=, c = one.get()] { c->y.store(1, order == SEQ_CST ? SEQ_CST : RELEASE); });
  for (const bool first : {true, false}) {
    world.spawn(first ? "first" : "second", [=, c = one.get()] {
      c->seen[first] = (first ? c->x : c->y).load(order);
      c->seen[2 + first] = (first ? c->y : c->x).load(order);
    });
  }
  world.at_end([=] {
    const uint32_t* seen = one->seen;
    EXPECT(!(seen[0] == 1 && seen[1] == 1 && seen[2] == 0 && seen[3] == 0));
  });
}
// Correct with a read-modify-write of the word that says whose turn it is (Williams, 2008).
void peterson(bool exchanges) {
  auto one = std::make_shared<Case>();
  for (const uint32_t me : {0U, 1U}) {
    world.spawn(me == 0 ? "first" : "second", [=, c = one.get()] {
      (me == 0 ? c->x : c->y).store(1, RELEASE);
      if (!exchanges) c->flag.store(1 - me, RELEASE);
      if (exchanges) c->flag.exchange(1 - me, Order::acq_rel);
      while ((me == 0 ? c->y : c->x).load(ACQUIRE) == 1 && c->flag.load(ACQUIRE) != me)
        world.yield(Where::current());
      c->data.touch();
      EXPECT(++c->seen[0] == 1);
      c->platform.fence();
      --c->seen[0];
      (me == 0 ? c->x : c->y).store(0, RELEASE);
    });
  }
  world.at_end([one] {});
}
void counted(bool locked) {
  auto one = std::make_shared<Case>();
  for (const char* name : {"first", "second", "third"}) {
    world.spawn(name, [=, c = one.get()] {
      if (locked) c->lock.lock();
      const uint32_t was = c->x.load(RELAXED);
      c->x.store(was + 1, RELAXED);
      if (locked) c->lock.unlock();
    });
  }
  world.at_end([one] { EXPECT(one->x.load(RELAXED) == 3); });
}
void two_locks(bool in_order) {
  auto one = std::make_shared<Case>();
  for (const bool first : {true, false}) {
    world.spawn(first ? "first" : "second", [=, c = one.get()] {
      Lock& outer = first || in_order ? c->lock : c->other;
      Lock& inner = first || in_order ? c->other : c->lock;
      outer.lock();
      inner.lock();
      inner.unlock();
      outer.unlock();
    });
  }
  world.at_end([one] {});
}
void signalled(bool looks) {
  auto one = std::make_shared<Case>();
  world.spawn("waiter", [=, c = one.get()] {
    c->lock.lock();
    while (!looks || c->x.load(RELAXED) == 0) {
      c->signal.wait(c->lock);
      if (!looks) break;
    }
    c->lock.unlock();
  });
  world.spawn("waker", [=, c = one.get()] {
    c->lock.lock();
    c->x.store(1, RELAXED);
    c->lock.unlock();
    c->signal.wake_one();
  });
  world.at_end([one] {});
}
void spinning(bool ends) {
  auto one = std::make_shared<Case>();
  for (const char* name : {"first", "second"}) {
    world.spawn(name, [c = one.get()] {
      while (c->flag.load(ACQUIRE) == 0) world.yield(Where::current());
    });
  }
  world.spawn("setter", [=, c = one.get()] { c->flag.store(ends, RELEASE); });
  world.at_end([one] {});
}
void timed() {
  auto one = std::make_shared<Case>();
  world.spawn("sleeper", [c = one.get()] {
    c->lock.lock();
    c->signal.wait_until(c->lock, 1000);
    c->lock.unlock();
    EXPECT(c->platform.now() == 1000);
  });
  world.at_end([one] {});
}

}  // namespace

int main(int argc, char** argv) {
  return main_of(
      argc, argv,
      {
          {"store-buffers-with-fences", [] { store_buffers(RELAXED, RELAXED, true); }},
          {"store-buffers-of-seq-cst", [] { store_buffers(SEQ_CST, SEQ_CST, false); }},
          {"message", [] { message(RELEASE, ACQUIRE); }},
          {"release-sequence", release_sequence},
          {"coherence", coherence},
          {"independent-reads-of-seq-cst", [] { independent_reads(SEQ_CST); }},
          {"peterson", [] { peterson(true); }, {.surprises = 4}},
          {"counted-under-a-lock", [] { counted(true); }},
          {"locks-in-order", [] { two_locks(true); }},
          {"signalled", [] { signalled(true); }},
          {"spinning", [] { spinning(true); }},
          {"timed", timed},
          {"broken-store-buffers", [] { store_buffers(RELEASE, ACQUIRE, false); }},
          {"broken-store-buffers-half-seq-cst", [] { store_buffers(SEQ_CST, ACQUIRE, false); }},
          {"broken-message-store", [] { message(RELAXED, ACQUIRE); }},
          {"broken-message-load", [] { message(RELEASE, RELAXED); }},
          {"broken-independent-reads", [] { independent_reads(ACQUIRE); }},
          {"broken-peterson", [] { peterson(false); }},
          {"broken-count", [] { counted(false); }},
          {"broken-locks", [] { two_locks(false); }},
          {"broken-signal", [] { signalled(false); }},
          {"broken-spin", [] { spinning(false); }},
      });
}
