//! Boxed blocks of tuples: a channel moves a pointer.

use crossbeam_channel::{Receiver, Sender};
use peer::block::{Block, Filling};
use peer::operator::Operator;
use peer::plan::{Kind, Plan, Ports};
use std::thread;

type From = Receiver<Box<Block>>;
type To = Ports<Sender<Box<Block>>>;

pub fn run(op: Operator, from: From, to: To) -> Operator {
    match op.kind() {
        Kind::Source => source(op, to),
        Kind::Work if to.len() == 1 => work(op, from, to),
        Kind::Work => split(op, from, to),
        Kind::Sink => sink(op, from),
    }
}

fn source(mut op: Operator, to: To) -> Operator {
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
    for mut block in from {
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
        let Ok(mut block) = from.recv() else { break };
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
    for block in from {
        op.receive(block);
    }
    op
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
        other.send(block.copy(plan).stepped(*step)).expect("a receiver");
    }
    last.send(block.stepped(*step)).expect("a receiver");
}
