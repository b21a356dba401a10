// free_list.hpp - the lock-free FIFO of input ports that may be free to execute (P17 Figure 3:
// freePorts).
//
// The queue of Michael and Scott (PODC 1996) on an array of nodes: a link is an index with a tag
// that grows with every change, so a node that was taken out and came back is never mistaken for
// its former self (the tag has 32 bits; a thread would have to sleep through 2^32 changes of one
// link).
//
// No node is ever allocated: a port taken from the list keeps the node that the list no longer
// needs, and brings it along when it comes back. So the list holds at most `ports` entries and
// needs ports + 1 nodes, and push() cannot fail.
//
// Edges  LINK   next.compare_exchange(seq_cst) in push() -> next.load(acquire) in pop()
//                   the node's port is written
//        SWING  head_/tail_ compare_exchange(acq_rel)    -> head_/tail_ load(acquire)
//                   the thread that moved an end saw what it points to
//        AGAIN  next.store(release) in push()            -> next.load(acquire) in pop()
//                   the node is used again: the front has moved on
// Progress: lock-free (a thread that stops half-way leaves tail_ one behind, and the next one moves
// it).
// Checked by: tests/native/explore_ready.cpp in many interleavings;
// tests/native/stress_free_list.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "real_platform.hpp"
#include "tuple.hpp"

namespace millrace {

template <class Platform>
class BasicFreeList {
  template <class T>
  using Word = typename Platform::template Word<T>;

 public:
  static constexpr uint32_t NONE = UINT32_MAX;

  explicit BasicFreeList(uint32_t ports)
      : nodes_(new Node[ports + 1]), spare_(new uint32_t[ports]) {
    for (uint32_t port = 0; port < ports; ++port)
      spare_[port] = port + 1;  // node 0 starts as the list's empty front
  }

  // Puts `port` at the back. Only for a port that is not in the list, by the thread that popped it.
  void push(uint32_t port) noexcept {
    const uint32_t node = spare_[port];
    nodes_[node].port.store(port, std::memory_order_relaxed);
    const uint64_t old_link = nodes_[node].next.load(std::memory_order_relaxed);
    nodes_[node].next.store(link(NONE, tag(old_link) + 1), std::memory_order_release);  // AGAIN
    for (;;) {
      uint64_t tail = tail_.load(std::memory_order_acquire);                     // SWING
      uint64_t next = nodes_[index(tail)].next.load(std::memory_order_acquire);  // LINK
      if (tail != tail_.load(std::memory_order_acquire)) continue;
      if (index(next) != NONE) {  // another thread linked a node and has not moved the end yet
        tail_.compare_exchange_weak(tail, link(index(next), tag(tail) + 1),
                                    std::memory_order_acq_rel, std::memory_order_relaxed);
        continue;
      }
      if (nodes_[index(tail)].next.compare_exchange_weak(next, link(node, tag(next) + 1),
                                                         std::memory_order_seq_cst,  // LINK
                                                         std::memory_order_relaxed)) {
        tail_.compare_exchange_strong(tail, link(node, tag(tail) + 1), std::memory_order_acq_rel,
                                      std::memory_order_relaxed);
        return;
      }
    }
  }

  // Takes the port at the front; NONE = the list was empty.
  uint32_t pop() noexcept {
    for (;;) {
      uint64_t head = head_.load(std::memory_order_acquire);  // SWING
      uint64_t tail = tail_.load(std::memory_order_acquire);
      const uint64_t next =
          nodes_[index(head)].next.load(std::memory_order_acquire);  // LINK, AGAIN
      if (head != head_.load(std::memory_order_acquire)) continue;
      if (index(next) == NONE) return NONE;
      if (index(head) == index(tail)) {
        tail_.compare_exchange_weak(tail, link(index(next), tag(tail) + 1),
                                    std::memory_order_acq_rel, std::memory_order_relaxed);
        continue;
      }
      const uint32_t port = nodes_[index(next)].port.load(
          std::memory_order_relaxed);  // read before the node can be reused
      if (head_.compare_exchange_weak(head, link(index(next), tag(head) + 1),
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
        spare_[port] = index(head);  // the old front is ours now, and goes with the port
        return port;
      }
    }
  }

  // Whether nothing was on the list a moment ago. Takes part in the one order of seq_cst operations
  // (ready_ports.hpp).
  bool empty() const noexcept {
    for (;;) {
      const uint64_t head = head_.load(std::memory_order_seq_cst);
      const uint64_t next = nodes_[index(head)].next.load(std::memory_order_seq_cst);  // AGAIN
      if (head == head_.load(std::memory_order_seq_cst))
        return index(next) == NONE;  // else the node may have been used again
    }
  }

 private:
  struct Node {
    Word<uint64_t> next{link(NONE, 0)};
    Word<uint32_t> port{NONE};
  };
  static constexpr uint64_t link(uint32_t index, uint32_t tag) noexcept {
    return static_cast<uint64_t>(tag) << 32 | index;
  }
  static constexpr uint32_t index(uint64_t link) noexcept { return static_cast<uint32_t>(link); }
  static constexpr uint32_t tag(uint64_t link) noexcept {
    return static_cast<uint32_t>(link >> 32);
  }

  std::unique_ptr<Node[]> nodes_;
  // by port: its node while it is out of the list; its holder's alone
  std::unique_ptr<uint32_t[]> spare_;
  alignas(CACHE_LINE) Word<uint64_t> head_{link(0, 0)};
  alignas(CACHE_LINE) Word<uint64_t> tail_{link(0, 0)};
};
using FreeList = BasicFreeList<RealPlatform>;

}  // namespace millrace
