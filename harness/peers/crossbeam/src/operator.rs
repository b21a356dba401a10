use crate::tuple::{fingerprint, Tuple};
use crossbeam_channel::{bounded, Receiver, Sender};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

pub const BUCKETS: usize = 592; // of the latency histogram: exact below 16 ns, then 16 to each power of two
const SAMPLED: u64 = 32; // one tuple in so many has its latency taken
const SERIAL_FLOP: u32 = 32; // from here on a chain of multiplies continues from tuple to tuple

/// `None` is the last thing on a stream.
type Item = Option<Tuple>;

pub struct Operator {
    kind: String,
    cost: u32,
    busy: Duration,
    pub ports: Vec<Vec<(Sender<Item>, u32)>>,
    pub sender: Sender<Item>,
    receiver: Receiver<Item>,
    pub arriving: usize, // streams
}

impl Operator {
    pub fn new(kind: &str, cost: u32, busy_ns: u64, ports: usize, capacity: usize) -> Operator {
        let (sender, receiver) = bounded(capacity);
        let busy = Duration::from_nanos(busy_ns);
        Operator {
            kind: kind.to_string(),
            cost,
            busy,
            ports: vec![Vec::new(); ports],
            sender,
            receiver,
            arriving: 0,
        }
    }
}

/// What is read while the run goes on. One thread writes each: the operator's. In lines of its own.
#[repr(align(128))]
pub struct Tally {
    pub executed: AtomicU64,
    pub longest: AtomicU64,
    pub latency: Vec<AtomicU64>,
}

/// What an operator's thread has counted when it ends.
#[derive(Default)]
pub struct Ending {
    pub left: u64,
    pub sum: u64, // of the fingerprints of what was sent, received, or not executed
    pub out_of_order: u64,
    pub harmed: u64,
}

pub struct Shared {
    pub stopping: AtomicBool,
    pub cut: AtomicBool,
    pub ended: AtomicU64, // ns since the start; 0: not yet
    pub tallies: Vec<Tally>,
    began: Instant,
    payload: usize,
    limit: i64,
}

impl Shared {
    pub fn new(payload: usize, limit: i64) -> Shared {
        let flags = [false, false].map(AtomicBool::new);
        let [stopping, cut] = flags;
        Shared {
            stopping,
            cut,
            ended: AtomicU64::new(0),
            tallies: Vec::new(),
            began: Instant::now(),
            payload,
            limit,
        }
    }

    pub fn make_tallies(&mut self, operators: usize) {
        let counters = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        self.tallies.extend((0..operators).map(|_| Tally {
            executed: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            latency: counters(BUCKETS),
        }));
    }

    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// Ns since the start; never 0.
    pub fn now(&self) -> u64 {
        (self.began.elapsed().as_nanos() as u64).max(1)
    }
}

pub fn execute(operator: Operator, number: usize, shared: &Shared) -> Ending {
    let Operator {
        kind,
        cost,
        busy,
        ports,
        sender,
        receiver,
        arriving,
    } = operator;
    drop(sender);
    let out = Out { ports, turn: 0 };
    let tally = &shared.tallies[number];
    match kind.as_str() {
        "source" => source(out, tally, shared),
        "sink" => sink(receiver, arriving, tally, shared),
        _ => work(cost, busy, receiver, arriving, out, tally, shared),
    }
}

/// The output ports of an operator; tuples take them in turn.
struct Out {
    ports: Vec<Vec<(Sender<Item>, u32)>>,
    turn: usize,
}

impl Out {
    fn send(&mut self, mut tuple: Tuple) {
        let (last, others) = self.ports[self.turn].split_last().expect("a stream from every port");
        let path = tuple.path;
        for (to, step) in others {
            let mut copy = tuple.clone();
            copy.path = path + step;
            to.send(Some(copy)).expect("a receiver");
        }
        tuple.path = path + last.1;
        last.0.send(Some(tuple)).expect("a receiver");
        self.turn = if self.turn + 1 == self.ports.len() { 0 } else { self.turn + 1 };
    }

    fn close(self) {
        for (to, _) in self.ports.into_iter().flatten() {
            to.send(None).expect("a receiver");
        }
    }
}

fn source(mut out: Out, tally: &Tally, shared: &Shared) -> Ending {
    let mut ending = Ending::default();
    let mut sequence = 0;
    while sequence as i64 != shared.limit && !shared.stopping.load(Acquire) {
        let born = if sequence % SAMPLED == 0 { shared.now() } else { 0 };
        ending.sum = ending.sum.wrapping_add(fingerprint(sequence));
        out.send(Tuple::new(sequence, born, shared.payload));
        sequence += 1;
        tally.executed.store(sequence, Relaxed);
    }
    out.close();
    ending
}

fn work(
    cost: u32,
    busy: Duration,
    receiver: Receiver<Item>,
    mut open: usize,
    mut out: Out,
    tally: &Tally,
    shared: &Shared,
) -> Ending {
    let mut ending = Ending::default();
    let factor = black_box(1.0);
    let (mut before, mut executed) = (1.0, 0);
    while open > 0 {
        let Some(mut tuple) = receiver.recv().expect("a sender") else {
            open -= 1;
            continue;
        };
        if shared.cut.load(Relaxed) {
            ending.left += 1;
            ending.sum = ending.sum.wrapping_add(fingerprint(tuple.sequence));
            continue;
        }
        if !busy.is_zero() {
            let end = Instant::now() + busy;
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        } else if cost < SERIAL_FLOP {
            tuple.value = multiply(tuple.value, factor, cost);
        } else {
            before = multiply(tuple.value + (before - before), factor, cost - 2);
            tuple.value = before;
        }
        out.send(tuple);
        executed += 1;
        tally.executed.store(executed, Relaxed);
    }
    out.close();
    ending
}

fn sink(receiver: Receiver<Item>, mut open: usize, tally: &Tally, shared: &Shared) -> Ending {
    let mut ending = Ending::default();
    let mut next: HashMap<u32, u64> = HashMap::new(); // by path: the sequence number after the last one
    let (mut executed, mut longest) = (0, 0);
    while open > 0 {
        let Some(tuple) = receiver.recv().expect("a sender") else {
            open -= 1;
            continue;
        };
        ending.sum = ending.sum.wrapping_add(fingerprint(tuple.sequence));
        if !tuple.is_intact(shared.payload) {
            ending.harmed += 1;
        }
        if tuple.born > 0 {
            let ns = shared.now() - tuple.born;
            let count = &tally.latency[bucket_of(ns)];
            count.store(count.load(Relaxed) + 1, Relaxed);
            longest = ns.max(longest);
            tally.longest.store(longest, Relaxed);
        }
        if shared.cut.load(Relaxed) {
            ending.left += 1;
            continue;
        }
        let expected = next.entry(tuple.path).or_insert(0);
        if tuple.sequence < *expected {
            ending.out_of_order += 1;
        }
        *expected = tuple.sequence + 1;
        executed += 1;
        tally.executed.store(executed, Relaxed);
    }
    ending
}

fn multiply(mut value: f64, factor: f64, cost: u32) -> f64 {
    for _ in 0..cost {
        value *= factor;
    }
    value
}

fn bucket_of(ns: u64) -> usize {
    if ns < 16 {
        return ns as usize;
    }
    let octave = 59 - ns.leading_zeros() as usize;
    ((octave + 1) * 16 + (ns >> octave) as usize - 16).min(BUCKETS - 1)
}

/// Of one dependent multiply: the median of some measurements.
pub fn ns_per_flop() -> f64 {
    const FLOP: u32 = 200_000;
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let begin = Instant::now();
            assert_eq!(multiply(black_box(1.5), black_box(1.0), FLOP), 1.5);
            begin.elapsed().as_nanos() as f64 / f64::from(FLOP)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
