//! The graph that a program is told; harness/peers/plan.py says how.

use std::time::Duration;

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Source,
    Work,
    Sink,
}

pub struct Stream {
    pub target: usize,
    pub step: u32, // added to a tuple's path
}

pub struct Operator {
    pub kind: Kind,
    pub cost: u32,
    pub busy: Duration,
    pub gap: f64, // ns from one tuple of a source to the next; 0: full speed
    pub ports: Vec<Vec<Stream>>,
}

#[derive(Default)]
pub struct Plan {
    pub operators: Vec<Operator>,
    pub payload: usize,
    pub batch: usize,
    capacity: usize,
    pub limit: Option<u64>,
}

impl Plan {
    pub fn read(text: &str) -> Plan {
        let mut plan = Plan::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |i: usize| words[i].parse::<usize>().expect("a number");
            match words[0] {
                "payload" => plan.payload = number(1),
                "capacity" => plan.capacity = number(1),
                "batch" => plan.batch = number(1),
                "tuples" => plan.limit = words[1].parse().ok(), // -1: no limit
                "gap" => plan.operators[number(1)].gap = words[2].parse().expect("a number"),
                "operator" => plan.operators.push(Operator {
                    kind: match words[1] {
                        "source" => Kind::Source,
                        "sink" => Kind::Sink,
                        _ => Kind::Work,
                    },
                    cost: number(2) as u32,
                    busy: Duration::from_nanos(number(3) as u64),
                    gap: 0.0,
                    ports: (0..number(4)).map(|_| Vec::new()).collect(),
                }),
                "stream" => plan.operators[number(1)].ports[number(2)]
                    .push(Stream { target: number(3), step: number(4) as u32 }),
                _ => panic!("not a line of a plan: {line}"),
            }
        }
        plan
    }

    /// Messages that a channel holds: tuples, or batches of them.
    pub fn capacity(&self) -> usize {
        (self.capacity / self.batch).max(1)
    }

    /// Makes a channel before each operator. Returns the receiving end of each operator's, and the
    /// sending ends behind its output ports.
    pub fn connect<S: Clone, R>(
        &self,
        channel: impl Fn(usize) -> (S, R),
    ) -> impl Iterator<Item = (R, Ports<S>)> {
        let (senders, receivers): (Vec<S>, Vec<R>) =
            self.operators.iter().map(|_| channel(self.capacity())).unzip();
        let end = |stream: &Stream| (senders[stream.target].clone(), stream.step);
        let ports: Vec<Ports<S>> = self
            .operators
            .iter()
            .map(|operator| {
                operator.ports.iter().map(|port| port.iter().map(end).collect()).collect()
            })
            .collect();
        receivers.into_iter().zip(ports)
    }
}

/// By output port: the streams that leave it, each with what it adds to a tuple's path.
pub type Ports<S> = Vec<Vec<(S, u32)>>;
