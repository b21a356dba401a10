//! Boxed blocks of tuples: a channel moves a pointer.

use crossbeam_channel::{Receiver, Sender, TrySendError};
use peer::block::{Block, Filling};
use peer::operator::Operator;
use peer::plan::{Kind, Plan, Ports};
use std::thread;

type From = Receiver<Box<Block>>;
type To = Ports<Sender<Box<Block>>>;

/// How often a thread lets others run before it waits. A channel spins first, which takes CPU time from
/// the thread that it waits for, where threads are more than CPUs.
const YIELDS: u32 = 16;

pub fn run(op: Operator, from: From, to: To) -> Operator {
    match op.kind() {
        Kind::Source if op.is_paced() => paced_source(op, to),
        Kind::Source => source(op, to),
        Kind::Work if to.len() == 1 => work(op, from, to),
        Kind::Work => split(op, from, to),
        Kind::Sink => sink(op, from),
    }
}

fn source(mut op: Operator, to: To) -> Operator {
    let shared = op.shared.clone();
    while op.goes_on() {
        let numbers = op.round(to.len());
        for (first, port) in numbers.clone().zip(&to) {
            let block = op.make_block(first..numbers.end, to.len());
            send(port, block, &shared.plan);
        }
    }
    op
}

/// A source with a rate fills a block for each port at once, as tuples become due.
fn paced_source(mut op: Operator, to: To) -> Operator {
    let shared = op.shared.clone();
    let mut filling = Filling::new(to.len(), &shared.plan);
    while op.goes_on() {
        if let Some(time) = op.wait() {
            send_all(&to, &mut filling, &shared.plan);
            thread::sleep(time);
        } else if let Some((port, block)) = filling.make(&mut op) {
            send(&to[port], block, &shared.plan);
        }
    }
    send_all(&to, &mut filling, &shared.plan);
    op
}

fn work(mut op: Operator, from: From, to: To) -> Operator {
    while let Some(mut block) = receive(&from) {
        if op.execute(&mut block) {
            send(&to[0], block, &op.shared.plan);
        }
    }
    op
}

/// Work, and the split behind it.
fn split(mut op: Operator, from: From, to: To) -> Operator {
    let shared = op.shared.clone();
    let plan = &shared.plan;
    let mut filling = Filling::new(to.len(), plan);
    loop {
        if from.is_empty() {
            send_all(&to, &mut filling, plan);
        }
        let Some(mut block) = receive(&from) else {
            break;
        };
        if op.execute(&mut block) {
            for (port, full) in filling.deal(plan, &block) {
                send(&to[port], full, plan);
            }
            block.give_back();
        }
    }
    send_all(&to, &mut filling, plan);
    op
}

fn sink(mut op: Operator, from: From) -> Operator {
    while let Some(block) = receive(&from) {
        op.receive(block);
    }
    op
}

/// `None` if there will be no more.
fn receive(from: &From) -> Option<Box<Block>> {
    for _ in 0..YIELDS {
        if let Ok(block) = from.try_recv() {
            return Some(block);
        }
        thread::yield_now();
    }
    from.recv().ok()
}

fn hand(to: &Sender<Box<Block>>, mut block: Box<Block>) {
    for _ in 0..YIELDS {
        match to.try_send(block) {
            Err(TrySendError::Full(same)) => block = same,
            sent => return sent.expect("a receiver"),
        }
        thread::yield_now();
    }
    to.send(block).expect("a receiver");
}

/// Blocks that are not full do not wait while the operator does.
fn send_all(to: &To, filling: &mut Filling, plan: &Plan) {
    while let Some((port, block)) = filling.take(plan) {
        send(&to[port], block, plan);
    }
}

/// To every stream of a port: a copy to each but the last.
fn send(to: &[(Sender<Box<Block>>, u32)], block: Box<Block>, plan: &Plan) {
    let ((last, step), others) = to.split_last().expect("a stream from every port");
    for (other, step) in others {
        hand(other, block.copy(plan).stepped(*step));
    }
    hand(last, block.stepped(*step));
}
