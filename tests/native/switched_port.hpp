// switched_port.hpp - an input port whose queue comes and goes while tuples flow: threads that send
// to it, a scheduler thread, and somebody who changes what is wanted. On every platform of the path
// (explore_switching.cpp, stress_switching.cpp).
//
//   ORDER   the operator sees each producer's tuples in the order in which they were sent
//   ONCE    at the end every tuple was executed, once; if the run was cut short it may also lie in
//           the queue, or have been given up
//   ALONE   one thread at a time is in the operator
//   HEED    a tuple that is sent after want() has returned goes the way that was wanted
//   ENDS    every run comes to its end: no deadlock, no livelock
#pragma once

#include <memory>
#include <vector>

#include "disciplines.hpp"
#include "path.hpp"

namespace switched {

using millrace::CACHE_LINE;
using millrace::Tuple;

inline constexpr size_t STRIDE = 2 * CACHE_LINE;
inline constexpr uint32_t MOST_PRODUCERS = 4, MOST_SLOTS = 4;

struct Sizes {
  uint32_t producers = 1;
  uint64_t tuples = 3;  // of each producer, at most
  uint64_t mark_every =
      0;  // every so many tuples are punctuation, which takes no shortcut; 0: none
  size_t capacity = 2;
  bool only_way = true;  // of one producer: its operator itself keeps the shortcut
  bool begins_called = false;
};

// `Checks` has `Owned`, memory that one thread at a time touches, and `Seen<T>`, a word of the
// checks themselves.
template <class Platform, class Checks>
class SwitchedPort {
 public:
  using Path = millrace::Path<Platform>;
  using Operator = typename Platform::Operator;
  using Worker = typename Platform::Worker;

  explicit SwitchedPort(const Sizes& sizes) : sizes_(sizes), ready_(1) {
    const bool several = sizes.producers > 1;
    run_.stride = STRIDE;
    run_.ports = &port_;
    run_.port_count = 1;
    run_.workers = workers_;
    run_.worker_count = sizes.producers + 1;
    run_.ready = &ready_;
    run_.final_punctuation = reinterpret_cast<Tuple*>(final_);
    run_.final_punctuation->kind = millrace::FINAL;
    run_.open_operators.store(sizes.producers + 1);
    port_.ring.init(slots_, sizes.capacity, STRIDE);
    port_.op = &consumer_;
    port_.discipline = &millrace::Disciplines<Platform>::SCHEDULED;
    port_.shared = several;
    port_.call_lock = several ? &call_lock_ : nullptr;
    port_.feeders = feeders_;
    port_.feeder_count = sizes.producers;
    port_.sole.store(!several);
    port_.mode.store(sizes.begins_called ? millrace::CALLED : millrace::QUEUED);
    port_.most.store(2);
    port_.batch.store(1);
    port_.open_streams = sizes.producers;
    port_.wary = millrace::WARY;
    consumer_.kernel = take;
    consumer_.mark = take_mark;
    consumer_.open_streams = sizes.producers;
    consumer_.index = sizes.producers;
    consumer_.own = this;
    for (uint32_t i = 0; i < sizes.producers; ++i) {
      targets_[i].op = &consumer_;
      targets_[i].port = &port_;
      targets_[i].stride = STRIDE;
      targets_[i].from = !several && sizes.only_way ? &producers_[i] : nullptr;
      feeders_[i] = &targets_[i];
      routes_[i].targets = &targets_[i];
      routes_[i].count = 1;
      routes_[i].stride = STRIDE;
      producers_[i].kernel = pass_on;
      producers_[i].routes = &routes_[i];
      producers_[i].outputs = 1;
      producers_[i].index = i;
    }
    for (uint32_t i = 0; i <= sizes.producers; ++i) {
      workers_[i].run = &run_;
      workers_[i].pooled = i == sizes.producers;
    }
  }

  // -- bodies of threads

  void produce(uint32_t producer) {
    Worker* worker = &workers_[producer];
    alignas(CACHE_LINE) char memory[STRIDE] = {};
    auto* tuple = reinterpret_cast<Tuple*>(memory);
    uint64_t& number = sent_[producer];
    while (number < sizes_.tuples && !finishing_.load() &&
           !worker->stop.load(std::memory_order_acquire)) {
      const uint32_t wishes = returned_.load(std::memory_order_acquire);
      called_[producer] = false;
      tuple->sequence = number;
      tuple->path = producer;
      if (sizes_.mark_every > 0 && number % sizes_.mark_every == sizes_.mark_every - 1) {
        tuple->kind = millrace::WINDOW;
        Path::pass_mark(worker, &producers_[producer], tuple);
      } else {
        tuple->kind = millrace::DATA;
        ++data_[producer];
        Path::execute(worker, &producers_[producer], tuple, 1);
      }
      ++number;
      if (wishes == begun_.load() && !cut_short_.load())
        EXPECT(called_[producer] == wants_call(wishes));  // HEED
    }
    Path::close_operator(worker, &producers_[producer]);
    Path::hand_over(worker);
  }
  void schedule() { Path::scheduler_body(&workers_[sizes_.producers]); }

  // -- of the thread that controls

  // A wish for the opposite of the last one.
  void want_other() {
    const uint32_t wish = begun_.load() + 1;
    begun_.store(wish);
    Path::want(&port_, wants_call(wish));
    returned_.store(wish, std::memory_order_release);
  }
  void suspend(bool suspended) {
    for (uint32_t i = 0; i <= sizes_.producers; ++i)
      workers_[i].suspended.store(suspended, std::memory_order_seq_cst);
    Worker& scheduler = workers_[sizes_.producers];
    suspended ? ready_.wake_all() : scheduler.pause.wake_all();
  }
  void finish() { finishing_.store(true); }  // producers send no more
  void cut_short() {
    cut_short_.store(true);
    millrace::end_run(&run_);
  }

  // -- afterwards

  void check() {
    uint64_t data = 0, left = 0;
    for (uint32_t i = 0; i < sizes_.producers; ++i) data += data_[i];
    for (size_t i = 0; i < port_.ring.size_guess(); ++i)
      left += port_.ring.left_behind(i)->kind == millrace::DATA;
    EXPECT(executed_ + port_.given_up.load() + left == data);  // ONCE
    EXPECT(run_.over.load());
    if (cut_short_.load()) return;
    EXPECT(executed_ == data && port_.open_streams == 0 && port_.ring.size_guess() == 0);
    for (uint32_t i = 0; i < sizes_.producers; ++i) EXPECT(expected_[i] == sent_[i]);
  }

  uint64_t switches() const { return port_.switches.read(); }

 private:
  static int32_t pass_on(Operator*, Worker*, Tuple*, uint32_t) { return 0; }
  static int32_t take(Operator* op, Worker* worker, Tuple* first, uint32_t count) {
    auto* self = static_cast<SwitchedPort*>(op->own);
    for (uint32_t i = 0; i < count; ++i) self->see(worker, millrace::slot(first, STRIDE, i));
    self->executed_ += count;
    return millrace::HANDLED;
  }
  static bool take_mark(Operator* op, Worker* worker, Tuple* mark) {
    static_cast<SwitchedPort*>(op->own)->see(worker, mark);
    return false;
  }
  void see(const Worker* worker, const Tuple* tuple) {
    state_.touch();  // ALONE
    const uint32_t producer = tuple->path;
    uint64_t& expected = expected_[producer];
    EXPECT(tuple->sequence == expected || (cut_short_.load() && tuple->sequence > expected));
    expected = tuple->sequence + 1;
    if (worker == &workers_[producer] && tuple->sequence == sent_[producer])
      called_[producer] = true;
  }
  bool wants_call(uint32_t wish) const { return (wish % 2 == 1) != sizes_.begins_called; }

  const Sizes sizes_;
  typename Platform::Run run_{};
  typename Platform::Port port_{};
  typename Platform::Lock call_lock_;
  Operator consumer_{}, producers_[MOST_PRODUCERS]{};
  typename Platform::Route routes_[MOST_PRODUCERS]{};
  typename Platform::Target targets_[MOST_PRODUCERS]{};
  typename Platform::Target* feeders_[MOST_PRODUCERS]{};
  Worker workers_[MOST_PRODUCERS + 1]{};
  std::remove_pointer_t<decltype(run_.ready)> ready_;
  alignas(CACHE_LINE) char slots_[MOST_SLOTS * STRIDE]{}, final_[STRIDE]{};

  // Wishes that were begun, and those of them that have returned
  typename Checks::template Seen<uint32_t> begun_{0};
  typename Platform::template Word<uint32_t> returned_{0};
  typename Checks::template Seen<bool> finishing_{false}, cut_short_{false};
  typename Checks::Owned state_;  // the operator's: the three below
  uint64_t executed_ = 0, expected_[MOST_PRODUCERS]{};
  // By producer, which alone touches its own
  uint64_t sent_[MOST_PRODUCERS]{}, data_[MOST_PRODUCERS]{};
  bool called_[MOST_PRODUCERS]{};
};

}  // namespace switched
