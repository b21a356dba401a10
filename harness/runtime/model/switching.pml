/* switching.pml - queues that come and go while tuples flow: the protocol of switching.hpp and of push() in submit.hpp, for Spin.

   One input port with a ring of two slots; threads that send to it, one that executes it, and one that changes its mode, suspends threads
   and may cut the run short. What is one step here is one atomic operation there, or touches what nobody else looks at.

     PRODUCERS 1   the plan has proved one producer: no flag, no lock, and the operator upstream keeps a shortcut
     PRODUCERS 2   producer flag and call lock
     STOPS 1       the run may be cut short at any moment
     SUSPENDS 1    scheduler threads may be suspended, and come back

   ORDER   the operator sees each producer's tuples in the order in which they were sent
   ONCE    at the end every tuple was executed, once; if the run was cut short it may also lie in the queue, or have been given up
   ALONE   one thread at a time is in the operator
   HEED    a tuple that is sent after want() has returned goes the way that was wanted
   ENDS    every run in which no thread is neglected for ever comes to its end: no deadlock, no livelock

   Left out: the list of ready ports (tests/native/explore_ready.cpp), batches, what is behind the operator. A cycle comes back to a leaf (feed_back).
   Memory is sequentially consistent here. Edge SHORTCUT is the only one that needs that; the others are checked under ThreadSanitizer.

   make model-check runs Spin; tests/runtime/test_switching_model.py runs the same file without. */

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef SUSPENDS
#define SUSPENDS 1
#endif
#ifndef TUPLES
#define TUPLES 3 /* of the first producer; the second one sends one fewer */
#endif
#ifndef CHANGES
#define CHANGES 4 /* by the controller, at most */
#endif
#define CAPACITY 2

#if PRODUCERS > 1
#define SHARED true
#define TRY(flag) atomic { !flag -> flag = true }
#define UNLOCK(flag) flag = false
#else
#define SHARED false
#define TRY(flag) true
#define UNLOCK(flag) skip
#endif

/* Mode of state.hpp: the bits, and the states that they make */
#define WANTED_CALLED 1
#define NOW_CALLED 2
#define QUEUED 0
#define CLOSING 1
#define OPENING 2
#define CALLED 3

byte mode = QUEUED;
bool shortcut;        /* Operator::next of the operator upstream leads here */
bool producing;       /* Port::producing */
bool consuming;       /* Port::consuming */
bool call_lock;       /* Port::call_lock */
byte slots[CAPACITY]; /* Port::ring: who sent a tuple and its number */
byte front, waiting;  /* the slot of the oldest tuple, and how many there are */
bool suspended;       /* Worker::suspended, of all threads at once */
bool stop;            /* Worker::stop */

/* the oracle */
byte expected[PRODUCERS]; /* the number that comes next */
byte sent, executed, given_up;
bool inside;
byte ended;   /* producers */
bool wish, wishing; /* the last call of want(): for calls? it has not returned */
byte settled; /* by producer, a bit each: no wish has changed since it began to send its tuple */
bool finished;

#define MINE (1 + _pid)

/* An operator that sends round a cycle: it closes at a control port, which absorbs what comes, and sends nothing on. */
inline feed_back() {
  skip
}

inline execute(sender, nth) {
  atomic { assert(!inside); inside = true };
  feed_back();
  atomic {
    assert(nth == expected[sender] || (stop && nth > expected[sender]));
    expected[sender] = nth + 1;
    executed++;
    inside = false
  }
}

/* drain() of dynamic.hpp: the caller holds the consumer flag. A tuple takes its slot until it is executed. */
inline drain(most, yielding) {
  done = 0;
  do
  :: done == most || waiting == 0 || (done > 0 && (stop || (yielding && suspended))) -> break
  :: else ->
    execute(slots[front] / 16, slots[front] % 16);
    atomic { slots[front] = 0; front = (front + 1) % CAPACITY; waiting--; done++ }
  od;
  done = 0
}

/* -- producers ------------------------------------------------------------------------------------------------------------------- */

inline switch_off() {
  TRY(producing);
  if
  :: atomic { !consuming -> consuming = true };
    drain(255, false);
    if
    :: waiting == 0 -> atomic { mode = mode | NOW_CALLED; seen = mode }
    :: else -> seen = QUEUED
    fi;
    consuming = false
  :: stop -> seen = QUEUED
  fi;
  UNLOCK(producing)
}

inline shorten() {
  if
  :: !SHARED ->
    shortcut = true;
    if
    :: !(mode & WANTED_CALLED) -> shortcut = false
    :: else -> skip
    fi
  :: else -> skip
  fi
}

inline call_instead() {
  TRY(call_lock);
  seen = mode;
  if
  :: seen == CLOSING -> switch_off()
  :: seen == OPENING ->
    shortcut = false;
    atomic { mode = mode & WANTED_CALLED; seen = mode }
  :: else -> skip
  fi;
  if
  :: seen & NOW_CALLED ->
    shorten();
    execute(_pid, number);
    called = true
  :: else -> skip
  fi;
  seen = QUEUED;
  UNLOCK(call_lock)
}

/* The queue is full, or its producer side taken: give up at the end of the run, else drain the queue if nobody else does, and try again. */
inline blocked() {
  if
  :: stop -> given_up++; break
  :: else ->
    if
    :: waiting > 0 ->
      if
      :: atomic { !consuming -> consuming = true };
        drain(1, false);
        consuming = false
      :: else -> skip
      fi
    :: else -> skip
    fi
  fi
}

inline push() {
  do
  :: true ->
    if
    :: mode != QUEUED ->
      call_instead();
      if
      :: called -> break
      :: else -> skip
      fi
    :: else -> skip
    fi;
    if
    :: TRY(producing) ->
      if
      :: SHARED && (mode & NOW_CALLED) -> UNLOCK(producing) /* the queue was switched off while this thread waited for its turn */
      :: else ->
        if
        :: waiting < CAPACITY ->
          atomic { slots[(front + waiting) % CAPACITY] = _pid * 16 + number; waiting++ };
          UNLOCK(producing);
          break
        :: else -> UNLOCK(producing); blocked()
        fi
      fi
    :: else -> blocked()
    fi
  od
}

active [PRODUCERS] proctype producer() {
  byte number, done, seen;
  bool called;
  do
  :: number < TUPLES - _pid && !stop ->
    atomic { settled = settled | (!wishing * MINE); sent++ };
    if
    :: shortcut -> execute(_pid, number); called = true /* data: execute() of submit.hpp does not look at the mode */
    :: true -> push()                                   /* data, and punctuation even where there is a shortcut */
    fi;
    atomic {
      assert(!(settled & MINE) || stop || called == wish); /* HEED */
      settled = settled & (3 - MINE);
      number++;
      called = false
    }
  :: else -> break
  od;
  ended++
}

/* -- others ---------------------------------------------------------------------------------------------------------------------- */

active proctype scheduler() {
  byte done;
  do
  :: waiting > 0 && !suspended && !stop ->
    if
    :: atomic { !consuming -> consuming = true };
      drain(2, true);
      consuming = false
    :: else -> skip
    fi
  :: stop || (ended == PRODUCERS && waiting == 0) -> break
  od
}

inline want_called() {
  mode = mode | WANTED_CALLED
}

inline want_queued() {
  mode = mode & NOW_CALLED;
  shortcut = false
}

active proctype controller() {
  byte changes;
  do
  :: changes < CHANGES ->
    changes++;
    if
    :: atomic { !wish -> wish = true; wishing = true; settled = 0 }; want_called(); wishing = false
    :: atomic { wish -> wish = false; wishing = true; settled = 0 }; want_queued(); wishing = false
    :: atomic { SUSPENDS -> suspended = !suspended }
    :: atomic { STOPS && !stop -> stop = true }
    fi
  :: true -> break
  od;
  suspended = false;
  changes = 0;
  atomic {
    ended == PRODUCERS && (stop || waiting == 0) && !consuming -> skip;
    assert(executed + given_up + waiting == sent); /* ONCE */
    assert(stop || (given_up == 0 && waiting == 0));
    finished = true
  }
}

ltl ends { <> finished }
