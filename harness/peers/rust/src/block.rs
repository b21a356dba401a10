//! Tuples that travel together, in a box: they share what a channel costs. A vector for each field, so
//! that an operator touches no more than the values, several with an instruction. Its owner is the
//! operator that has it; a sink gives it back, so that nothing is allocated while the run goes on.

use crate::operator::Operator;
use crate::plan::Plan;
use crate::tuple::{fill, fingerprint, value_of, Header};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Mutex;

const KEPT: usize = 16; // blocks that a thread exchanges with the others at once

static SPARE: Mutex<Vec<Vec<Box<Block>>>> = Mutex::new(Vec::new());
thread_local!(static MINE: RefCell<Vec<Box<Block>>> = const { RefCell::new(Vec::new()) });

pub struct Block {
    sequences: Vec<u64>,
    born: Vec<u64>,
    values: Vec<f64>,
    paths: Vec<u32>,
    payloads: Vec<u8>,
}

impl Block {
    pub fn take(plan: &Plan) -> Box<Block> {
        let spare = MINE.with_borrow_mut(|mine| {
            mine.pop().or_else(|| {
                *mine = SPARE.lock().expect("no panic").pop()?;
                mine.pop()
            })
        });
        spare.unwrap_or_else(|| {
            Box::new(Block {
                sequences: Vec::with_capacity(plan.batch),
                born: Vec::with_capacity(plan.batch),
                values: Vec::with_capacity(plan.batch),
                paths: Vec::with_capacity(plan.batch),
                payloads: vec![0; plan.batch * plan.payload],
            })
        })
    }

    pub fn give_back(mut self: Box<Block>) {
        self.sequences.clear();
        self.born.clear();
        self.values.clear();
        self.paths.clear();
        MINE.with_borrow_mut(|mine| {
            mine.push(self);
            if mine.len() == KEPT {
                SPARE.lock().expect("no panic").push(std::mem::take(mine));
            }
        });
    }

    fn len(&self) -> usize {
        self.sequences.len()
    }

    fn header(&self, i: usize) -> Header {
        Header {
            sequence: self.sequences[i],
            born: self.born[i],
            value: self.values[i],
            path: self.paths[i],
        }
    }

    fn payload(&self, i: usize, bytes: usize) -> &[u8] {
        &self.payloads[i * bytes..(i + 1) * bytes]
    }

    pub fn copy(&self, plan: &Plan) -> Box<Block> {
        let mut copy = Block::take(plan);
        let bytes = self.len() * plan.payload;
        copy.sequences.extend_from_slice(&self.sequences);
        copy.born.extend_from_slice(&self.born);
        copy.values.extend_from_slice(&self.values);
        copy.paths.extend_from_slice(&self.paths);
        copy.payloads[..bytes].copy_from_slice(&self.payloads[..bytes]);
        copy
    }

    /// The same, behind a stream that adds so much to the paths of its tuples.
    pub fn stepped(mut self: Box<Block>, step: u32) -> Box<Block> {
        if step > 0 {
            self.paths.iter_mut().for_each(|path| *path += step);
        }
        self
    }

    fn add(&mut self, header: Header, bytes: usize) -> &mut [u8] {
        let i = self.len();
        self.sequences.push(header.sequence);
        self.born.push(header.born);
        self.values.push(header.value);
        self.paths.push(header.path);
        &mut self.payloads[i * bytes..(i + 1) * bytes]
    }
}

/// The blocks that an operator fills: one for each output port, as tuples take the ports in turn.
pub struct Filling {
    open: Vec<Box<Block>>,
    turn: usize,
}

impl Filling {
    pub fn new(ports: usize, plan: &Plan) -> Filling {
        Filling { open: (0..ports).map(|_| Block::take(plan)).collect(), turn: 0 }
    }

    /// Adds the next tuple of a source with a rate, and counts it. Returns its block, with its port, if that is
    /// full.
    pub fn make(&mut self, source: &mut Operator) -> Option<(usize, Box<Block>)> {
        let header = source.make();
        source.count(1);
        self.add(&source.shared.plan, header, |payload| fill(payload, header.sequence))
    }

    /// Adds the tuples of a block. Yields each block that is full, with its port.
    pub fn deal<'a>(
        &'a mut self,
        plan: &'a Plan,
        block: &'a Block,
    ) -> impl Iterator<Item = (usize, Box<Block>)> + 'a {
        (0..block.len()).filter_map(move |i| {
            let payload = block.payload(i, plan.payload);
            self.add(plan, block.header(i), |space| space.copy_from_slice(payload))
        })
    }

    /// Adds a tuple, whose payload `fill` writes.
    fn add(
        &mut self,
        plan: &Plan,
        header: Header,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<(usize, Box<Block>)> {
        let port = self.turn;
        let block = &mut self.open[port];
        fill(block.add(header, plan.payload));
        self.turn = if port + 1 == self.open.len() { 0 } else { port + 1 };
        (self.open[port].len() == plan.batch).then(|| (port, self.replace(port, plan)))
    }

    /// A block that has tuples, and its port. An operator sends them all before it waits.
    pub fn take(&mut self, plan: &Plan) -> Option<(usize, Box<Block>)> {
        let port = self.open.iter().position(|block| block.len() > 0)?;
        Some((port, self.replace(port, plan)))
    }

    fn replace(&mut self, port: usize, plan: &Plan) -> Box<Block> {
        std::mem::replace(&mut self.open[port], Block::take(plan))
    }
}

/// What an operator does with a block.
impl Operator {
    /// The numbers of the tuples that a source at full speed makes next: a block for each port.
    pub fn round(&self, ports: usize) -> Range<u64> {
        let plan = &self.shared.plan;
        let end = self.executed + (ports * plan.batch) as u64;
        self.executed..plan.limit.map_or(end, |limit| end.min(limit))
    }

    /// A block of a source's tuples: the first of these numbers and every so many after it, which
    /// take one port. Counts them.
    pub fn make_block(&mut self, numbers: Range<u64>, every: usize) -> Box<Block> {
        let bytes = self.shared.plan.payload;
        let mut block = Block::take(&self.shared.plan);
        let Block { sequences, born, values, paths, payloads } = &mut *block;
        sequences.extend(numbers.step_by(every));
        values.extend(sequences.iter().map(|sequence| value_of(*sequence)));
        born.extend(sequences.iter().map(|sequence| self.born(*sequence)));
        paths.resize(sequences.len(), 0);
        for (payload, sequence) in payloads.chunks_exact_mut(bytes.max(1)).zip(&*sequences) {
            fill(payload, *sequence);
        }
        let fingerprints = sequences.iter().map(|sequence| fingerprint(*sequence));
        self.add_to_sum(fingerprints.fold(0, u64::wrapping_add));
        self.count(sequences.len());
        block
    }

    /// Executes its tuples. Returns false if it leaves them, as the run was cut short.
    pub fn execute(&mut self, block: &mut Block) -> bool {
        if self.leaves(&block.sequences) {
            return false;
        }
        self.work_on(&mut block.values);
        self.count(block.len());
        true
    }

    /// The same at a sink, which gives the block back.
    pub fn receive(&mut self, block: Box<Block>) {
        if self.leaves(&block.sequences) {
            return;
        }
        let bytes = self.shared.plan.payload;
        for i in 0..block.len() {
            self.arrive(&block.header(i), block.payload(i, bytes));
        }
        self.count(block.len());
        block.give_back();
    }
}
