/* ready.pml - who sees to a port with tuples: the protocol READY of ready_flag.hpp, with store buffers, for Spin.

   One input port with a ring of CAPACITY slots; the thread that sends to it, and drains it when it is full; threads that drain it while they
   wait for something behind it; and scheduler threads, which take it from the list of ready ports. What is one step here is one atomic
   operation there.

     TAKERS 2    scheduler threads
     HOLDERS 1   threads that drain the port without taking it from the list, and do not send to it
     BUFFERED 1  a store waits in its thread's buffer, of two, where only that thread sees it; 0: memory is sequentially consistent

   Stores leave a buffer in their order, whenever they like. A read-modify-write waits until the buffer of its thread is empty, as on x86.
   Release stores and acquire loads promise as much about what is asked here, on every machine: a store may be late, and never overtakes one before it.

   ONCE    each tuple is executed once, in order
   LISTED  the port is on the list once
   ENDS    every run in which no thread and no buffer is neglected for ever comes to its end: no tuple is left lying, no deadlock, no livelock

   Left out: how threads sleep while the list is empty (ready_ports.hpp), and several producers, who take turns.

   make model-check runs Spin; tests/runtime/test_ready_model.py runs the same file without. */

#ifndef TAKERS
#define TAKERS 1
#endif
#ifndef HOLDERS
#define HOLDERS 1
#endif
#ifndef TUPLES
#define TUPLES 2
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef HELPS
#define HELPS 1 /* times that a holder may drain the port */
#endif
#ifndef BUFFERED
#define BUFFERED 1
#endif
#define THREADS (1 + HOLDERS + TAKERS)

/* What is written by plain stores: SpscRing::tail_ and head_, TryFlag::held_ of Port::consuming */
#define TAIL 0
#define HEAD 1
#define HELD 2
byte memory[3];
byte pending[THREADS];   /* stores in each thread's buffer */
byte which[2 * THREADS]; /* their variables, the oldest first */
byte what[2 * THREADS];  /* their values */

bool ready;  /* Port::ready */
bool listed; /* the port is on the list of ready ports */

/* the oracle */
byte executed, ended;
bool inside;

/* What a thread sees of a variable: its own youngest store, else what is in memory */
#define YOUNGER(variable) (pending[_pid] > 1 && which[2 * _pid + 1] == variable)
#define OLDER(variable) (pending[_pid] > 0 && which[2 * _pid] == variable)
#define LOAD(variable)                                       \
  (YOUNGER(variable) * what[2 * _pid + 1] +                  \
   (!YOUNGER(variable) && OLDER(variable)) * what[2 * _pid] + \
   (!YOUNGER(variable) && !OLDER(variable)) * memory[variable])
#define EMPTIED (pending[_pid] == 0) /* what a read-modify-write waits for */

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

/* -- ReadyFlag --------------------------------------------------------------------------------------------------------------------- */

inline set() {
  atomic { EMPTIED -> was = ready; ready = true };
  if
  :: was -> was = false
  :: !was -> atomic { assert(!listed); listed = true } /* the push onto the list */
  fi
}

inline look() {
  seen = LOAD(HEAD);
  if
  :: LOAD(TAIL) != seen ->
    if
    :: LOAD(HELD) -> skip
    :: !LOAD(HELD) -> set()
    fi
  :: LOAD(TAIL) == seen -> skip
  fi;
  seen = 0
}

inline clear() {
  atomic { EMPTIED -> ready = false };
  look()
}

inline release() {
  STORE(HELD, 0);
  atomic { EMPTIED -> was = ready }; /* adds 0 */
  if
  :: was -> was = false
  :: !was -> look()
  fi
}

/* -- drain() of dynamic.hpp: the caller holds the consumer flag ------------------------------------------------------------------------ */

inline drain(most) {
  done = 0;
  seen = LOAD(HEAD);
  do
  :: done < most && LOAD(TAIL) != seen ->
    atomic { assert(!inside && seen == executed); inside = true }; /* ONCE */
    atomic { inside = false; executed++ };
    STORE(HEAD, seen + 1);
    seen++;
    done++
  :: done == most || LOAD(TAIL) == seen -> break
  od;
  seen = 0
}

/* Of the three, the producer and the holder. */
inline help(most) {
  seen = LOAD(HEAD);
  if
  :: LOAD(TAIL) != seen ->
    if
    :: atomic { EMPTIED && !memory[HELD] -> memory[HELD] = 1 };
      drain(most);
      done = 0;
      release()
    :: LOAD(HELD) -> skip
    fi
  :: LOAD(TAIL) == seen -> skip
  fi;
  seen = 0
}

inline announce() {
  if
  :: unannounced -> unannounced = false; set()
  :: !unannounced -> skip
  fi
}

active proctype producer() {
  byte sent, seen, done;
  bool was, unannounced;
  do
  :: sent < TUPLES ->
    if
    :: sent - LOAD(HEAD) < CAPACITY ->
      STORE(TAIL, sent + 1);
      sent++;
      unannounced = true;
      if
      :: !ready -> announce()
      :: ready -> skip /* put off */
      fi
    :: sent - LOAD(HEAD) == CAPACITY ->
      announce();
      help(1)
    fi
  :: sent == TUPLES -> break
  od;
  announce();
  ended++
}

active [HOLDERS] proctype holder() {
  byte helps, seen, done;
  bool was;
  do
  :: helps < HELPS -> helps++; help(255)
  :: true -> break
  od;
  helps = 0;
  ended++
}

active [TAKERS] proctype taker() {
  byte seen, done;
  bool was;
  do
  :: atomic { listed && EMPTIED -> listed = false };
    if
    :: atomic { EMPTIED && !memory[HELD] -> memory[HELD] = 1 };
      drain(2);
      STORE(HELD, 0);
      if
      :: done > 0 -> done = 0; atomic { EMPTIED -> assert(!listed); listed = true } /* it stays for a turn, or tuples are left */
      :: true -> done = 0; clear()
      fi
    :: LOAD(HELD) -> clear()
    fi
  :: executed == TUPLES -> break
  od;
  ended++
}

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
  :: ended == THREADS && pending[ITS] == 0 -> break
  od
}

ltl ends { <> (ended == THREADS) }
