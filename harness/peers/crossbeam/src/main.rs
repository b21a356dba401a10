//! A graph in Rust: a thread an operator, a bounded crossbeam channel before each.

mod blocks;
mod single;

use peer::operator::{Ending, Operator};
use peer::program;
use std::thread;

const STACK: usize = 256 << 10; // bytes of a thread

fn main() {
    program::run(
        |plan| plan.operators.len(),
        |shared| {
            let threads: Vec<_> = if shared.plan.batch == 1 {
                let ends = shared.plan.connect(crossbeam_channel::bounded);
                program::operators(shared)
                    .zip(ends)
                    .map(|(op, (from, to))| spawn(move || single::run(op, from, to)))
                    .collect()
            } else {
                let ends = shared.plan.connect(crossbeam_channel::bounded);
                program::operators(shared)
                    .zip(ends)
                    .map(|(op, (from, to))| spawn(move || blocks::run(op, from, to)))
                    .collect()
            };
            || threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        },
    );
}

fn spawn(body: impl FnOnce() -> Operator + Send + 'static) -> thread::JoinHandle<Ending> {
    let body = || body().end();
    thread::Builder::new().stack_size(STACK).spawn(body).expect("a thread")
}
