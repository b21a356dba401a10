/* blocking.pml - co-routines that block and are woken: the protocol of coroutines.hpp, with store buffers, for Spin.

   A writer and a reader with a queue between them, executed by WORKERS threads. Each thread has a store buffer: its plain stores are seen by
   others later, in their order, but a read-modify-write or a fence waits until the buffer is empty. Both edges of coroutines.hpp are here:
   BLOCKED, the fences between a change and a look, and CLAIM, the compare-exchange by which one thread alone takes a blocked co-routine.

   ALONE   one thread at a time executes a co-routine, and not before it is off its stack
   ONCE    the reader takes each tuple, in order
   ENDS    every run in which no thread and no buffer is neglected for ever comes to its end: no deadlock, no livelock

   SUSPENDS: the first thread is suspended at any moment. The co-routine in its hands is then preempted, and it picks no other until the run is over.
   Each thread leaves when all co-routines have completed; or, once the run is over, when none is ready and all others are in the hands of threads.

   Left out: several writers, conditions on several ports, policies, and preemption by the clock, which only puts a co-routine back among those that
   are ready.

   make model-check runs Spin; tests/runtime/test_blocking_model.py runs the same file without. */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TUPLES
#define TUPLES 2
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef STOPS
#define STOPS 0 /* whether the run is ended at any moment */
#endif
#ifndef BUFFERED
#define BUFFERED 1
#endif
#ifndef SUSPENDS
#define SUSPENDS 0 /* whether the first thread is suspended at any moment; there must be another one */
#endif
#define THREADS (WORKERS + STOPS + SUSPENDS)

/* What is written by plain stores */
#define TAIL 0
#define HEAD 1
#define READER 2 /* states of the co-routines */
#define WRITER 3
#define CLOSED 4
#define OVER 5
byte memory[6];
byte pending[THREADS];   /* stores in each thread's buffer */
byte which[2 * THREADS]; /* their variables, the oldest first */
byte what[2 * THREADS];  /* their values */

/* States */
#define READY 0
#define RUNNING 1
#define BLOCKED 2
#define CLAIMED 3
#define COMPLETED 4

/* The co-routines' own: whoever executes one is alone with it */
byte sent, taken;
bool in_reader, in_writer; /* the oracle of ALONE */
byte ended;

/* The scheduler's own, under its lock */
byte running;           /* co-routines in the hands of threads */
byte suspended[THREADS]; /* 1: it is told to suspend, 2: and has let go of its co-routine for that; between two looks each gets on */

/* What a thread sees of a variable: its own youngest store, else what is in memory */
#define YOUNGER(variable) (pending[_pid] > 1 && which[2 * _pid + 1] == variable)
#define OLDER(variable) (pending[_pid] > 0 && which[2 * _pid] == variable)
#define LOAD(variable)                                       \
  (YOUNGER(variable) * what[2 * _pid + 1] +                  \
   (!YOUNGER(variable) && OLDER(variable)) * what[2 * _pid] + \
   (!YOUNGER(variable) && !OLDER(variable)) * memory[variable])
#define EMPTIED (pending[_pid] == 0)

#if BUFFERED
#define STORE(variable, value)                        \
  atomic {                                            \
    pending[_pid] < 2 ->                              \
    which[2 * _pid + pending[_pid]] = variable;       \
    what[2 * _pid + pending[_pid]] = value;           \
    pending[_pid]++                                   \
  }
#else
#define STORE(variable, value) memory[variable] = value
#endif
#define FENCE EMPTIED

#define MAY_READ (LOAD(TAIL) != LOAD(HEAD) || LOAD(CLOSED) || LOAD(OVER))
#define MAY_WRITE (LOAD(TAIL) - LOAD(HEAD) < CAPACITY || LOAD(OVER))

inline claim(co) {
  if
  :: atomic { EMPTIED && memory[co] == BLOCKED -> memory[co] = CLAIMED; got = true }
  :: atomic { EMPTIED && memory[co] != BLOCKED -> got = false }
  fi
}

#define MAY_PICK (suspended[_pid] == 0 || LOAD(OVER))
#define ALL_COMPLETED (memory[WRITER] == COMPLETED && memory[READER] == COMPLETED)
#define NONE_READY (memory[WRITER] != READY && memory[READER] != READY)
#define ALL_RUN ((memory[WRITER] != COMPLETED) + (memory[READER] != COMPLETED) <= running)

inline preempt(co) {
  suspended[_pid] = 2;
  atomic { EMPTIED -> memory[co] = READY }
}

/* settle(), of a co-routine that has left its stack, and try_wake(), of one that seems blocked */
inline settle(co, may_go_on) {
  STORE(co, BLOCKED);
  FENCE;
  if
  :: may_go_on ->
    claim(co);
    if
    :: got -> got = false; atomic { EMPTIED -> memory[co] = READY }
    :: !got -> skip
    fi
  :: !may_go_on -> skip
  fi
}

inline wake(co, may_go_on) {
  FENCE;
  if
  :: LOAD(co) == BLOCKED && may_go_on ->
    claim(co);
    if
    :: got -> got = false; atomic { EMPTIED -> memory[co] = READY }
    :: !got -> skip
    fi
  :: LOAD(co) != BLOCKED || !may_go_on -> skip
  fi
}

inline write() {
  do
  :: sent == TUPLES || LOAD(OVER) ->
    STORE(CLOSED, 1);
    wake(READER, MAY_READ);
    in_writer = false;
    atomic { EMPTIED -> memory[WRITER] = COMPLETED };
    break
  :: sent < TUPLES && !LOAD(OVER) ->
    if
    :: sent - LOAD(HEAD) < CAPACITY ->
      STORE(TAIL, sent + 1);
      sent++;
      wake(READER, MAY_READ)
    :: sent - LOAD(HEAD) == CAPACITY ->
      in_writer = false;
      settle(WRITER, MAY_WRITE);
      break
    fi
  :: suspended[_pid] == 1 ->
    in_writer = false;
    preempt(WRITER);
    break
  od
}

inline read() {
  do
  :: LOAD(TAIL) != taken ->
    STORE(HEAD, taken + 1);
    taken++;
    wake(WRITER, MAY_WRITE)
  :: LOAD(TAIL) == taken ->
    if
    :: LOAD(CLOSED) || LOAD(OVER) ->
      if
      :: LOAD(TAIL) == taken || LOAD(OVER) ->
        in_reader = false;
        atomic { EMPTIED -> memory[READER] = COMPLETED };
        break
      :: LOAD(TAIL) != taken && !LOAD(OVER) -> skip
      fi
    :: !LOAD(CLOSED) && !LOAD(OVER) ->
      in_reader = false;
      settle(READER, MAY_READ);
      break
    fi
  :: suspended[_pid] == 1 ->
    in_reader = false;
    preempt(READER);
    break
  od
}

active [WORKERS] proctype worker() {
  bool got;
  do
  :: atomic {
      EMPTIED && MAY_PICK && memory[WRITER] == READY ->
      memory[WRITER] = RUNNING;
      running++;
      assert(!in_writer);
      in_writer = true
    };
    write();
    running--
  :: atomic {
      EMPTIED && MAY_PICK && memory[READER] == READY ->
      memory[READER] = RUNNING;
      running++;
      assert(!in_reader);
      in_reader = true
    };
    read();
    running--
  :: ALL_COMPLETED || (LOAD(OVER) && NONE_READY && ALL_RUN) -> break
  od;
  assert(memory[OVER] || taken == TUPLES);
  ended++
}

#if STOPS
active proctype engine() {
  bool got;
  STORE(OVER, 1);
  wake(WRITER, MAY_WRITE);
  wake(READER, MAY_READ);
  ended++
}
#endif

#if SUSPENDS
active proctype pool() {
  suspended[0] = 1;
  ended++
}
#endif

/* The store buffer of the thread with the number _pid - THREADS */
#define ITS (_pid - THREADS)
active [THREADS] proctype buffer() {
  do
  :: atomic {
      pending[ITS] > 0 ->
      memory[which[2 * ITS]] = what[2 * ITS];
      which[2 * ITS] = which[2 * ITS + 1];
      what[2 * ITS] = what[2 * ITS + 1];
      which[2 * ITS + 1] = 0;
      what[2 * ITS + 1] = 0;
      pending[ITS]--
    }
  :: ended == THREADS && pending[ITS] == 0 -> assert(ALL_COMPLETED); break
  od
}

ltl ends { <> (ended == THREADS) }
