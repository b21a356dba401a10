/* millrace.h - what a compiled typed operator may call, in C and C++ (docs/operators.md).
 *
 *   int32_t process(millrace_context*, uint32_t port, const void* tuple, void* state)   for each tuple that comes; below 0: an error
 *   int32_t step(millrace_context*, void* state)                                        of a source, again and again: a millrace_answer
 *   int32_t finish(millrace_context*, void* state)                                      when the last stream in has ended; below 0: an error
 *
 * A tuple is written into the room that its output port has for it, and then sent. That may take long, since it waits where queues are
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

/* Where the next tuple for `output` is written: aligned to 32 bytes, as large as the schema of the port, with any content. */
static inline void* millrace_room(millrace_context* context, uint32_t output) { return context->room[output]; }

/* Sends it. The room is another one then. */
static inline void millrace_send(millrace_context* context, uint32_t output) { context->send(context, output); }

#ifdef __cplusplus
}
#endif

#endif
