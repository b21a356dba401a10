// A port is never in two hands at once, none is ever lost, and one thread alone sees them in
// first-in, first-out order.
#include <memory>

#include "free_list.hpp"
#include "stress.hpp"

using namespace millrace;

static void alone() {
  FreeList list(3);
  EXPECT(list.pop() == FreeList::NONE);
  for (uint32_t round = 0; round < 1000; ++round) {
    for (const uint32_t port : {2u, 0u, 1u}) list.push(port);
    for (const uint32_t port : {2u, 0u, 1u}) EXPECT(list.pop() == port);
    EXPECT(list.pop() == FreeList::NONE);
  }
}

static void contended(uint32_t ports, int threads, int rounds) {
  FreeList list(ports);
  for (uint32_t port = 0; port < ports; ++port) list.push(port);
  std::unique_ptr<std::atomic<int>[]> holders(new std::atomic<int>[ports]());
  std::unique_ptr<uint64_t[]> visits(
      new uint64_t[ports]());  // not atomic: whoever holds the port is alone with it
  std::atomic<uint64_t> total{0};
  together(threads, [&](int) {
    uint64_t mine = 0;
    for (int i = 0; i < rounds; ++i) {
      const uint32_t port = list.pop();
      if (port == FreeList::NONE) {
        std::this_thread::yield();
        continue;
      }
      EXPECT(port < ports);
      EXPECT(holders[port].fetch_add(1) == 0);
      ++visits[port];
      ++mine;
      EXPECT(holders[port].fetch_sub(1) == 1);
      list.push(port);
    }
    total.fetch_add(mine);
  });
  uint64_t visited = 0;
  std::unique_ptr<bool[]> seen(new bool[ports]());
  for (uint32_t left = 0; left < ports; ++left) {
    const uint32_t port = list.pop();
    EXPECT(port != FreeList::NONE && !seen[port]);
    seen[port] = true;
    visited += visits[port];
  }
  EXPECT(list.pop() == FreeList::NONE);
  EXPECT(visited == total.load());
}

int main() {
  alone();
  contended(1, 4, 20'000);
  contended(2, 4, 20'000);
  contended(64, 6, 20'000);
}
