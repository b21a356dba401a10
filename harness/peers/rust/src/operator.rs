//! What an operator does besides receiving and sending, and what it counts.

use crate::plan::{self, Plan};
use crate::tuple::{fingerprint, is_intact, value_of, Header, Tuple};
use std::hint::black_box;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Of the latency histogram: exact below 16 ns, then 16 to each power of two.
pub const BUCKETS: usize = 592;
const SAMPLED: u64 = 32; // at full speed one tuple in so many has its latency taken, else all have
const SERIAL_FLOP: u32 = 32; // from here on a tuple of a batch waits for the one before it
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// An operator while it runs: its thread or task owns it.
pub struct Operator {
    pub shared: Arc<Shared>,
    number: usize,
    pub(crate) executed: u64,
    factor: f64,
    ending: Ending,
}

impl Operator {
    pub fn new(shared: &Arc<Shared>, number: usize) -> Operator {
        Operator {
            shared: shared.clone(),
            number,
            executed: 0,
            factor: black_box(1.0),
            ending: Ending::default(),
        }
    }

    pub fn kind(&self) -> plan::Kind {
        self.plan().kind
    }

    pub fn end(self) -> Ending {
        self.ending
    }

    fn plan(&self) -> &plan::Operator {
        &self.shared.plan.operators[self.number]
    }

    fn tally(&self) -> &Tally {
        &self.shared.tallies[self.number]
    }

    /// True if a source makes another tuple.
    pub fn goes_on(&self) -> bool {
        self.shared.plan.limit != Some(self.executed) && !self.shared.stopping.load(Acquire)
    }

    fn due(&self) -> u64 {
        (self.executed as f64 * self.plan().gap) as u64
    }

    /// How long a source has to wait before its next tuple, at most; `None` if that is due.
    pub fn wait(&self) -> Option<Duration> {
        if self.plan().gap == 0.0 {
            return None;
        }
        let left = self.due().saturating_sub(self.shared.now());
        (left > 0).then(|| Duration::from_nanos(left).min(LONGEST_SLEEP))
    }

    /// True if a source has a rate.
    pub fn is_paced(&self) -> bool {
        self.plan().gap > 0.0
    }

    /// When a tuple is due; at full speed, of one in so many, now, and 0 of the others.
    pub(crate) fn born(&self, sequence: u64) -> u64 {
        match self.plan().gap {
            gap if gap > 0.0 => self.due().max(1),
            _ if sequence % SAMPLED == 0 => self.shared.now(),
            _ => 0,
        }
    }

    /// The next tuple of a source.
    pub fn make(&mut self) -> Header {
        let sequence = self.executed;
        self.add_to_sum(fingerprint(sequence));
        Header { sequence, born: self.born(sequence), value: value_of(sequence), path: 0 }
    }

    pub(crate) fn add_to_sum(&mut self, fingerprints: u64) {
        self.ending.sum = self.ending.sum.wrapping_add(fingerprints);
    }

    pub fn make_tuple(&mut self) -> Tuple {
        Tuple::new(self.make(), self.shared.plan.payload)
    }

    /// The work of an operator on a tuple that has come by itself.
    pub fn work(&self, header: &mut Header) {
        let plan = self.plan();
        if plan.busy.is_zero() {
            header.value = multiply(header.value, self.factor, plan.cost);
        } else {
            be_busy(plan.busy);
        }
    }

    /// The same on the values of a batch.
    pub fn work_on(&self, values: &mut [f64]) {
        let (plan, factor) = (self.plan(), self.factor);
        if !plan.busy.is_zero() {
            values.iter().for_each(|_| be_busy(plan.busy));
        } else if plan.cost == 1 {
            // an inner loop would take longer than the multiply
            values.iter_mut().for_each(|value| *value *= factor);
        } else if plan.cost < SERIAL_FLOP {
            for value in values {
                *value = multiply(*value, factor, plan.cost);
            }
        } else {
            let nothing = factor - factor; // +0.0, which the compiler does not know
            let mut before = factor;
            for value in values {
                before = multiply(after(*value, before, nothing), factor, plan.cost);
                *value = before;
            }
        }
    }

    /// So many tuples were sent, executed, or received at a sink.
    pub fn count(&mut self, tuples: usize) {
        self.executed += tuples as u64;
        self.tally().executed.store(self.executed, Relaxed);
    }

    /// True if tuples are not executed any more; then it counts these.
    pub fn leaves(&mut self, sequences: &[u64]) -> bool {
        if !self.shared.cut.load(Relaxed) {
            return false;
        }
        for sequence in sequences {
            self.ending.left += 1;
            self.add_to_sum(fingerprint(*sequence));
        }
        true
    }

    /// A tuple has arrived at a sink.
    pub fn arrive(&mut self, header: &Header, payload: &[u8]) {
        let (tally, ending) = (&self.shared.tallies[self.number], &mut self.ending);
        let mixed = fingerprint(header.sequence);
        ending.sum = ending.sum.wrapping_add(mixed);
        if !is_intact(header, payload, mixed) {
            ending.harmed += 1;
        }
        if header.born > 0 {
            let ns = self.shared.now().saturating_sub(header.born);
            let count = &tally.latency[bucket_of(ns)];
            count.store(count.load(Relaxed) + 1, Relaxed);
            tally.longest.store(tally.longest.load(Relaxed).max(ns), Relaxed);
        }
        let path = header.path as usize;
        if path >= ending.next.len() {
            ending.next.resize(path + 1, 0);
        }
        if header.sequence < ending.next[path] {
            ending.out_of_order += 1;
        }
        ending.next[path] = header.sequence + 1;
    }
}

/// What is read while the run goes on. Its operator alone writes it. In lines of its own.
#[repr(align(128))]
pub struct Tally {
    pub executed: AtomicU64,
    pub longest: AtomicU64,
    pub latency: Vec<AtomicU64>,
}

/// What an operator has counted when it ends.
#[derive(Default)]
pub struct Ending {
    pub left: u64,
    pub sum: u64, // of the fingerprints of what was sent, received, or not executed
    pub out_of_order: u64,
    pub harmed: u64,
    next: Vec<u64>, // of a sink, by path: the sequence number after the last one
}

pub struct Shared {
    pub plan: Plan,
    pub stopping: AtomicBool,
    pub cut: AtomicBool,
    pub ended: AtomicU64, // ns since the start; 0: not yet
    pub tallies: Vec<Tally>,
    began: Instant,
}

impl Shared {
    pub fn new(plan: Plan) -> Shared {
        let tally = |_| Tally {
            executed: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            latency: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        };
        Shared {
            tallies: plan.operators.iter().map(tally).collect(),
            plan,
            stopping: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            ended: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// Ns since the start; never 0.
    pub fn now(&self) -> u64 {
        (self.began.elapsed().as_nanos() as u64).max(1)
    }
}

fn be_busy(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn multiply(mut value: f64, factor: f64, cost: u32) -> f64 {
    for _ in 0..cost {
        value *= factor;
    }
    value
}

/// `value` as it is, but not before `before` is known, of which no bit gets through.
fn after(value: f64, before: f64, nothing: f64) -> f64 {
    f64::from_bits(before.to_bits() & nothing.to_bits() | value.to_bits())
}

fn bucket_of(ns: u64) -> usize {
    if ns < 16 {
        return ns as usize;
    }
    let octave = 59 - ns.leading_zeros() as usize;
    ((octave + 1) * 16 + (ns >> octave) as usize - 16).min(BUCKETS - 1)
}

/// Of one dependent multiply: the least of many measurements, as all but the least were disturbed.
pub fn ns_per_flop() -> f64 {
    const FLOP: u32 = 200_000;
    const LONGEST: Duration = Duration::from_millis(100);
    let first = Instant::now();
    let mut least = f64::INFINITY;
    while first.elapsed() < LONGEST {
        let begin = Instant::now();
        assert_eq!(multiply(black_box(1.5), black_box(1.0), FLOP), 1.5);
        least = least.min(begin.elapsed().as_nanos() as f64 / f64::from(FLOP));
    }
    least
}
