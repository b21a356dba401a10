//! A graph in tokio: a task an operator, a bounded channel before each. The runtime has a thread a
//! CPU.

mod blocks;
mod single;

use peer::operator::{Ending, Operator};
use peer::program;
use std::future::Future;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::channel;
use tokio::task::JoinHandle;

fn main() {
    let runtime = Builder::new_multi_thread().enable_time().build().expect("a runtime");
    program::run(
        |_| runtime.metrics().num_workers(),
        |shared| {
            let tasks: Vec<_> = if shared.plan.batch == 1 {
                program::operators(shared)
                    .zip(shared.plan.connect(channel))
                    .map(|(op, (from, to))| spawn(&runtime, single::run(op, from, to)))
                    .collect()
            } else {
                program::operators(shared)
                    .zip(shared.plan.connect(channel))
                    .map(|(op, (from, to))| spawn(&runtime, blocks::run(op, from, to)))
                    .collect()
            };
            let handle = runtime.handle().clone();
            move || tasks.into_iter().map(|task| handle.block_on(task).expect("no panic")).collect()
        },
    );
}

fn spawn(
    runtime: &Runtime,
    body: impl Future<Output = Operator> + Send + 'static,
) -> JoinHandle<Ending> {
    runtime.spawn(async { body.await.end() })
}
