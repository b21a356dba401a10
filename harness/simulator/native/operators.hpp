// operators.hpp - what each kind of operator does: harness/runtime/operators.pyx, balance.pyx,
// pacing.pyx and manual.pyx in virtual time.
#pragma once

#include "../../runtime/native/flop.hpp"
#include "dedicated.hpp"
#include "dynamic.hpp"
#include "simulation.hpp"
#include "submit.hpp"

namespace millrace::sim {

inline constexpr uint32_t SINK_LINES =
    3;  // of a slot that a sink looks at: the header and, of the payload, three words (tuple.hpp)
inline constexpr Time LONGEST_PACED_SLEEP = 10 * MILLISECOND;

// A core begins with a tuple before it is done with the one before, unless the work of a batch is a
// chain (flop.hpp), as it is not where each tuple has a cost of its own, or it is the same tuple at
// the next operator.
inline void Simulation::compute(Worker& w, const Operator& op, const Tuple* first, Count count) {
  const auto beside_others = [this](uint32_t cost) {
    const uint64_t overlapped = (machine.flop * cost << Machine::SHIFT) / software.overlap;
    const uint64_t alone =
        machine.flop * (cost - std::min(cost, cost < SERIAL_FLOP ? cost : software.ahead));
    return std::max(overlapped, alone);
  };
  const bool again = count == 1 && first->sequence == w.last_alone;
  if (op.kind == BURSTS) {
    for (Count i = 0; i < count; ++i) {
      const uint64_t place = first[i].sequence % op.ends.back();
      const size_t stretch = static_cast<size_t>(
          std::upper_bound(op.ends.begin(), op.ends.end(), place) - op.ends.begin());
      w.fp += again ? machine.flop * op.costs[stretch] : beside_others(op.costs[stretch]);
    }
  } else if (again || (count > 1 && op.cost >= SERIAL_FLOP)) {
    w.fp += machine.flop * op.cost * count;
  } else {
    w.fp += beside_others(op.cost) * count;
  }
  w.last_alone = count > 1 ? UINT64_MAX : first->sequence;
}

// Count, check and stamp: the oracle's end (ORDER, ONCE).
inline void Simulation::sink(Worker& w, Operator& op, const Tuple* first, Count count) {
  const uint64_t lines = std::min<uint64_t>(SINK_LINES, stride / machine.line);
  if (op.profiled > 0) {
    w.mixed += op.profiled * count;
  } else {
    w.mixed += software.sink_batch * publications(count) + software.sink_tuple * count +
               software.sink_byte * payload * count;
  }
  for (Count i = 0; i < count; ++i) w.mixed += first[i].born_ns != 0 ? software.clock : 0;
  w.waiting += lines * machine.line * count * w.slots.kib >> 10;
  if (op.lock != nullptr) rmw(w, op.line, false);
  check(op, first, count, system.now + system.owed(w));
}

inline void Simulation::check(Operator& op, const Tuple* first, Count count, Time now) {
  check(op, op.next_of_path, first, count);
  if (op.latency == nullptr) return;
  for (Count i = 0; i < count; ++i) {
    if (first[i].born_ns != 0)
      op.latency->record(static_cast<int64_t>(now / NANOSECOND) - first[i].born_ns);
  }
}

inline void Simulation::check(Operator& op, std::vector<uint64_t>& next_of_path, const Tuple* first,
                              Count count) {
  for (Count i = 0; i < count; ++i) {
    const Tuple& tuple = first[i];
    op.fingerprints += fingerprint(tuple.sequence);
    if (next_of_path.empty()) continue;
    uint64_t& next = next_of_path[tuple.path];
    if (tuple.sequence < next) {
      ++op.violations;
    } else {
      next = tuple.sequence + 1;
    }
  }
}

inline void Simulation::kernel(Worker& w, Operator& op, Tuple* first, Count count) {
  switch (op.kind) {
    case FILTER:
      return filter(w, op, first, count);
    case SPLIT:
      return split(w, op, first, count);
    case MERGE:
      return merge(w, op, first, count);
    case BARRIER:
      return barrier(w, op, first, count);
    case BALANCE:
      return balance(w, op, first, count);
    case TYPED:
      return typed(w, op, first, count);
    default:
      return op.all ? round_robin(w, op, first, count) : filter(w, op, first, count);
  }
}

inline void Simulation::round_robin(Worker& w, Operator& op, Tuple* first, Count count) {
  const Count begin = op.turn, outputs = static_cast<Count>(op.routes.size()),
              ways = std::min(count, outputs);
  op.turn = (begin + count) % outputs;
  for (Count i = 0; i < ways; ++i) {
    Route& route = op.routes[begin + i < outputs ? begin + i : begin + i - outputs];
    deliver_every(w, route, first + i, (count - i + outputs - 1) / outputs, outputs);
  }
}

inline void Simulation::split(Worker& w, Operator& op, Tuple* first, Count count) {
  uint32_t round = 0;
  const uint32_t at = w.at;
  const Slots slots = w.slots;
  if (op.merge != nullptr) look(w, op.merge->next_line);
  while (op.merge != nullptr && op.order + count - op.merge->next > op.ahead &&
         !over) {  // not further ahead than there are slots (BOUND)
    if (w.coroutine != Worker::NO_COROUTINE) {
      op.wanted = count;
      wait_to_be_given(w, op);
      continue;
    }
    bool helped = false;
    announce(w);
    pass(w);
    look(w, op.merge->next_line);
    for (Port* port : op.between) {
      if (!port->discipline->pooled || port->ring.size() == 0 || !try_flag(w, port->consuming))
        continue;
      drain(w, *port, port->most, false);
      pass(w);
      release(w, *port);
      helped = true;
    }
    if (!helped) wait_a_little(w, round);
  }
  w.at = at;
  w.slots = slots;
  for (Count i = 0; i < count; ++i) {
    first[i].order = op.order++;
    if (op.keys == 0) continue;
    Route& route = op.routes[way_of(key_of(first[i].sequence, op.keys),
                                    static_cast<uint32_t>(op.routes.size()))];
    ++route.sent;
    w.mixed += software.key_tuple;
    deliver(w, route, first + i, 1);
  }
  if (op.keys == 0) round_robin(w, op, first, count);
}

inline void Simulation::filter(Worker& w, Operator& op, Tuple* first, Count count) {
  Count start = 0;
  w.mixed += software.filter_tuple * count;
  for (Count i = 0; i < count; ++i) {
    if (op.passes_on(first[i].sequence)) continue;
    op.dropped += fingerprint(first[i].sequence) * op.copies;
    if (i > start) {
      w.mixed += software.filter_cut;
      pass_on(w, op, first + start, i - start);
    }
    start = i + 1;
  }
  if (count > start) pass_on(w, op, first + start, count - start);
}

// A run of neighbours.
inline void Simulation::pass_on(Worker& w, Operator& op, Tuple* first, Count count) {
  op.emitted += count;
  w.mixed += software.filter_run;
  if (op.routes.size() == 1) {
    deliver(w, op.routes[0], first, count);
  } else {
    round_robin(w, op, first, count);
  }
}

inline void Simulation::merge(Worker& w, Operator& op, Tuple* first, Count count) {
  const uint32_t mask = static_cast<uint32_t>(op.slots.size() - 1);
  Count start = 0;
  w.mixed += software.merge_tuple * count;
  for (Count i = 0; i < count; ++i) {
    if (first[i].order == op.next) {
      ++op.next;
      if (op.waiting_marks.empty() && (op.held == 0 || !op.present[op.next & mask])) continue;
      op.emitted += i + 1 - start;
      deliver(w, op.routes[0], first + start, i + 1 - start);
      start = i + 1;
      pass_on_waiting(w, op);
    } else {
      if (i > start) {
        op.emitted += i - start;
        deliver(w, op.routes[0], first + start, i - start);
      }
      start = i + 1;
      if (first[i].order - op.next > mask) {
        if (over) {  // cut short, the split lets all go on: there is no slot for this one
          ++op.given_up;
          w.given_up_fingerprints += fingerprint(first[i].sequence) * op.copies;
          continue;
        }
        op.overrun = true;
        end_run();
        return;
      }
      copy(w, 1, {Line::NOBODY, 0, op.slots.size() * stride});
      op.slots[first[i].order & mask] = first[i];
      op.present[first[i].order & mask] = 1;
      ++op.held;
    }
  }
  op.next_line.store(w.core);
  if (count > start) {
    op.emitted += count - start;
    deliver(w, op.routes[0], first + start, count - start);
  }
}

inline void Simulation::pass_on_waiting(Worker& w, Operator& op) {
  const uint32_t mask = static_cast<uint32_t>(op.slots.size() - 1);
  for (;;) {
    while (!op.waiting_marks.empty() && op.waiting_marks.front().order == op.next) {
      const Tuple mark = op.waiting_marks.front();
      op.waiting_marks.pop_front();
      pass_mark(w, op, mark);
    }
    const uint32_t most =
        op.waiting_marks.empty() ? 32 : std::min(32u, op.waiting_marks.front().order - op.next);
    const uint32_t place = op.next & mask;
    uint32_t ready = 0;
    while (ready < most && place + ready <= mask && op.present[place + ready])
      op.present[place + ready++] = 0;
    if (ready == 0) return;
    op.next += ready;
    op.held -= ready;
    op.emitted += ready;
    deliver(w, op.routes[0], &op.slots[place], ready);
  }
}

// A tuple of each input for one that goes on (barrier.pyx). What a look at a tuple costs is taken
// to be what it costs a merge.
inline void Simulation::barrier(Worker& w, Operator& op, Tuple* first, Count count) {
  BarrierInput& input = op.inputs[w.input];
  uint32_t round = 0;
  w.mixed += software.merge_tuple * count;
  while (count > 0) {
    if (op.over) {
      check(op, input.next_of_path, first, count);
      op.discarded += count;
      return;
    }
    const Count taken =
        static_cast<Count>(std::min<uint64_t>(count, op.room_of_input - input.held.size()));
    if (taken > 0) {
      check(op, input.next_of_path, first, taken);
      copy(w, taken, {Line::NOBODY, 0, op.room_of_input * stride});
      input.held.insert(input.held.end(), first, first + taken);
      first += taken;
      count -= taken;
      round = 0;
      send_complete(w, op);
    } else if (over) {
      op.processed -= count;  // as if it had not got them
      for (Count i = 0; i < count; ++i)
        w.given_up_fingerprints += fingerprint(first[i].sequence) * op.copies;
      op.left += count;
      return;
    } else {
      const uint32_t at = w.at;
      const Slots slots = w.slots;
      w.at = 0;
      if (op.lock != nullptr) unlock(w, *op.lock);
      wait_a_little(w, round);
      if (op.lock != nullptr) acquire(w, *op.lock);
      w.at = at;
      w.slots = slots;
    }
  }
}

inline void Simulation::send_complete(Worker& w, Operator& op) {
  uint64_t ready = UINT64_MAX;
  for (const BarrierInput& input : op.inputs) ready = std::min<uint64_t>(ready, input.held.size());
  if (ready == 0) return;
  std::vector<Tuple>& batch = op.buffer;  // no other thread is here until all is sent (ALONE)
  while (ready > 0) {
    const auto count = static_cast<Count>(std::min<uint64_t>(ready, MAX_BATCH));
    batch.assign(op.inputs[0].held.begin(), op.inputs[0].held.begin() + count);
    for (BarrierInput& input : op.inputs) {
      for (Count i = 0; i < count; ++i) {
        const int64_t born = input.held[i].born_ns;  // a whole is as old as its oldest part
        if (born != 0 && (batch[i].born_ns == 0 || born < batch[i].born_ns))
          batch[i].born_ns = born;
      }
      input.held.erase(input.held.begin(), input.held.begin() + count);
    }
    for (const Tuple& tuple : batch) op.sent_fingerprints += fingerprint(tuple.sequence);
    pass_on(w, op, batch.data(), count);
    ready -= count;
  }
  for (const BarrierInput& input : op.inputs) {
    if (input.open_streams > 0 || !input.held.empty()) continue;
    end(w, op);
    return;
  }
}

inline void Simulation::input_ended(Worker& w, Operator& barrier) {
  BarrierInput& input = barrier.inputs[w.input];
  if (--input.open_streams == 0 && input.held.empty() && !barrier.over) end(w, barrier);
}

inline void Simulation::end(Worker& w, Operator& barrier) {
  barrier.over = true;
  for (BarrierInput& input : barrier.inputs) {
    barrier.discarded += input.held.size();
    input.held.clear();
  }
  send_final(w, barrier);
}

// As many tuples on each output port as a profiled run has shown, evenly: the fraction that is left
// is owed (typed.pyx).
inline void Simulation::typed(Worker& w, Operator& op, Tuple* first, Count count) {
  const uint32_t at = w.at;
  const Slots slots = w.slots;
  check(op, op.next_of_path, first, count);
  int64_t born = 0;
  for (Count i = 0; i < count && born == 0; ++i) born = first[i].born_ns;
  for (size_t output = 0; output < op.routes.size(); ++output) {
    op.owed[output] += op.sends[output] * count;
    while (op.owed[output] >> Operator::ONE > 0) {
      const auto part =
          static_cast<Count>(std::min<uint64_t>(op.owed[output] >> Operator::ONE, MAX_BATCH));
      op.owed[output] -= uint64_t{part} << Operator::ONE;
      for (Count i = 0; i < part; ++i)
        op.buffer[i] = Tuple{op.numbers[output]++, i == 0 ? born : 0, 0, 0, 0, DATA};
      op.routes[output].sent += part;
      op.emitted += part;
      deliver(w, op.routes[output], op.buffer.data(), part);
      w.at = at;
      w.slots = slots;
    }
  }
}

// Where a typed source sends its next batch: to the port that is owed most.
inline Simulation::Count Simulation::typed_output(Operator& source, Count count) {
  size_t most = 0;
  for (size_t output = 0; output < source.sends.size(); ++output) {
    source.owed[output] += source.sends[output] * count;
    if (static_cast<int64_t>(source.owed[output]) > static_cast<int64_t>(source.owed[most]))
      most = output;
  }
  source.owed[most] -= uint64_t{count} << Operator::ONE;
  return static_cast<Count>(most);
}

// Each tuple into the next buffer that has room, of the active ones (balance.pyx).
inline void Simulation::balance(Worker& w, Operator& op, Tuple* first, Count count) {
  bool waited = false;
  Count place = 0;
  while (place < count) {
    pass(w);
    const Count wanted = count - place, active = op.active, turn = op.turn < active ? op.turn : 0,
                share = (wanted + active - 1) / active;
    uint64_t most = wanted;
    op.ways.clear();
    for (Count i = 0; i < active && op.ways.size() < wanted; ++i) {
      const Count way = turn + i < active ? turn + i : turn + i - active;
      Ring& ring = op.routes[way].targets[0].port->ring;
      if (ring.tail - ring.head_seen + share > ring.capacity()) {
        look(w, ring.head_line);
        ring.head_seen = ring.head;
      }
      const uint64_t room = ring.capacity() - (ring.tail - ring.head_seen);
      if (room == 0) continue;
      most = std::min(most, room);
      op.ways.push_back(way);
    }
    if (op.ways.empty()) {
      if (over) {
        op.routes[0].sent += wanted;
        push(w, op.routes[0].targets[0], first + place, 1, wanted,
             nullptr);  // which gives them up
        return;
      }
      if (w.coroutine != Worker::NO_COROUTINE) {
        op.waiting = true;
        wait_to_be_given(w, op);
        op.waiting = false;
        waited = true;
        continue;
      }
      const uint64_t freed = op.freed;
      hand_over(w);
      ++w.waits;
      announce_sleep(w, op.room);
      pass(w);
      if (op.freed == freed && !over) {
        w.at = 0;
        w.rest = BLOCKED;
        op.waiting = true;
        idle(w, true);
        system.sleep_in(w, op.room);
        idle(w, false);
        op.waiting = false;
        w.rest = AWAKE;
        w.at = op.index + 1;
      }
      waited = true;
      continue;
    }
    if (waited) ++op.routes[op.ways[0]].targets[0].port->blocked;
    waited = false;
    const Count ways = static_cast<Count>(op.ways.size()),
                dealt = static_cast<Count>(std::min<uint64_t>(wanted, ways * most));
    const Count last = op.ways[(dealt - 1) % ways];
    for (Count i = 0; i < ways; ++i) {
      const Count part = (dealt - i + ways - 1) / ways;
      Route& route = op.routes[op.ways[i]];
      route.sent += part;
      w.mixed += software.way * publications(part) + software.way_tuple * part;
      push(w, route.targets[0], first + place + i, ways, part, nullptr);
    }
    op.turn = last + 1;
    place += dealt;
  }
}

// -- sources --------------------------------------------------------------------------------------

inline void Simulation::make(Operator& source, Tuple& tuple) {
  tuple = Tuple{source.sent, tuple.born_ns, 0, 0, 0, DATA};
  source.fingerprints += fingerprint(source.sent);
  ++source.sent;
}

inline void Simulation::source_body(Worker& w) {
  Operator& op = *w.op;
  const uint64_t buffer = op.buffer.size() * stride;
  Count batches = 0;
  while (!finishing && !over) {
    uint64_t most = std::min<uint64_t>(op.batch, op.limit - op.sent);
    if (op.window > 0) most = std::min(most, op.window - op.sent % op.window);
    if (most == 0) break;
    Count count = static_cast<Count>(most);
    pass(w);
    if (!op.paces.empty()) {
      count = due(w, op, count);
      if (count == 0) continue;
    } else {
      for (Count i = 1; i < count; ++i) op.buffer[i].born_ns = 0;
      op.buffer[0].born_ns =
          static_cast<int64_t>(system.now / NANOSECOND) + 1;  // 0 means: not sampled
    }
    w.at = op.index + 1;
    for (Count i = 0; i < count; ++i) make(op, op.buffer[i]);
    Count output = 0;
    if (op.sends.empty()) {
      w.mixed += software.source_batch * publications(count) +
                 (software.source_tuple + software.source_byte * payload) * count;
    } else {
      w.mixed += op.profiled * count;
      output = typed_output(op, count);
      for (Count i = 0; i < count; ++i) op.buffer[i].sequence = op.numbers[output]++;
      op.routes[output].sent += count;
    }
    w.slots = {.kib = machine.fetch_kib[buffer <= machine.l1 / 2 ? OWN_L1 : OWN_L2]};
    if (profile_period_ > 0) pass(w);
    op.processed += count;
    deliver(w, op.routes[output], op.buffer.data(), count);
    source_has_sent(w, op.buffer.data(), count);
    if (++batches % BATCHES_IN_SILENCE == 0) {
      hand_over(w);
    } else if (count < op.buffer.size() && pool) {
      announce(w);
    }
    if (op.window > 0 && op.sent % op.window == 0) {
      ++op.windows;
      Tuple mark{};
      mark.sequence = op.sent;
      mark.kind = WINDOW;
      pass_mark(w, op, mark);
    }
    if (system.owed(w) > System::LONGEST_STEP) pass(w);
  }
  close_operator(w, &op);
  hand_over(w);
  w.at = 0;
  pass(w);
}

// Wait until a tuple is due; how many are, up to `most`. 0: look again, it may be over
// (pacing.pyx).
inline Simulation::Count Simulation::due(Worker& w, Operator& source, Count most) {
  const int64_t now = static_cast<int64_t>(system.now);
  const Pace& pace = source.paces[source.pace];
  const int64_t end = pace.length_ps > 0 ? source.pace_began + pace.length_ps : INT64_MAX;
  int64_t until = end;
  if (pace.gap_ps > 0) {
    Count count = 0;
    for (; count < most; ++count) {
      const int64_t at = source.pace_began + static_cast<int64_t>(source.pace_next * pace.gap_ps);
      until = std::min(at, end);
      if (at > now || at >= end) break;
      source.buffer[count].born_ns = at / static_cast<int64_t>(NANOSECOND) + 1;
      source.pace_next += 1.0;
    }
    if (count > 0) return count;
  } else if (pace.gap_ps == 0 && now < end) {
    for (Count i = 1; i < most; ++i) source.buffer[i].born_ns = 0;
    source.buffer[0].born_ns = now / static_cast<int64_t>(NANOSECOND) + 1;
    return most;
  }
  if (now < end) {
    hand_over(w);
    w.at = 0;
    pass(w);
    const Time then = std::min<Time>(static_cast<Time>(std::min<int64_t>(until, INT64_MAX / 2)),
                                     system.now + LONGEST_PACED_SLEEP);
    if (w.coroutine != Worker::NO_COROUTINE) {
      sleep_as_coroutine(w, then);
    } else {
      system.sleep(w, then);
    }
    return 0;
  }
  source.pace_began = end;
  if (pace.gap_ps > 0) source.pace_next -= static_cast<double>(pace.length_ps) / pace.gap_ps;
  source.pace = source.pace + 1 < source.paces.size() ? source.pace + 1 : 0;
  return 0;
}

}  // namespace millrace::sim
