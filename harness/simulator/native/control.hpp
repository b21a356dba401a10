// control.hpp - what the engine does to a simulation: start threads, let time pass, change levels
// and modes, end the run.
#pragma once

#include "disciplines.hpp"
#include "operators.hpp"
#include "primitives.hpp"

namespace millrace::sim {

// Tuples, at most, that one event covers, of a runtime that works on one tuple at a time.
inline constexpr uint32_t STEP = 8;

inline void Simulation::start(uint32_t worker) {
  const Present present(acting_);
  Worker& w = workers[worker];
  w.born = system.now;
  if (time_use.on) time_use.begin(w, system.now);
  if (w.pooled && software.printed && !listed_) {
    for (const Port& port : ports) {
      if (port.discipline->pooled) ready_.ports.push_back(port.index);
    }
    listed_ = true;
  }
  // Where operators have more threads than there are CPUs, those of neighbours begin on one CPU: a
  // graph that has filled from its sources has them there, since a woken thread follows its waker
  // while CPUs have little to do.
  const uint32_t cpus = machine.cpus(), cpu = w.pooled || own_threads <= cpus
                                                  ? Occupancy::NONE
                                                  : worker * cpus / own_threads;
  if (policy != nullptr) prepare_to_resume(w);
  void* (*body)(void*) = SimPath::source_body;
  if (w.pooled) {
    body = (policy != nullptr ? &RESUMED : pool)->body;
  } else if (w.port != nullptr) {
    body = w.port->discipline->body;
  }
  system.start(w, [&w, body] { body(&w); }, cpu);
}

inline std::vector<TimeUse::Entry> Simulation::time_spent() const {
  return time_use.read(
      system.now, [this](uint32_t thread) -> uint32_t { return bearers_[thread]->at; },
      [this](uint32_t thread) -> const Thread& { return *bearers_[thread]; });
}

// Let time pass until a program goes on, and return its thread; null: run() is to return.
inline Worker* Simulation::advance() {
  Calendar& calendar = system.calendar;
  acting_.worker = nullptr;
  while (!calendar.empty() && (!over || ending_) && turns_ + executed < most_events_ &&
         calendar.next().time <= until_) {
    const Calendar::Event event = calendar.next();
    if (event.time >= next_look_) {  // every thread has been where it is since the event before
      const uint64_t times = (event.time - next_look_) / profile_period_ + 1;
      for (const Worker* w : bearers_) {
        if (const uint32_t op = executed_by(w->at); op > 0) looks[op - 1] += times;
      }
      looked += times;
      next_look_ += times * profile_period_;
    }
    system.now = event.time;
    ++turns_;
    const uint32_t process = event.process();  // whose turn moves the event, or takes it out
    if (process == system.balancer) {
      system.balance();
    } else if (system.act(*bearers_[process])) {
      return acting_.worker = bearers_[process];
    }
  }
  return nullptr;
}

inline uint64_t Simulation::run(Time until, uint64_t events) {
  const Present present(acting_);
  const uint64_t before = turns_ + executed;
  until_ = until;
  most_events_ = before + events;
  system.simulate([this] { return advance(); });
  if (!over && !system.calendar.empty() && turns_ + executed < most_events_)
    system.now = std::max(system.now, until);
  return turns_ + executed - before;
}

// End the run now, from outside: a thread that sleeps is woken, sees that it is over, and gives up
// what it holds.
inline void Simulation::cut() {
  over = true;
  if (coroutines_ != nullptr) {
    const Present present(acting_);
    coroutines_->all->end();
  }
  for (Worker* w : bearers_) {
    if (w->state == Thread::ASLEEP) system.wake(*w, w->cpu);
  }
}

// Let the threads come to their ends, for at most so many events.
inline void Simulation::run_out(uint64_t events) {
  const Present present(acting_);
  until_ = next_look_ = NEVER;
  most_events_ = turns_ + executed + events;
  ending_ = true;
  while (!system.calendar.empty() && turns_ + executed < most_events_) {
    system.simulate([this] { return advance(); });
    cut();  // threads that sleep since, such as before a lock that its holder never gives back
  }
}

inline void Simulation::set_suspended(uint32_t worker, bool suspended) {
  Worker& w = workers[worker];
  w.suspended = suspended;
  if (coroutines_ != nullptr) {
    const Present present(acting_);
    coroutines_->all->suspend(coroutines_->threads[w.id], suspended);
    return;
  }
  if (suspended && w.rest == IDLE) {
    std::deque<Thread*>& sleepers = ready_.idle.sleepers;
    const auto place = std::find(sleepers.begin(), sleepers.end(), &w);
    if (place != sleepers.end()) sleepers.erase(place);
    system.wake(w, w.cpu);
  } else if (!suspended && w.rest == SUSPENDED) {
    system.wake(w, w.cpu);
  }
}

// Sizes of batches and drains, from the work that follows by calls: again whenever a queue is to
// come or go.
inline void Simulation::size_batches() {
  const uint32_t most = software.batch;
  const auto batch = [most](uint32_t chosen) {
    return most > 1 ? std::min(chosen, most) : std::clamp(chosen / 4, 1u, STEP);
  };
  sizes->refresh([this](uint32_t queue) { return (ports[queue].mode & WANTED_CALLED) != 0; },
                 [&](uint32_t op, uint32_t chosen) {
                   static_cast<SourceState*>(operators[op].own)
                       ->batch.store(batch(chosen), std::memory_order_relaxed);
                 },
                 [&](uint32_t queue, const Sizes::OfQueue& chosen) {
                   Port& port = ports[queue];
                   port.batch = batch(chosen.batch);
                   port.most = software.queueful ? static_cast<uint32_t>(port.ring.capacity() + 2)
                                                 : chosen.most;
                   port.wake_at = most > 1 ? chosen.wake_at : 1;
                 });
}

// The first so many output ports of a load balance get tuples from now on.
inline void Simulation::activate(Operator& op, uint32_t outputs) {
  const Present present(acting_);
  SimPath::set_active(static_cast<BalanceState*>(op.own), outputs);
  const uint32_t co = coroutines_ == nullptr ? NO_CO : coroutines_->graph.of_operator[op.index];
  if (co != NO_CO) coroutines_->all->gave(co);
}

}  // namespace millrace::sim
