//! Tuples by value, one a send.

use peer::operator::Operator;
use peer::plan::{Kind, Ports};
use peer::tuple::Tuple;
use std::slice::from_ref;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::sleep;

pub async fn run(op: Operator, from: Receiver<Tuple>, to: Ports<Sender<Tuple>>) -> Operator {
    match op.kind() {
        Kind::Source => source(op, to).await,
        Kind::Work => work(op, from, to).await,
        Kind::Sink => sink(op, from).await,
    }
}

async fn source(mut op: Operator, to: Ports<Sender<Tuple>>) -> Operator {
    let mut turn = 0;
    while op.goes_on() {
        match op.wait() {
            Some(time) => sleep(time).await,
            None => {
                send(&to, &mut turn, op.make_tuple()).await;
                op.count(1);
            }
        }
    }
    op
}

async fn work(mut op: Operator, mut from: Receiver<Tuple>, to: Ports<Sender<Tuple>>) -> Operator {
    let mut turn = 0;
    while let Some(mut tuple) = from.recv().await {
        if !op.leaves(from_ref(&tuple.header.sequence)) {
            op.work(&mut tuple.header);
            send(&to, &mut turn, tuple).await;
            op.count(1);
        }
    }
    op
}

async fn sink(mut op: Operator, mut from: Receiver<Tuple>) -> Operator {
    while let Some(tuple) = from.recv().await {
        if !op.leaves(from_ref(&tuple.header.sequence)) {
            op.arrive(&tuple.header, &tuple.payload);
            op.count(1);
        }
    }
    op
}

/// Tuples take the output ports in turn, and there every stream.
async fn send(to: &[Vec<(Sender<Tuple>, u32)>], turn: &mut usize, tuple: Tuple) {
    let ((last, step), others) = to[*turn].split_last().expect("a stream from every port");
    for (other, step) in others {
        other.send(tuple.clone().stepped(*step)).await.expect("a receiver");
    }
    last.send(tuple.stepped(*step)).await.expect("a receiver");
    *turn = if *turn + 1 == to.len() { 0 } else { *turn + 1 };
}
