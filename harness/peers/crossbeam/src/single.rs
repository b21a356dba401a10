//! Tuples by value, one a send.

use crossbeam_channel::{Receiver, Sender};
use peer::operator::Operator;
use peer::plan::{Kind, Ports};
use peer::tuple::Tuple;
use std::slice::from_ref;
use std::thread;

pub fn run(op: Operator, from: Receiver<Tuple>, to: Ports<Sender<Tuple>>) -> Operator {
    match op.kind() {
        Kind::Source => source(op, to),
        Kind::Work => work(op, from, to),
        Kind::Sink => sink(op, from),
    }
}

fn source(mut op: Operator, to: Ports<Sender<Tuple>>) -> Operator {
    let mut turn = 0;
    while op.goes_on() {
        match op.wait() {
            Some(time) => thread::sleep(time),
            None => {
                send(&to, &mut turn, op.make_tuple());
                op.count(1);
            }
        }
    }
    op
}

fn work(mut op: Operator, from: Receiver<Tuple>, to: Ports<Sender<Tuple>>) -> Operator {
    let mut turn = 0;
    for mut tuple in from {
        if !op.leaves(from_ref(&tuple.header.sequence)) {
            op.work(&mut tuple.header);
            send(&to, &mut turn, tuple);
            op.count(1);
        }
    }
    op
}

fn sink(mut op: Operator, from: Receiver<Tuple>) -> Operator {
    for tuple in from {
        if !op.leaves(from_ref(&tuple.header.sequence)) {
            op.arrive(&tuple.header, &tuple.payload);
            op.count(1);
        }
    }
    op
}

/// Tuples take the output ports in turn, and there every stream.
fn send(to: &[Vec<(Sender<Tuple>, u32)>], turn: &mut usize, tuple: Tuple) {
    let ((last, step), others) = to[*turn].split_last().expect("a stream from every port");
    for (other, step) in others {
        other.send(tuple.clone().stepped(*step)).expect("a receiver");
    }
    last.send(tuple.stepped(*step)).expect("a receiver");
    *turn = if *turn + 1 == to.len() { 0 } else { *turn + 1 };
}
