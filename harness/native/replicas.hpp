// replicas.hpp - replicas of an operator that come and go while tuples flow: co-routines that share
// an input port (C-Stream s4.2). They take tuples from the port in turn, under a lock, each time
// with a ticket: 0, 1, 2, ... The tuples that a ticket sends go downstream before those of the next
// ticket. So the operator's output is the stream of a single co-routine, whatever the number of
// replicas.
//
//   slot    ticket % window: the tuples taken with the ticket, and those to be sent for it
//   OPEN    a replica works on it
//   CLOSED  it is complete
//   FIRST   all before it has been sent
//
// Edge MET       the read-modify-writes of a slot's word: the second thread sees the work of the
//                first
// Edge PASSED    passed_.store, release -> load, acquire: a slot that was given back is free
// Edge TOGETHER  alone_.store, release -> load, acquire: the tuples that the first replica has
//                taken from the ring without the lock
// Edge OWNER     slot.owner.store, fence -> slot.owner.load, seq_cst: the replica that waits for
//                its turn
// Edge BLOCKED   the fences of coroutines.hpp (may_go_on)
// Checked by: tests/native/stress_replicas.cpp, tests/simulator/test_replicas.py; in many
// interleavings by tests/native/explore_replicas.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "coroutines.hpp"
#include "memory.hpp"
#include "tuple.hpp"

namespace millrace {

// Sends tuples and marks in a row: each run of tuples by one call, and each mark by itself.
// `tuple(i)` is the i-th of them.
template <class At, class Send>
void send_in_runs(size_t count, At tuple, Send send) {
  for (size_t begin = 0, end; begin < count; begin = end) {
    end = begin + 1;
    if (tuple(begin)->kind == DATA)
      while (end < count && tuple(end)->kind == DATA) ++end;
    send(tuple(begin), static_cast<uint32_t>(end - begin));
  }
}

struct ReplicaSizes {
  uint32_t most;     // replicas
  uint32_t window;   // tickets that may be open at once
  uint32_t batch;    // tuples of a ticket
  uint32_t outputs;  // tuples that a slot holds back
  uint32_t bins;     // 0: stateless
  size_t stride;
  size_t output_stride = stride;  // of what they send
  size_t slot_bytes() const noexcept { return batch * stride + outputs * output_stride; }
  size_t bytes() const noexcept { return window * slot_bytes(); }  // of tuples in their hands
};

inline constexpr uint32_t MOST_BINS = 256;

// The bin of a tuple, of an operator by `keys`: a key is a hash already.
inline uint32_t bin_of(uint64_t sequence, uint64_t keys) noexcept {
  return static_cast<uint32_t>(key_of(sequence, keys) % MOST_BINS);
}

// Sizes for an operator that takes `batch` tuples of `bytes` at once; by `keys`, 0: stateless. A
// MiB of slots, from two to four a replica. By key, tuples of one bin seldom follow one another, so
// tickets have few tuples, and there are more of them: from two to sixteen a replica.
inline ReplicaSizes sizes_for(uint32_t most, uint32_t batch, size_t bytes, uint64_t keys,
                              size_t output_bytes) noexcept {
  if (keys > 0) batch = std::min<uint32_t>(batch, 4);
  const size_t fitting = (size_t{1} << 20) / (batch * (bytes + output_bytes)),
               each = keys > 0 ? 16 : 4;
  const auto window =
      static_cast<uint32_t>(std::clamp<size_t>(fitting, size_t{2} * most, each * most));
  const auto bins = static_cast<uint32_t>(std::min<uint64_t>(keys, MOST_BINS));
  return {.most = most,
          .window = window,
          .batch = batch,
          .outputs = batch,
          .bins = bins,
          .stride = bytes,
          .output_stride = output_bytes};
}

// `All` is Coroutines. `Flow` gives access to the operator's ports:
//   Tuple, Trace                  a tuple in its queues; its notes on the tuples in one half of a
//                                 slot
//   size(), closed()              of the input port, for any thread
//   bin(tuple)                    0 to bins - 1; if there are bins
// and, for a replica's co-routine, on its stack:
//   front(co, most, first), release(co, count)      as SpscRing; one at a time
//   taken(co)                     tuples were taken from the input port: its senders have room
//   copy(co, to, first, count, stride, trace)       copies tuples into a slot
//   fetch(co, count, trace)       the replica works on or sends `count` tuples of a slot next,
//                                 which another one may have left there
//   send(co, first, count)        sends downstream, with its waits; returns the number sent, which
//                                 is smaller than `count` only when the run is over
//   passing(co)                   another one may send from now on: do the work that was put off
template <class All, class Flow>
class Replicas {
 public:
  using Coroutine = typename All::Coroutine;
  using Tuple = typename Flow::Tuple;
  template <class T>
  using Word = typename All::template Word<T>;

  struct Replica {
    Replicas* all = nullptr;
    void* place = nullptr;  // the body's
    Coroutine* co = nullptr;
    uint32_t number = 0;
    uint32_t bin = 0;  // of the tuples that it has
    Word<uint32_t> waits{TUPLES};
    Word<uint64_t> ticket{0};
    bool alive = false;   // under the lock
    bool holds = false;   // a ticket
    bool first = false;   // its ticket was seen to be FIRST, or it is alone
    size_t in_place = 0;  // tuples that it has not given back to the ring
  };

  // `first`: the operator's own co-routine. The others are `extras`, whose body is to be that of
  // the first, with a Replica as `own`.
  Replicas(All& all, Flow& flow, const ReplicaSizes& sizes, Coroutine& first, Coroutine* extras)
      : all_(all),
        flow_(flow),
        sizes_(sizes),
        first_(first.index),
        replicas_(new Replica[sizes.most]),
        bins_(sizes.bins) {
    for (uint32_t i = 0; i < sizes.most; ++i) {
      Coroutine& co = i == 0 ? first : extras[i - 1];
      replicas_[i].all = this;
      replicas_[i].co = &co;
      replicas_[i].number = i;
      co.body = first.body;
      co.own = &replicas_[i];
      co.may = may;
      co.what = &replicas_[i];
      if (i > 0) first.replicas.push_back(&co);
    }
    replicas_[0].alive = replicas_[0].first = true;
  }

  // -- for a replica's body, on its own stack -----------------------------------------------------

  // Done with the last tuples, it gets the next ones: one at least, side by side, its own until it
  // asks again. Null: it is to return.
  Tuple* take(Replica& self, size_t* count) {
    finish(self);
    all_.check_for_preemption(*self.co);
    while (!all_.over()) {
      Tuple* first = nullptr;
      const bool in_place = self.number == 0 && alone_.load(std::memory_order_relaxed);
      const Step step =
          in_place ? take_in_place(self, &first, count) : take_ticket(self, &first, count);
      if (step == GOT) return first;
      if (step == LEFT) {
        all_.wake_one_of(first_);
        return nullptr;
      }
      if (step == WAIT && wait(self, TUPLES) == Waited::OVER) return nullptr;
    }
    return nullptr;
  }

  // Sends tuples behind all those of earlier tickets. Returns the number that went, or wait in the
  // slot: fewer than `count` only when the run is over. A ticket that is FIRST sends downstream at
  // once. The others fill their slots, and wait to be FIRST when the slot is full. So a slot has a
  // bound, and a ticket may bring any number of tuples.
  size_t send(Replica& self, Tuple* first, size_t count) {
    if (self.first) return flow_.send(*self.co, first, count);
    const size_t stride = sizes_.output_stride;
    Slot& slot = slot_of(self.ticket.load(std::memory_order_relaxed));
    size_t done = 0;
    while (done < count) {
      if (slot.word.load(std::memory_order_acquire) & FIRST) {  // MET
        if (!send_slot(self, slot)) return done;
        self.first = true;
        return done + flow_.send(*self.co, place(first, stride, done), count - done);
      }
      const size_t fitting = std::min<size_t>(count - done, sizes_.outputs - slot.filled);
      flow_.copy(*self.co, output(slot, slot.filled), place(first, stride, done), fitting, stride,
                 slot.made);
      slot.filled += static_cast<uint32_t>(fitting);
      done += fitting;
      if (fitting == 0 && wait(self, TO_BE_FIRST) == Waited::OVER) return done;
    }
    all_.check_for_preemption(*self.co);
    return done;
  }

  // When the run is over and the replica returns with tuples that it has not worked on: how many of
  // those it got it has.
  void give_up(Replica& self, size_t worked) {
    if (self.in_place > 0) flow_.release(*self.co, std::min(worked, self.in_place));
    self.in_place = 0;
    if (self.holds)
      slot_of(self.ticket.load(std::memory_order_relaxed)).worked = static_cast<uint32_t>(worked);
    self.holds = false;
  }

  // When take() has returned null: whether it is the one that ends the operator's stream, since all
  // has been sent.
  bool ends(const Replica& self) const { return self.number == 0 && ended_; }

  // -- for the engine -----------------------------------------------------------------------------

  size_t bytes() const noexcept { return sizes_.bytes(); }
  // Takes bytes() of memory for the replicas' tuples, before there are two of them; no other memory
  // is taken. A second call does nothing. Throws std::bad_alloc if the system refuses it.
  void prepare() {
    if (slots_ != nullptr) return;
    takeable_.reserve(sizes_.window);
    std::unique_ptr<Slot[]> slots(new Slot[sizes_.window]);
    memory_ = {reserve_memory(sizes_.bytes()), Freed{sizes_.bytes()}};
    if (memory_ == nullptr) throw std::bad_alloc();
    const size_t each = sizes_.slot_bytes();
    for (uint32_t i = 0; i < sizes_.window; ++i) {
      slots[i].inputs = reinterpret_cast<Tuple*>(memory_.get() + each * i);
      slots[i].outputs = at(slots[i].inputs, sizes_.batch);
    }
    slots[0].word.store(FIRST, std::memory_order_relaxed);
    slots_ = std::move(slots);  // replicas see it by the lock, which set() takes afterwards
  }
  // Lets `number` replicas work from now on, 1 to `most`, if it is prepared for more than one;
  // false: the operator has ended. Surplus replicas leave when they next ask for tuples. One call
  // at a time.
  bool set(uint32_t number) {
    bool open = false;
    all_.from_outside([&] {
      lock_.lock();
      open = !ended_;
      if (open) width_.store(number, std::memory_order_relaxed);
      for (uint32_t i = 0; open && i < number; ++i) {
        Replica& replica = replicas_[i];
        if (replica.alive) continue;
        show(std::max(i, replicas_[0].co->shown.load(std::memory_order_relaxed)));
        replica.alive = true;
        ++living_;
        open = all_.start(*replica.co);
        if (!open) leave(replica);
      }
      lock_.unlock();
      all_.wake_one_of(first_);
    });
    return open;
  }
  uint32_t wanted() const { return width_.load(std::memory_order_relaxed); }
  // Replicas that have begun and have not left.
  uint32_t living() {
    lock_.lock();
    const uint32_t living = living_;
    lock_.unlock();
    return living;
  }
  Replica& operator[](uint32_t number) { return replicas_[number]; }

  uint64_t open_tickets() const {
    return issued_.load(std::memory_order_acquire) - passed_.load(std::memory_order_acquire);
  }
  // The account, when the threads have ended. Each tuple was worked on, or is in the ring, or in a
  // slot from `worked` on; each output was sent, was refused to its sender, or is in a slot.
  // `taken` sees each tuple that was taken from the port and not worked on, `made` each that waits
  // to be sent, in order.
  template <class Taken, class Made>
  void left_behind(Taken taken, Made made) {
    for (uint64_t ticket = passed_.load(std::memory_order_acquire);
         ticket < issued_.load(std::memory_order_acquire); ++ticket) {
      Slot& slot = slot_of(ticket);
      for (uint32_t i = slot.sent; i < slot.filled; ++i) made(output(slot, i));
      for (uint32_t i = slot.worked; i < slot.taken; ++i) taken(at(slot.inputs, i));
    }
  }

 private:
  enum Waits : uint32_t { TUPLES, TO_BE_FIRST };
  enum Step : uint32_t { GOT, LEFT, WAIT, AGAIN };
  static constexpr uint64_t OPEN = 0, FIRST = 1, CLOSED = 2;
  static constexpr uint64_t NONE = UINT64_MAX;

  struct Slot {
    alignas(CACHE_LINE) Word<uint64_t> word{OPEN};
    Word<uint32_t> owner{0};  // the replica that works on it
    uint32_t taken = 0;       // tuples
    uint32_t worked = 0;      // of them
    uint32_t filled = 0;      // tuples to be sent
    uint32_t sent = 0;        // of them
    uint32_t bin = 0;
    uint64_t follower = NONE;  // under the lock: the next ticket of its bin
    Tuple *inputs = nullptr, *outputs = nullptr;
    [[no_unique_address]] typename Flow::Trace got, made;  // of these two
  };
  struct Bin {
    uint64_t last = NONE;  // under the lock: its last ticket, as long as that is not closed
  };

  static Tuple* place(Tuple* first, size_t stride, size_t index) {
    return reinterpret_cast<Tuple*>(reinterpret_cast<char*>(first) + index * stride);
  }
  Tuple* at(Tuple* first, size_t index) const { return place(first, sizes_.stride, index); }
  Tuple* output(const Slot& slot, size_t index) const {
    return place(slot.outputs, sizes_.output_stride, index);
  }
  Slot& slot_of(uint64_t ticket) const { return slots_[ticket % sizes_.window]; }

  // -- wait conditions: read by any thread --------------------------------------------------------
  //
  // Edge BLOCKED of coroutines.hpp: a condition changes before a thread calls wake_one_of() or
  // wake_this(), which begin with a fence.
  //   tuples come, or the stream ends      woken by the sender
  //   its ticket is FIRST                  woken by the replica that has sent the one before
  //   the number changes                   woken by set()
  //   the window moves, a bin is free      woken by the replica that has closed a ticket, when it
  //                                        next asks for tuples: it gets some, and wakes one for
  //                                        the rest, or it leaves, and wakes one, or there are none
  // One wakes one, and that one wakes the next in the same way.

  static bool may(const void* what) {
    const Replica& replica = *static_cast<const Replica*>(what);
    return replica.all->may_go_on(replica);
  }
  bool may_go_on(const Replica& replica) const {
    if (replica.waits.load(std::memory_order_relaxed) == TO_BE_FIRST)
      return slot_of(replica.ticket.load(std::memory_order_relaxed))
                 .word.load(std::memory_order_acquire) &
             FIRST;  // MET
    const bool first = replica.number == 0;
    const uint32_t width = width_.load(std::memory_order_relaxed);
    if (replica.number >= width) return true;
    const bool closed = flow_.closed();  // before the size: what came before the end is seen
    const bool some = flow_.size() > 0;
    if (alone_.load(std::memory_order_acquire)) return first && (some || closed || width > 1);
    if (takeable_count_.load(std::memory_order_relaxed) > 0) return true;
    const uint64_t passed = passed_.load(std::memory_order_acquire);  // PASSED
    const uint64_t issued = issued_.load(std::memory_order_relaxed);
    if (some) return issued - passed < sizes_.window;
    return closed && (!first || passed == issued);
  }
  Waited wait(Replica& self, Waits what) {
    self.waits.store(what, std::memory_order_relaxed);
    return all_.wait(*self.co);
  }

  // -- taking -------------------------------------------------------------------------------------

  // While the first replica is the only one, there are no tickets. It works on tuples in their
  // slots of the ring, and sends downstream. It begins (take_ticket) and ends this itself, when it
  // asks for tuples: others that have begun wait for it.
  Step take_in_place(Replica& self, Tuple** first, size_t* count) {
    if (width_.load(std::memory_order_relaxed) > 1) {
      self.first = false;
      flow_.passing(*self.co);
      alone_.store(false, std::memory_order_release);  // TOGETHER
      all_.wake_one_of(first_);
      return AGAIN;
    }
    const bool closed = flow_.closed();
    if (const size_t got = flow_.front(*self.co, sizes_.batch, first); got > 0) {
      *count = self.in_place = got;
      return GOT;
    }
    if (!closed) return WAIT;
    lock_.lock();
    // Others may have begun since it looked: they wait until it is no longer alone
    const bool alone = width_.load(std::memory_order_relaxed) == 1;
    if (alone) {
      ended_ = true;
      leave(self);
    }
    lock_.unlock();
    return alone ? LEFT : AGAIN;
  }

  // By key: a bin's tuples are never worked on by two replicas at a time, nor out of order, and
  // each bin has its state. A ticket has tuples of one bin only, and is taken up once the bin's
  // ticket before it is closed. Meanwhile any replica may take up tickets of other bins. So no bin
  // belongs to a replica: nothing moves when their number changes, and only a bin that is being
  // worked on delays its next tuples. The lowest ticket that may be taken up comes first, so a
  // replica that waits to be FIRST waits only for tickets that are being worked on.
  Step take_ticket(Replica& self, Tuple** first, size_t* count) {
    lock_.lock();
    Step step = WAIT;
    size_t popped = 0;
    const uint32_t width = width_.load(std::memory_order_relaxed);
    if (self.number >= width && may_leave()) {
      leave(self);
      step = LEFT;
    } else if (self.number == 0 && width == 1 && living_ == 1 && open_tickets() == 0) {
      self.first = true;
      alone_.store(true, std::memory_order_relaxed);  // no other replica is there to see it
      step = AGAIN;
    } else if (!alone_.load(std::memory_order_acquire)) {  // TOGETHER
      const bool closed = flow_.closed();
      uint64_t ticket = take_lowest();
      if (ticket == NONE) ticket = issue(self, width, &popped);
      if (ticket != NONE) {
        take_up(self, ticket);
        Slot& slot = slot_of(ticket);
        *first = slot.inputs;
        *count = slot.taken;
        step = GOT;
      } else if (closed && popped == 0 && flow_.size() == 0 &&
                 (self.number != 0 || open_tickets() == 0)) {
        if (self.number == 0) ended_ = true;
        leave(self);
        step = LEFT;
      }
    }
    lock_.unlock();
    if (popped > 0) flow_.taken(*self.co);
    if (step == GOT) {
      // its own from now on
      const Slot& slot = slot_of(self.ticket.load(std::memory_order_relaxed));
      flow_.fetch(*self.co, slot.taken, slot.got);
      all_.wake_one_of(first_);
    }
    return step;
  }

  // All of these under the lock.

  // A new ticket, which may be taken up at once; NONE: there are no tuples, or none of a bin that
  // is free, or all tickets are open.
  uint64_t issue(Replica& self, uint32_t width, size_t* popped) {
    for (;;) {
      const uint64_t ticket = issued_.load(std::memory_order_relaxed);
      if (ticket - passed_.load(std::memory_order_acquire) >= sizes_.window) return NONE;  // PASSED
      Tuple* first = nullptr;
      const size_t share =
          std::max<size_t>(1, flow_.size() / width);  // others are to get some of what is there
      const size_t there = flow_.front(*self.co, std::min<size_t>(sizes_.batch, share), &first);
      if (there == 0) return NONE;
      Slot& slot = slot_of(ticket);
      size_t count = there;
      bool free = true;
      if (sizes_.bins > 0) {
        slot.bin = flow_.bin(first);
        for (count = 1; count < there && flow_.bin(at(first, count)) == slot.bin;) ++count;
        Bin& bin = bins_[slot.bin];
        free = bin.last == NONE;
        if (!free) slot_of(bin.last).follower = ticket;
        bin.last = ticket;
        slot.follower = NONE;
      }
      flow_.copy(*self.co, slot.inputs, first, count, sizes_.stride, slot.got);
      flow_.release(*self.co, count);
      *popped += count;
      slot.taken = static_cast<uint32_t>(count);
      slot.worked = slot.filled = slot.sent = 0;
      issued_.store(ticket + 1, std::memory_order_relaxed);
      if (free) return ticket;
    }
  }
  uint64_t take_lowest() {
    if (takeable_.empty()) return NONE;
    const auto lowest = std::min_element(takeable_.begin(), takeable_.end());
    const uint64_t ticket = *lowest;
    *lowest = takeable_.back();
    takeable_.pop_back();
    takeable_count_.store(static_cast<uint32_t>(takeable_.size()), std::memory_order_relaxed);
    return ticket;
  }
  void take_up(Replica& self, uint64_t ticket) {
    Slot& slot = slot_of(ticket);
    slot.owner.store(self.number, std::memory_order_relaxed);  // OWNER
    self.ticket.store(ticket, std::memory_order_relaxed);
    self.bin = slot.bin;
    self.holds = true;
    self.first = false;
    ++working_;
  }
  // False if it is needed for the ticket that all others may be waiting for: if all others have
  // tickets, a surplus replica takes up the one that would be FIRST.
  bool may_leave() const {
    if (takeable_.empty() || working_ < living_ - 1) return true;
    return *std::min_element(takeable_.begin(), takeable_.end()) !=
           passed_.load(std::memory_order_acquire);
  }
  void leave(Replica& self) {
    self.alive = false;
    --living_;
    uint32_t shown = replicas_[0].co->shown.load(std::memory_order_relaxed);
    while (shown > 0 && !replicas_[shown].alive) --shown;
    show(shown);
  }
  void show(uint32_t count) { replicas_[0].co->shown.store(count, std::memory_order_release); }

  // -- sending ------------------------------------------------------------------------------------

  // Gives its tuples back to the ring, or closes its ticket. FIRST and CLOSED are set in one word,
  // by two threads. The second of them sends the tuples of the slot, gives the slot back, and makes
  // the next ticket FIRST; no other thread sends meanwhile. If it has to wait for room, it waits as
  // any co-routine does, and the others go on until all tickets of the window are taken.
  void finish(Replica& self) {
    if (self.in_place > 0) {
      flow_.release(*self.co, self.in_place);
      self.in_place = 0;
      flow_.taken(*self.co);
    }
    if (!self.holds) return;
    self.holds = false;
    const uint64_t ticket = self.ticket.load(std::memory_order_relaxed);
    Slot& slot = slot_of(ticket);
    slot.worked = slot.taken;
    if (sizes_.bins > 0) free_bin(slot);
    if (slot.word.fetch_or(CLOSED, std::memory_order_acq_rel) & FIRST)
      send_on(self, ticket);  // MET
  }
  // No replica works on the ticket any more: the next one of its bin may be taken up.
  void free_bin(Slot& slot) {
    lock_.lock();
    --working_;
    if (slot.follower != NONE) {
      takeable_.push_back(slot.follower);
      takeable_count_.store(static_cast<uint32_t>(takeable_.size()), std::memory_order_relaxed);
    } else {
      bins_[slot.bin].last = NONE;
    }
    lock_.unlock();
  }
  // Sends the tuples of a ticket that is FIRST and CLOSED, and of those after it as far as they are
  // closed.
  void send_on(Replica& self, uint64_t ticket) {
    for (;;) {
      Slot& slot = slot_of(ticket);
      if (!send_slot(self, slot)) return;
      slot.word.store(OPEN, std::memory_order_relaxed);
      passed_.store(++ticket, std::memory_order_release);  // PASSED
      flow_.passing(*self.co);
      Slot& next = slot_of(ticket);
      // MET. OWNER: a replica stores that the slot is its own, and, with a fence between the two,
      // looks at the word before it blocks. Here the word is marked before the owner is read. So it
      // sees the mark, or is seen.
      if (!(next.word.fetch_or(FIRST, std::memory_order_seq_cst) & CLOSED)) {
        all_.wake_this(*replicas_[next.owner.load(std::memory_order_seq_cst)].co);
        return;
      }
    }
  }
  bool send_slot(Replica& self, Slot& slot) {
    if (const uint32_t count = slot.filled - slot.sent; count > 0) {
      flow_.fetch(*self.co, count, slot.made);
      slot.sent += static_cast<uint32_t>(flow_.send(*self.co, output(slot, slot.sent), count));
    }
    return slot.sent == slot.filled;
  }

  struct Freed {
    size_t bytes = 0;
    void operator()(char* memory) const noexcept { give_back_memory(memory, bytes); }
  };

  All& all_;
  Flow& flow_;
  const ReplicaSizes sizes_;
  const uint32_t first_;
  std::unique_ptr<Replica[]> replicas_;
  Word<uint32_t> width_{1};                       // how many are wanted
  Word<bool> alone_{true};                        // written by the first replica
  Word<uint64_t> issued_{0};                      // tickets; written under the lock
  alignas(CACHE_LINE) Word<uint64_t> passed_{0};  // tickets completely sent; written by the sender
  typename All::Lock lock_;
  std::unique_ptr<Slot[]> slots_;  // from prepare() on
  std::unique_ptr<char[], Freed> memory_;
  // under the lock
  std::vector<Bin> bins_;
  std::vector<uint64_t> takeable_;  // tickets that were not taken up at once, and may be now
  Word<uint32_t> takeable_count_{0};
  uint32_t living_ = 1, working_ = 0;
  bool ended_ = false;
};

}  // namespace millrace
