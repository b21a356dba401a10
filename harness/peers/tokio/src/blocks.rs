//! Boxed blocks of tuples: a channel moves a pointer.

use peer::block::{Block, Filling};
use peer::operator::Operator;
use peer::plan::{Kind, Plan, Ports};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::block_in_place;

type From = Receiver<Box<Block>>;
type To = Ports<Sender<Box<Block>>>;

pub async fn run(op: Operator, from: From, to: To) -> Operator {
    match op.kind() {
        Kind::Source if op.is_paced() => paced_source(op, to).await,
        Kind::Source => source(op, to).await,
        Kind::Work if to.len() == 1 => work(op, from, to).await,
        Kind::Work => split(op, from, to).await,
        Kind::Sink => sink(op, from).await,
    }
}

async fn source(mut op: Operator, to: To) -> Operator {
    let shared = op.shared.clone();
    while op.goes_on() {
        let numbers = op.round(to.len());
        for (first, port) in numbers.clone().zip(&to) {
            let block = op.make_block(first..numbers.end, to.len());
            send(port, block, &shared.plan).await;
        }
    }
    op
}

/// A source with a rate fills a block for each port at once, as tuples become due.
async fn paced_source(mut op: Operator, to: To) -> Operator {
    let shared = op.shared.clone();
    let mut filling = Filling::new(to.len(), &shared.plan);
    while op.goes_on() {
        if let Some(time) = op.wait() {
            send_all(&to, &mut filling, &shared.plan).await;
            block_in_place(|| std::thread::sleep(time));
        } else if let Some((port, block)) = filling.make(&mut op) {
            send(&to[port], block, &shared.plan).await;
        }
    }
    send_all(&to, &mut filling, &shared.plan).await;
    op
}

async fn work(mut op: Operator, mut from: From, to: To) -> Operator {
    while let Some(mut block) = from.recv().await {
        if op.execute(&mut block) {
            send(&to[0], block, &op.shared.plan).await;
        }
    }
    op
}

/// Work, and the split behind it.
async fn split(mut op: Operator, mut from: From, to: To) -> Operator {
    let shared = op.shared.clone();
    let plan = &shared.plan;
    let mut filling = Filling::new(to.len(), plan);
    loop {
        if from.is_empty() {
            send_all(&to, &mut filling, plan).await;
        }
        let Some(mut block) = from.recv().await else {
            break;
        };
        if op.execute(&mut block) {
            for (port, full) in filling.deal(plan, &block) {
                send(&to[port], full, plan).await;
            }
            block.give_back();
        }
    }
    send_all(&to, &mut filling, plan).await;
    op
}

async fn sink(mut op: Operator, mut from: From) -> Operator {
    while let Some(block) = from.recv().await {
        op.receive(block);
    }
    op
}

/// Blocks that are not full do not wait while the operator does.
async fn send_all(to: &To, filling: &mut Filling, plan: &Plan) {
    while let Some((port, block)) = filling.take(plan) {
        send(&to[port], block, plan).await;
    }
}

/// To every stream of a port: a copy to each but the last.
async fn send(to: &[(Sender<Box<Block>>, u32)], block: Box<Block>, plan: &Plan) {
    let ((last, step), others) = to.split_last().expect("a stream from every port");
    for (other, step) in others {
        other.send(block.copy(plan).stepped(*step)).await.expect("a receiver");
    }
    last.send(block.stepped(*step)).await.expect("a receiver");
}
