//! Tuples that travel together, in a box: they share what a channel costs. Its owner is the operator
//! that has it; a sink gives it back, so that nothing is allocated while the run goes on.

use crate::operator::Operator;
use crate::plan::Plan;
use crate::tuple::{fill, Header};
use std::cell::RefCell;
use std::sync::Mutex;

const KEPT: usize = 16; // blocks that a thread exchanges with the others at once

static SPARE: Mutex<Vec<Vec<Box<Block>>>> = Mutex::new(Vec::new());
thread_local!(static MINE: RefCell<Vec<Box<Block>>> = const { RefCell::new(Vec::new()) });

pub struct Block {
    pub headers: Vec<Header>,
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
                headers: Vec::with_capacity(plan.batch),
                payloads: vec![0; plan.batch * plan.payload],
            })
        })
    }

    pub fn give_back(mut self: Box<Block>) {
        self.headers.clear();
        MINE.with_borrow_mut(|mine| {
            mine.push(self);
            if mine.len() == KEPT {
                SPARE.lock().expect("no panic").push(std::mem::take(mine));
            }
        });
    }

    /// Its tuples with their payloads of so many bytes.
    fn tuples(&self, bytes: usize) -> impl Iterator<Item = (&Header, &[u8])> {
        let payload = move |i| &self.payloads[i * bytes..(i + 1) * bytes];
        self.headers.iter().enumerate().map(move |(i, header)| (header, payload(i)))
    }

    pub fn copy(&self, plan: &Plan) -> Box<Block> {
        let mut copy = Block::take(plan);
        let bytes = self.headers.len() * plan.payload;
        copy.headers.extend_from_slice(&self.headers);
        copy.payloads[..bytes].copy_from_slice(&self.payloads[..bytes]);
        copy
    }

    /// The same, behind a stream that adds so much to the paths of its tuples.
    pub fn stepped(mut self: Box<Block>, step: u32) -> Box<Block> {
        if step > 0 {
            self.headers.iter_mut().for_each(|header| header.path += step);
        }
        self
    }

    fn add(&mut self, header: Header, bytes: usize) -> &mut [u8] {
        let i = self.headers.len();
        self.headers.push(header);
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

    /// Adds the next tuple of a source, and counts it. Returns its block, with its port, if that is
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
        block.tuples(plan.payload).filter_map(move |(header, payload)| {
            self.add(plan, *header, |space| space.copy_from_slice(payload))
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
        (self.open[port].headers.len() == plan.batch).then(|| (port, self.replace(port, plan)))
    }

    /// A block that has tuples, and its port. An operator sends them all before it waits.
    pub fn take(&mut self, plan: &Plan) -> Option<(usize, Box<Block>)> {
        let port = self.open.iter().position(|block| !block.headers.is_empty())?;
        Some((port, self.replace(port, plan)))
    }

    fn replace(&mut self, port: usize, plan: &Plan) -> Box<Block> {
        std::mem::replace(&mut self.open[port], Block::take(plan))
    }
}

/// What an operator does with a block.
impl Operator {
    /// Executes its tuples. Returns false if it leaves them, as the run was cut short.
    pub fn execute(&mut self, block: &mut Block) -> bool {
        if self.leaves(&block.headers) {
            return false;
        }
        self.work_on(&mut block.headers);
        self.count(block.headers.len());
        true
    }

    /// The same at a sink, which gives the block back.
    pub fn receive(&mut self, block: Box<Block>) {
        if self.leaves(&block.headers) {
            return;
        }
        for (header, payload) in block.tuples(self.shared.plan.payload) {
            self.arrive(header, payload);
        }
        self.count(block.headers.len());
        block.give_back();
    }
}
