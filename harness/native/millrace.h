/* millrace.h - what compiled operators may call, in C and C++ (docs/how-to/operators.md).
 *
 * A function that returns int32_t returns a number below 0 for an error.
 *
 * Typed operators are called:
 *
 *   int32_t process(millrace_context*, uint32_t port, const void* tuple, void* state)
 *       for each tuple that comes
 *   int32_t step(millrace_context*, void* state)
 *       of a source, again and again; returns a millrace_answer
 *   int32_t finish(millrace_context*, void* state)
 *       when the last stream in has ended
 *
 * Operators with a loop of their own call, and are called once a run:
 *
 *   int32_t run(millrace_loop*, void* state)
 *
 * An aggregate of your own over windows is three functions. A window is divided into panes, each
 * with a state of its own:
 *
 *   int32_t add(void* state, const void* tuple, uint64_t count)
 *       adds a tuple; the state has `count` already, and is zeroed at 0
 *   int32_t combine(void* state, const void* later)
 *       adds the state of the tuples that follow; both have some. Must be associative
 *   int32_t result(const void* state, const millrace_window*, void* out)
 *       at the end of a window; returns 1 to send `out`, 0 to send nothing
 *
 * A scheduling policy is called for operators that are ready, and must neither wait nor call the
 * runtime:
 *
 *   double score(const millrace_ready*, void* state)
 *       the operator with the highest score goes on next; not a number: an error
 *   int32_t preempts(const millrace_ready* running, void* state)
 *       returns 1 if a running operator has to let others run, 0 if it goes on
 *
 * A typed tuple is written into the room that its output port has for it, and then sent. That may
 * take long, since it waits where queues are full. `tuple` is valid until the function returns, and
 * may not be changed.
 */
#ifndef MILLRACE_H
#define MILLRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millrace_context millrace_context;
struct millrace_context {
  /* By output port: where the next tuple is written. */
  char** room;
  /* The tuple in the room of `output` is complete. */
  void (*send)(millrace_context* context, uint32_t output);
};

enum millrace_answer {
  MILLRACE_END = 0,  /* there is nothing more */
  MILLRACE_MORE = 1, /* call again */
  MILLRACE_IDLE = 2  /* call again; nothing comes now, so what was sent must not wait for a batch */
};

/* What a loop may call. Ports are numbered from 0. Answers below 0 mean that the request was
 * invalid: the run has failed, and its error says why. */
typedef struct millrace_loop millrace_loop;
typedef struct millrace_tuple {
  uint64_t sequence;   /* its number at its sender, from 0 */
  double value;        /* of a typed tuple: 0 */
  const char* payload; /* of a typed tuple: a struct of its schema, until the next wait or pop */
} millrace_tuple;
struct millrace_loop {
  uint32_t inputs, outputs;
  uint64_t payload_bytes; /* 0 of a typed loop: each port has its own schema */
  /* Of a typed loop: for millrace_room and millrace_send, in place of push; else null. */
  millrace_context* context;
  /* Waits until `counts[i]` tuples are at each input port i; a count of 0 is not waited for.
   * Returns 1 if they are there, 0 if they will never be. */
  int32_t (*wait_all)(millrace_loop* loop, const uint32_t* counts);
  /* Waits until that is so at one of these ports. */
  int32_t (*wait_any)(millrace_loop* loop, const uint32_t* counts);
  /* Tuples that are at an input port now. */
  int64_t (*waiting)(millrace_loop* loop, uint32_t input);
  /* Takes the next tuple; 0: there is none now. */
  int32_t (*pop)(millrace_loop* loop, uint32_t input, millrace_tuple* tuple);
  /* Sends a tuple, and waits where a queue is full; 0: the run is over. */
  int32_t (*push)(millrace_loop* loop, uint32_t output, double value);
  /* 1 if the run is over, as waits say, too; for a loop without inputs, if it must send no more. */
  int32_t (*stopping)(millrace_loop* loop);
  /* Value of the last tuple at its control port; 0 before the first one and without such a port. */
  double (*control)(millrace_loop* loop);
  /* Waits for a time [ns], and lets others run; 0: the run is over. */
  int32_t (*sleep)(millrace_loop* loop, int64_t ns);
};

/* A window that has ended. By time: nanoseconds. By count: numbers of tuples in their partition,
 * from 0. */
typedef struct millrace_window {
  int64_t begin, end; /* by time, `end` is not included */
  uint64_t count;     /* tuples in it */
} millrace_window;

/* What a scheduling policy sees of a port, while it is called. */
typedef struct millrace_port {
  uint64_t queued; /* tuples that wait there */
  uint64_t room;   /* free places */
  double per_s;    /* lately, while the operator ran: tuples taken from it, or sent to it */
} millrace_port;

/* What a scheduling policy sees of an operator that is ready (C-Stream s3.2.6). Times are of one
 * clock [ns]. */
typedef struct millrace_ready {
  uint32_t index;         /* of the operator, in the order in which the graph got them, from 0 */
  uint32_t source;        /* 1: it has no input port, 0: it has one */
  uint32_t batch;         /* tuples that it takes at once: fewer where they are expensive */
  int64_t scheduled_ns;   /* when it was last scheduled */
  uint64_t queued;        /* tuples before its input ports */
  int64_t enqueued_ns;    /* when the oldest of them came; without any, `scheduled_ns` */
  int64_t born_ns;        /* when that one left its source; without any, `scheduled_ns` */
  double reads_per_s;     /* tuples that it took, lately, while it ran */
  double writes_per_s;    /* tuples that it sent to each of the ports downstream, likewise */
  uint64_t room;          /* fewest free places in a queue downstream; UINT64_MAX: no queue */
  uint64_t queued_behind; /* tuples in the longest queue downstream */
  double gain_per_s;      /* tuples that reach a sink for each second of work from here to there */
  int64_t ran_ns;         /* while it runs: time without a break; else 0 */
  int64_t quantum_ns;     /* longest turn, where the policy does not decide that */
  double waits_for_all;   /* share of its waits that were for several ports at once, 0 to 1 */
  uint32_t inputs;        /* its input ports that have a queue */
  uint32_t outputs;       /* the ports downstream that have one */
  const millrace_port* input;  /* each of these input ports */
  const millrace_port* output; /* each of these ports downstream, by output port */
} millrace_ready;

/* The key, from 0 to `keys` - 1, of the tuple with that sequence number, for splits and operators
 * by key: a hash of it. 2^64 / golden ratio spreads consecutive numbers; the other multiplier is
 * that of degski's 64-bit mixer. */
static inline uint64_t millrace_key(uint64_t sequence, uint64_t keys) {
  uint64_t mixed = ((sequence ^ 0x5DEECE66D) + 1) * 0x9E3779B97F4A7C15;
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93;
  return (mixed ^ (mixed >> 32)) % keys;
}

/* Where the next tuple for `output` is written: aligned to 32 bytes, as large as the schema of the
 * port, with any content. */
static inline void* millrace_room(millrace_context* context, uint32_t output) {
  return context->room[output];
}

/* Sends that tuple. Afterwards the room is another one. */
static inline void millrace_send(millrace_context* context, uint32_t output) {
  context->send(context, output);
}

#ifdef __cplusplus
}
#endif

#endif
