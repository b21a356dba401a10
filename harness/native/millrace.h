/* millrace.h - what compiled operators may call, in C and C++ (docs/how-to/operators.md).
 *
 * Typed operators are called:
 *
 *   int32_t process(millrace_context*, uint32_t port, const void* tuple, void* state)   for each tuple that comes; below 0: an error
 *   int32_t step(millrace_context*, void* state)                                        of a source, again and again: a millrace_answer
 *   int32_t finish(millrace_context*, void* state)                                      when the last stream in has ended; below 0: an error
 *
 * Operators with a loop of their own call, and are called once a run:
 *
 *   int32_t run(millrace_loop*, void* state)                                            below 0: an error
 *
 * An aggregate of your own over windows is three functions (docs/how-to/operators.md). A window is divided into panes, each with a state of its own:
 *
 *   int32_t add(void* state, const void* tuple, uint64_t count)                         one more; the state has `count` already, and is zeroed at 0
 *   int32_t combine(void* state, const void* later)                                     another state, of the tuples that follow; both have some. Must be associative
 *   int32_t result(const void* state, const millrace_window*, void* out)                at the end of a window: 1: `out` is to be sent; 0: nothing is
 *
 * Below 0 each of them tells an error.
 *
 * A scheduling policy is called for operators that are ready, and must neither wait nor call the runtime:
 *
 *   double score(const millrace_ready*, void* state)                                    the highest goes on next; not a number: an error
 *   int32_t preempts(const millrace_ready* running, void* state)                        1: one that runs is to let others run; 0: it goes on; below 0: an error
 *
 * A typed tuple is written into the room that its output port has for it, and then sent. That may take long, since it waits where queues are
 * full. `tuple` is valid until the function returns, and may not be changed.
 */
#ifndef MILLRACE_H
#define MILLRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millrace_context millrace_context;
struct millrace_context {
  char** room;                                                /* by output port: where the next tuple is written */
  void (*send)(millrace_context* context, uint32_t output);   /* the tuple in the room of `output` is complete */
};

enum millrace_answer {
  MILLRACE_END = 0,  /* there is nothing more */
  MILLRACE_MORE = 1, /* call again */
  MILLRACE_IDLE = 2  /* call again, but there is nothing at hand now: what was sent shall not wait for what comes next */
};

/* What a loop asks for. Ports are numbered from 0. Answers below 0 mean that it has asked for what cannot be: the run has failed, and says why. */
typedef struct millrace_loop millrace_loop;
typedef struct millrace_tuple {
  uint64_t sequence;   /* its number at its sender, from 0 */
  double value;        /* of a typed tuple: 0 */
  const char* payload; /* of a typed tuple: its content, a struct of its schema. Valid until the next call of wait or pop */
} millrace_tuple;
struct millrace_loop {
  uint32_t inputs, outputs;
  uint64_t payload_bytes;    /* 0 of a typed loop: each port has its own schema */
  millrace_context* context; /* of a typed loop: for millrace_room and millrace_send, in place of push; else null */
  /* Until `counts[i]` tuples are at input port i, by port; 0: it is not waited for. 1: they are; 0: over, that will never be. */
  int32_t (*wait_all)(millrace_loop* loop, const uint32_t* counts);
  /* The same until that is so at one of these ports. */
  int32_t (*wait_any)(millrace_loop* loop, const uint32_t* counts);
  /* Tuples that are at an input port now. */
  int64_t (*waiting)(millrace_loop* loop, uint32_t input);
  /* Takes the next one; 0: there is none now. */
  int32_t (*pop)(millrace_loop* loop, uint32_t input, millrace_tuple* tuple);
  /* Sends a tuple, and waits where a queue is full; 0: the run is over. */
  int32_t (*push)(millrace_loop* loop, uint32_t output, double value);
  /* Whether the run is over: waits say so, too. Of a loop without inputs: whether it is to send nothing more. */
  int32_t (*stopping)(millrace_loop* loop);
  /* Value of the last tuple that came to its control port; 0 before the first one, and without such a port. */
  double (*control)(millrace_loop* loop);
  /* Waits for a time [ns], and lets others run; 0: the run is over. */
  int32_t (*sleep)(millrace_loop* loop, int64_t ns);
};

/* A window that has ended. By time: nanoseconds, `end` not included. By count: numbers of tuples in their partition, from 0. */
typedef struct millrace_window {
  int64_t begin, end;
  uint64_t count; /* tuples in it */
} millrace_window;

/* What a scheduling policy sees of a port, while it is called. */
typedef struct millrace_port {
  uint64_t queued; /* tuples that wait there */
  uint64_t room;   /* free places */
  double per_s;    /* tuples that the operator took from its own port, or sent to one downstream, lately, while it ran */
} millrace_port;

/* What a scheduling policy sees of an operator that is ready (C-Stream s3.2.6). Times are of one clock [ns]. */
typedef struct millrace_ready {
  uint32_t index;         /* of the operator, in the order in which the graph got them, from 0 */
  uint32_t source;        /* 1: it has no input port, 0: it has one */
  uint32_t batch;         /* tuples that it takes at once: fewer where they are expensive */
  int64_t scheduled_ns;   /* when it was last scheduled */
  uint64_t queued;        /* tuples before its input ports */
  int64_t enqueued_ns;    /* when the oldest of them came; where there are none, when it was last scheduled */
  int64_t born_ns;        /* when that one left its source, or the same */
  double reads_per_s;     /* tuples that it took, lately, while it ran */
  double writes_per_s;    /* tuples that it sent to each of the ports downstream, likewise */
  uint64_t room;          /* free places in the queue downstream where they are fewest; UINT64_MAX: there is no queue */
  uint64_t queued_behind; /* tuples in the longest queue downstream */
  double gain_per_s;      /* tuples that reach a sink for each second of work from here to there */
  int64_t ran_ns;         /* of one that runs: for how long it has, without a break; else 0 */
  int64_t quantum_ns;     /* after which one that runs lets others run, where the policy does not decide that */
  double waits_for_all;   /* share of its waits that were for several ports at once, from 0 to 1; the others were for any of its ports */
  uint32_t inputs;        /* its input ports that have a queue */
  uint32_t outputs;       /* the ports downstream that have one */
  const millrace_port* input;  /* each of these */
  const millrace_port* output; /* likewise, in the order of its output ports */
} millrace_ready;

/* The key, from 0 to `keys` - 1, of the tuple with that sequence number, of splits by key and operators by key: a hash of it. 2^64 / golden ratio
 * spreads consecutive numbers; the other multiplier is that of degski's 64-bit mixer. */
static inline uint64_t millrace_key(uint64_t sequence, uint64_t keys) {
  uint64_t mixed = ((sequence ^ 0x5DEECE66D) + 1) * 0x9E3779B97F4A7C15;
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93;
  return (mixed ^ (mixed >> 32)) % keys;
}

/* Where the next tuple for `output` is written: aligned to 32 bytes, as large as the schema of the port, with any content. */
static inline void* millrace_room(millrace_context* context, uint32_t output) { return context->room[output]; }

/* Sends it. The room is another one then. */
static inline void millrace_send(millrace_context* context, uint32_t output) { context->send(context, output); }

#ifdef __cplusplus
}
#endif

#endif
