// sources.hpp - the loop of a source, which makes tuples and submits them, and when it does so.
//
// Under the manual model a source's thread is all there is: everything downstream of the source is
// executed by calls from here (P17 s2.2). The other models give sources the same thread; it ends at
// the first queue. The coroutine model makes a co-routine of it.
//
// A source submits up to 32 tuples at once, fewer where the region that it calls is expensive
// (sizes.hpp), and checks once a batch if it has to end.
//
// A source that does not run at full speed sends at a rate, or in bursts of rate.
//
// Open loop: a tuple has an intended time, which does not depend on the tuples before it. It is
// born then, so its latency includes the time for which back-pressure kept the source from sending
// (else the worst waits would not be measured: coordinated omission). A source that is late sends
// the tuples that are due as fast as it can. The schedule is a cycle of stretches: tuples at even
// distances, full speed, or silence. Stretches follow each other in intended time too, except that
// one at full speed ends by the clock. If a stretch ends before its next tuple, the next stretch at
// a rate begins with the rest of that gap, so that short stretches do not send more.
#pragma once

#include "path.hpp"

namespace millrace {

template <class Platform>
void* Path<Platform>::source_body(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  Run* run = worker->run;
  Operator* op = worker->op;
  auto* source = static_cast<SourceState*>(op->own);
  uint32_t batches = 0;
  while (!run->finishing.load(std::memory_order_relaxed) &&
         !worker->stop.load(std::memory_order_acquire)) {
    uint64_t most = std::min<uint64_t>(source->batch.load(std::memory_order_relaxed),
                                       source->limit - source->sent);
    if (source->window > 0) most = std::min(most, source->window - source->sent % source->window);
    if (most == 0) break;
    auto count = static_cast<uint32_t>(most);
    Platform::pass(worker);
    if (source->paces != nullptr) {
      count = due(worker, source, count);
      if (count == 0) continue;
      turn_to(worker, Activity::MAKE, op);
    } else {
      turn_to(worker, Activity::MAKE, op);
      for (uint32_t i = 1; i < count; ++i) slot(source->buffer, run->stride, i)->born_ns = 0;
      // one clock reading a batch: its first tuple is the sample
      source->buffer->born_ns = Platform::born_ns(Platform::clock(worker));
    }
    for (uint32_t i = 0; i < count; ++i)
      make_tuple(source, slot(source->buffer, run->stride, i), run->payload);
    Route* route = Platform::made(worker, op, count);
    op->processed.add(count);
    deliver(worker, route, source->buffer, count);
    Platform::has_sent(worker, op, count);
    ++batches;
    // its tuples may all have gone to other threads than those that still wait to be woken
    if (batches % BATCHES_IN_SILENCE == 0) {
      hand_over(worker);
    } else if (count < source->room) {  // a slow region
      announce(worker);
    }
    if (source->window > 0 && source->sent % source->window == 0) send_window(worker, op, source);
    Platform::ends_batch(worker);
  }
  close_operator(worker, op);
  hand_over(worker);
  turn_to(worker, Activity::NONE);
  Platform::finish(worker);
  return nullptr;
}

template <class Platform>
void Path<Platform>::send_window(Worker* worker, Operator* op, SourceState* source) {
  Tuple* mark = source->buffer;
  ++source->windows;
  mark->sequence = source->sent;
  mark->path = 0;
  mark->order = 0;
  mark->value = 0.0;
  mark->kind = WINDOW;
  pass_mark(worker, op, mark);
}

// Waits until a tuple is due. Returns the number of tuples due, up to `most`, with their times in
// the source's buffer. 0: look again, it may be over.
template <class Platform>
uint32_t Path<Platform>::due(Worker* worker, SourceState* source, uint32_t most) {
  const int64_t now = Platform::clock(worker);
  Platform::begins_schedule(worker, source, now);
  const auto* pace = &source->paces[source->pace];
  const int64_t end =
      pace->length > 0 ? source->pace_began + pace->length : std::numeric_limits<int64_t>::max();
  int64_t until = end;
  if (pace->gap > 0) {
    uint32_t count = 0;
    for (; count < most; ++count) {
      const int64_t at = source->pace_began + static_cast<int64_t>(source->pace_next * pace->gap);
      until = std::min(at, end);
      if (at > now || at >= end) break;
      slot(source->buffer, worker->run->stride, count)->born_ns = Platform::born_ns(at);
      source->pace_next += 1.0;
    }
    if (count > 0) return count;
  } else if (pace->gap == 0 && now < end) {
    for (uint32_t i = 1; i < most; ++i) slot(source->buffer, worker->run->stride, i)->born_ns = 0;
    source->buffer->born_ns = Platform::born_ns(now);
    return most;
  }
  if (now < end) {
    sleep_until(worker, until, now);
    return 0;
  }
  source->pace_began = end;
  if (pace->gap > 0) source->pace_next -= static_cast<double>(pace->length) / pace->gap;
  source->pace = source->pace + 1 < source->pace_count ? source->pace + 1 : 0;
  return 0;
}

template <class Platform>
void Path<Platform>::sleep_until(Worker* worker, int64_t time, int64_t now) {
  hand_over(worker);
  turn_to(worker, Activity::PAUSE, worker->op);
  Platform::sleep_until(worker, time, now);
}

}  // namespace millrace
