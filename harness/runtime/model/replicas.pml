/* replicas.pml - replicas of an operator that come and go: the protocol of replicas.hpp, for Spin.

   A writer, REPLICAS replicas, and whoever changes their number, CHANGES times, to any. What is one step here is one locked section, or one
   read-modify-write, there. How a co-routine blocks and is woken is blocking.pml; here a wait and a wake-up are one step each.

   A tuple has a number, from which follows how many are sent for it (MANY), and, where KEYED, its bin. A slot holds one tuple that is to be sent.

   ORDER   what is sent for a tuple is sent after all that is sent for those before it
   ONCE    all of it is sent, once; where KEYED, tuples of a bin are worked on one after another, in order
   ENDS    every run in which no process is neglected for ever comes to its end: no deadlock, no livelock

   Left out: store buffers (all that is handed over goes with a read-modify-write or a lock), full queues (a step may take as long as it
   likes, and so may a wait), batches, a stop.

   make model-check runs Spin; tests/runtime/test_replicas_model.py runs the same file without. */

#ifndef REPLICAS
#define REPLICAS 2
#endif
#ifndef TUPLES
#define TUPLES 3
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef KEYED
#define KEYED 0
#endif

#define MANY(n) ((n + 2) % 3) /* 2, 0, 1, 2, ... */
#define ALL_SENT (TUPLES + (TUPLES % 3 == 1))

/* Bins by number: 0 0 1 1 0 0 ... The tuple of the same bin before n; none is worked on */
#define BIN(n) (n / 2 % 2)
#define BEFORE(n) (n % 2 + (n % 2 == 0) * (n > 3) * 3)
#define FREE(n) (!KEYED || BEFORE(n) == 0 || worked[n - BEFORE(n)])

byte queued, popped; /* tuples in the port; taken from it until now */
bool closed;

/* The operator */
byte width = 1, living = 1, working, issued, passed;
bool alone = 1;
bool begun[REPLICAS]; /* it has been begun, and has not left */
bool ended;           /* the first one has */
byte blocked[REPLICAS];
#define TUPLES_COME 1
#define TO_BE_FIRST 2

/* Slots, by ticket modulo WINDOW */
bool first[WINDOW], shut[WINDOW];
byte filled[WINDOW], owner[WINDOW], number_of[WINDOW]; /* number_of: its tuple */

bool held[TUPLES];   /* by number: it has a ticket, and is not taken up */
bool worked[TUPLES]; /* by number */
byte ticket_of[TUPLES];

/* the oracle */
byte sent, last; /* how many; the last one's place, 3 * number + its own, from 1 */
bool inside[2];  /* a bin is worked on */
bool controlled;

#define SLOT(ticket) (ticket % WINDOW)
#define CAN(n) (n < TUPLES && held[n] && FREE(n))
#define LOWEST (CAN(0) * 1 + (!CAN(0) && CAN(1)) * 2 + (!CAN(0) && !CAN(1) && CAN(2)) * 3 + \
                (!CAN(0) && !CAN(1) && !CAN(2) && CAN(3)) * 4 + (!CAN(0) && !CAN(1) && !CAN(2) && !CAN(3) && CAN(4)) * 5)
#define CAN_ISSUE (queued > 0 && issued - passed < WINDOW)
#define DRAINED(r) (closed && queued == 0 && (r != 0 || passed == issued))
#define MAY_LEAVE (LOWEST == 0 || working + 1 < living || ticket_of[LOWEST - 1] != passed)

/* may_go_on() */
#define MAY(r)                                                                      \
  (MAY_SEND(r) || (blocked[r] == TUPLES_COME && MAY_TAKE(r)))
#define MAY_SEND(r) (blocked[r] == TO_BE_FIRST && first[SLOT(mine[r])])
#define MAY_TAKE(r)                                                                 \
  (r >= width ||                                                                    \
   (alone && r == 0 && (queued > 0 || closed || width > 1)) ||                      \
   (!alone && (LOWEST > 0 || CAN_ISSUE || DRAINED(r))))
byte mine[REPLICAS]; /* the ticket of each */
#define MINE SLOT(mine[_pid])

inline wake_one() {
  if
  :: atomic { MAY(0) -> blocked[0] = 0 }
  :: atomic { !MAY(0) && REPLICAS > 1 && MAY(1 % REPLICAS) -> blocked[1 % REPLICAS] = 0 }
  :: atomic { !MAY(0) && !(REPLICAS > 1 && MAY(1 % REPLICAS)) && REPLICAS > 2 && MAY(2 % REPLICAS) -> blocked[2 % REPLICAS] = 0 }
  :: !MAY(0) && !(REPLICAS > 1 && MAY(1 % REPLICAS)) && !(REPLICAS > 2 && MAY(2 % REPLICAS))
  fi
}

/* Waits unless, by now, it need not. Conditions are no arguments: Spin cuts long ones off */
inline wait_for_tuples() {
  if
  :: atomic { !MAY_TAKE(_pid) -> blocked[_pid] = TUPLES_COME }; blocked[_pid] == 0
  :: MAY_TAKE(_pid)
  fi
}
inline wait_to_be_first() {
  if
  :: atomic { !first[MINE] -> blocked[_pid] = TO_BE_FIRST }; blocked[_pid] == 0
  :: first[MINE]
  fi
}

/* Sends `many` for the number, which are the first ones or all; nobody else sends meanwhile, so it is one step */
#define SEND(n, many)                    \
  assert(many == 0 || 3 * n >= last);    \
  last = (many > 0) * (3 * n + many) + (many == 0) * last; \
  sent = sent + many

inline work_on_ticket() {
  do
  :: made < MANY(number) && !first[MINE] && filled[MINE] == 0 -> filled[MINE] = 1; made = 1
  :: made < MANY(number) && !first[MINE] && filled[MINE] == 1 -> wait_to_be_first()
  :: atomic { made < MANY(number) && first[MINE] -> SEND(number, MANY(number)); filled[MINE] = 0; made = MANY(number) }
  :: made == MANY(number) -> break
  od;
  made = 0
}

inline finish() {
  atomic { inside[BIN(number) * KEYED] = false; worked[number] = true; working--; ticket_of[number] = 0; number = 0 };
  if
  :: atomic { !first[MINE] -> shut[MINE] = true; mine[_pid] = 0 }
  :: atomic { first[MINE] -> shut[MINE] = true; turn = true; at = mine[_pid]; mine[_pid] = 0 }
  fi;
  do
  :: atomic {
      turn ->
      SEND(number_of[SLOT(at)], filled[SLOT(at)]);
      filled[SLOT(at)] = 0;
      number_of[SLOT(at)] = 0;
      owner[SLOT(at)] = 0;
      first[SLOT(at)] = false;
      shut[SLOT(at)] = false;
      passed++;
      at++
    };
    if
    :: atomic { shut[SLOT(at)] -> first[SLOT(at)] = true }
    :: atomic { !shut[SLOT(at)] -> first[SLOT(at)] = true; turn = false };
      if
      :: atomic { MAY_SEND(owner[SLOT(at)]) -> blocked[owner[SLOT(at)]] = 0; at = 0 }
      :: atomic { !MAY_SEND(owner[SLOT(at)]) -> at = 0 }
      fi
    fi
  :: !turn -> break
  od
}

#define LEAVES (_pid >= width && MAY_LEAVE)
#define COMES_BACK (!LEAVES && _pid == 0 && width == 1 && living == 1 && passed == issued)
#define TICKETS (!LEAVES && !COMES_BACK && !alone)

active [REPLICAS] proctype replica() {
  byte number, made, at;
  bool turn, left;
  do
  :: _pid > 0 && !begun[_pid] && ended && controlled -> break
  :: _pid == 0 && left -> break
  :: (_pid == 0 && !left) || begun[_pid] ->
    if
    /* take_in_place() */
    :: atomic { _pid == 0 && alone && width > 1 -> alone = false };
      wake_one()
    :: atomic {
        _pid == 0 && alone && width == 1 && queued > 0 ->
        SEND(popped, MANY(popped));
        worked[popped] = true;
        popped++;
        queued--
      }
    :: atomic { _pid == 0 && alone && width == 1 && queued == 0 && closed -> ended = true; living--; left = true };
      wake_one()
    :: _pid == 0 && alone && width == 1 && queued == 0 && !closed ->
      wait_for_tuples()
    /* take_ticket() */
    :: atomic { !(_pid == 0 && alone) && LEAVES -> begun[_pid] = false; living-- };
      wake_one()
    :: atomic { !(_pid == 0 && alone) && COMES_BACK -> alone = true }
    :: atomic {
        TICKETS && LOWEST > 0 ->
        number = LOWEST - 1;
        held[number] = false;
        mine[_pid] = ticket_of[number];
        owner[SLOT(mine[_pid])] = _pid;
        working++;
        assert(!inside[BIN(number) * KEYED] || !KEYED);
        inside[BIN(number) * KEYED] = true
      };
      wake_one();
      work_on_ticket();
      finish()
    :: atomic {
        TICKETS && LOWEST == 0 && CAN_ISSUE && FREE(popped) ->
        number = popped;
        popped++;
        queued--;
        ticket_of[number] = issued;
        mine[_pid] = issued;
        number_of[SLOT(issued)] = number;
        owner[SLOT(issued)] = _pid;
        issued++;
        working++;
        assert(!inside[BIN(number) * KEYED] || !KEYED);
        inside[BIN(number) * KEYED] = true
      };
      wake_one();
      work_on_ticket();
      finish()
    :: atomic {
        TICKETS && LOWEST == 0 && CAN_ISSUE && !FREE(popped) ->
        held[popped] = true;
        ticket_of[popped] = issued;
        number_of[SLOT(issued)] = popped;
        issued++;
        popped++;
        queued--
      }
    :: atomic { TICKETS && LOWEST == 0 && !CAN_ISSUE && DRAINED(_pid) -> begun[_pid] = false; living--; left = _pid == 0; ended = ended || left };
      wake_one()
    :: (TICKETS && LOWEST == 0 && !CAN_ISSUE && !DRAINED(_pid)) || (!LEAVES && _pid > 0 && alone) ->
      wait_for_tuples()
    fi
  od;
  if
  :: _pid == 0 -> assert(sent == ALL_SENT && popped == TUPLES) /* ONCE */
  :: _pid > 0 -> skip
  fi
}

active proctype writer() {
  do
  :: atomic { popped + queued < TUPLES -> queued = queued + 1 + (popped + queued + 1 < TUPLES) };
    wake_one()
  :: popped + queued == TUPLES -> break
  od;
  closed = true;
  wake_one()
}

inline set(number) {
  if
  :: atomic {
      !ended ->
      width = number;
      living = living + (number > 1 && !begun[1 % REPLICAS]) + (number > 2 && !begun[2 % REPLICAS]);
      begun[1 % REPLICAS] = begun[1 % REPLICAS] || number > 1;
      begun[2 % REPLICAS] = begun[2 % REPLICAS] || number > 2
    };
    wake_one()
  :: ended
  fi
}

active proctype control() {
  byte changes;
  first[0] = true;
  do
  :: changes < CHANGES -> changes++; set(1)
  :: changes < CHANGES && REPLICAS > 1 -> changes++; set(2)
  :: changes < CHANGES && REPLICAS > 2 -> changes++; set(3)
  :: changes == CHANGES -> break
  od;
  controlled = true
}

ltl ends { <> (controlled && ended) }
