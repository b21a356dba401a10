// loops.hpp - operators with a loop of their own: what is at their input ports, what they have
// pushed and is not yet sent (C-Stream s2.3).
//
// A queue holds punctuations among its tuples, and a loop counts tuples. Port::marks counts the
// punctuations put into a queue before they are published, so a queue is searched for some only
// when it has one that has not been found yet, and each of its slots once at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "millrace.h"
#include "state.hpp"
#include "tuple.hpp"

namespace millrace {

using LoopFunction = int32_t (*)(millrace_loop*, void* state);

// The consumer's side of a queue before a loop. Only the loop itself uses it.
struct LoopInput {
  Port* port;
  // of a queue shorter than a batch: room for the tuple popped last, which leaves its slot at once;
  // else null
  Tuple* taken_out;
  uint32_t streams;   // that lead here
  uint32_t finals;    // of these, how many have ended, as far as it has looked
  uint32_t popped;    // slots at the front that it is done with and has not given back
  uint32_t marks;     // punctuations behind those, as far as it has looked
  uint64_t looked;    // up to which place in the queue that is, counted as the ring's head is
  uint64_t found;     // punctuations, all in all
  uint64_t sequence;  // of the tuple popped last
  // Where there may be replicas, it gets its tuples by tickets (replicas.hpp): these, of which the
  // first `taken` are popped or punctuation, and `data` are still to be popped.
  bool by_tickets;
  bool over;  // there are no more tickets
  Tuple* ticket;
  uint32_t in_ticket, taken, data;

  uint64_t place() const noexcept {
    return port->ring.head().load(std::memory_order_relaxed) + popped;
  }
  // Tuples that wait.
  uint64_t at_hand() noexcept {
    if (by_tickets) return data;
    // first: then what it holds is counted in `marks`
    const uint64_t size = port->ring.size_guess();
    const uint64_t head = port->ring.head().load(std::memory_order_relaxed);
    if (port->marks.read() != found) {
      for (uint64_t i = std::max(looked, place()) - head; i < size; ++i)
        note(*port->ring.left_behind(i));
    }
    looked = std::max(looked, head + size);
    return size - popped - marks;
  }
  // Whether no more tuples come behind those at hand; to be asked after at_hand().
  bool ended() const noexcept { return by_tickets ? over : finals == streams; }
  // Whether slots must be given back before the next one can be taken.
  bool at_end() const noexcept {
    return popped > 0 &&
           popped == port->ring.capacity() - (place() - popped) % port->ring.capacity();
  }
  // What is next in the queue, a punctuation too; null: nothing.
  Tuple* next() noexcept {
    Tuple* first;
    if (port->ring.front(popped + 1, &first) <= popped) return nullptr;
    Tuple* tuple = slot(first, port->ring.stride(), popped);
    if (tuple->kind != DATA) {
      if (place() >= looked) note(*tuple);
      --marks;
      ++port->marks_taken;
    }
    looked = std::max(looked, place() + 1);
    ++popped;
    return tuple;
  }
  // Where nothing is popped: moves the tuples, as far as it has looked, over the punctuations
  // between them. Returns how many slots at the front are to be given back; adds to `windows` the
  // window punctuations that ended so.
  uint32_t compact(Counter& windows) noexcept {
    const uint64_t size = looked - place();
    uint64_t to = size;
    for (uint64_t from = size; from-- > 0;) {
      Tuple* tuple = port->ring.left_behind(from);
      if (tuple->kind == WINDOW) windows.add(1);
      if (tuple->kind == DATA && --to != from)
        std::memcpy(port->ring.left_behind(to), tuple, port->ring.stride());
    }
    port->marks_taken += marks;
    marks = 0;
    return static_cast<uint32_t>(to);
  }

 private:
  void note(const Tuple& tuple) noexcept {
    if (tuple.kind == DATA) return;
    ++found;
    ++marks;
    if (tuple.kind == FINAL) ++finals;
  }
};

// What was pushed to an output port. It numbers its tuples, as a source does. Of a typed loop
// `most` alone: Outgoing has the rest (typed.hpp).
struct LoopOutput {
  Tuple* slots;  // `most` of them
  uint32_t most, filled;
  uint64_t sent;          // tuples, those in slots not among them
  uint64_t fingerprints;  // of the tuples sent
  uint64_t copies;        // how many sinks see each
};

// `context` is first: the runtime finds this by it.
struct LoopState {
  // of a function in Python, which has suspended
  enum Request : uint32_t {
    ENDED = 0,  // there is nothing more to resume
    GO_ON = 1,
    WAIT_ALL = 2,
    WAIT_ANY = 3,
    SLEEP = 4,
  };

  millrace_loop context;
  Operator* op;
  Worker* worker;
  LoopFunction run;
  void* state;
  void* python;           // the object with its function in Python; null: it is compiled
  void (*resume)(void*);  // goes on with that function, until it suspends or has ended
  LoopInput* inputs;
  LoopOutput* outputs;
  LoopState* first;   // if it may have replicas: that of its own co-routine; else null
  uint32_t* counts;   // by input port: what it waits for
  int64_t born_ns;    // of what it has popped since its last wait; 0: not known
  bool source;        // it has no input ports, and ends when sources are to end
  uint64_t limit;     // of a source: tuples that it may push
  uint64_t pushed;    // tuples
  bool running;       // its function has begun and has not returned
  int32_t answer;     // below 0: what its function returned when it failed
  char problem[200];  // what it asked for that cannot be; empty: nothing
  // of one in Python, between its co-routine's stack and the thread's
  uint32_t request;
  int32_t verdict;
  bool begun;             // `python` is held, until it has ended
  bool closing;           // the run is over: waits say so at once, and what is pushed goes nowhere
  int64_t sleep_ns;       // what it asks for
  int64_t slice_ends_ns;  // when it shall let the runtime have a look
};

inline void set_problem(LoopState* state, const char* text) noexcept {
  if (state->problem[0] == 0) std::strncpy(state->problem, text, sizeof(state->problem) - 1);
}

// Counts a tuple that is pushed, the first one of a batch or not. That of a source is born now; one
// clock reading a batch: its first tuple is the sample.
inline void begin_push(LoopState* state, bool first) noexcept {
  ++state->pushed;
  if (state->source) state->born_ns = first ? now_ns() : 0;
}

// Writes a tuple into the room of an output port, which has some. Where there may be replicas, it
// gets its number and payload when it is sent (Path::send_numbered): until then another thread may
// count those before it.
inline void enter(LoopState* state, uint32_t output, double value) noexcept {
  LoopOutput& out = state->outputs[output];
  begin_push(state, out.filled == 0);
  const Run* run = state->worker->run;
  state->worker->collects = true;
  Tuple* tuple = slot(out.slots, run->stride, out.filled);
  tuple->born_ns = state->born_ns;
  tuple->value = value;
  tuple->path = 0;
  tuple->kind = DATA;
  tuple->order = 0;
  if (state->first == nullptr) {
    tuple->sequence = out.sent + out.filled;
    fill_payload(tuple, run->payload);
  }
  ++out.filled;
}

}  // namespace millrace
