//! What a program is asked, and its answers: harness/peers/program.py has both.

use crate::operator::{ns_per_flop, Ending, Operator, Shared, BUCKETS};
use crate::plan::Plan;
use std::io::{BufRead, Write};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{mpsc, Arc};
use std::time::Duration;

/// Executes the plan in the file that is the last argument. `threads` that execute operators are
/// reported; `start` starts the operators, and returns a function that waits until they have ended.
pub fn run<Wait>(threads: impl Fn(&Plan) -> usize, start: impl Fn(&Arc<Shared>) -> Wait)
where
    Wait: FnOnce() -> Vec<Ending> + Send + 'static,
{
    let file = std::env::args().nth(1).expect("the file with the plan");
    let plan = Plan::read(&std::fs::read_to_string(file).expect("the plan"));
    let capacity = plan.capacity() * plan.batch;
    answer("ready", &format!("\"threads\":{},\"capacity\":{capacity}", threads(&plan)));
    let mut shared = Shared::new(plan);
    let mut lines = std::io::stdin().lock().lines();
    assert_eq!(lines.next().expect("a word").expect("a word"), "start");
    shared.begin();
    let shared = Arc::new(shared);
    let ended = await_in_thread(&shared, start(&shared));
    answer("started", "");
    for line in lines {
        let line = line.expect("a word");
        match line.split_once(' ') {
            None if line == "sample" => answer("sample", &counts(&shared)),
            Some(("stop", ms)) => {
                shared.stopping.store(true, Release);
                let limit = Duration::from_millis(ms.parse().expect("ms"));
                let endings = ended.recv_timeout(limit).unwrap_or_else(|_| {
                    shared.cut.store(true, Release);
                    ended.recv().expect("an end")
                });
                answer("totals", &totals(&shared, &endings));
                return;
            }
            _ => panic!("not a word: {line}"),
        }
    }
}

fn await_in_thread(
    shared: &Arc<Shared>,
    wait: impl FnOnce() -> Vec<Ending> + Send + 'static,
) -> mpsc::Receiver<Vec<Ending>> {
    let (tell, told) = mpsc::channel();
    let shared = shared.clone();
    std::thread::spawn(move || {
        let endings = wait();
        shared.ended.store(shared.now(), Release);
        tell.send(endings).ok();
    });
    told
}

/// The operators of a plan, ready to run.
pub fn operators(shared: &Arc<Shared>) -> impl Iterator<Item = Operator> + '_ {
    (0..shared.plan.operators.len()).map(|number| Operator::new(shared, number))
}

fn list<T: std::fmt::Display>(numbers: impl Iterator<Item = T>) -> String {
    let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("[{}]", words.join(","))
}

fn counts(shared: &Shared) -> String {
    let mut latency = Vec::new();
    for bucket in 0..BUCKETS {
        let count: u64 =
            shared.tallies.iter().map(|tally| tally.latency[bucket].load(Relaxed)).sum();
        if count > 0 {
            latency.extend([bucket as u64, count]);
        }
    }
    let ended = shared.ended.load(Acquire);
    format!(
        "\"ns\":{},\"executed\":{},\"latency\":{},\"longest\":{},\"finished\":{}",
        if ended > 0 { ended } else { shared.now() },
        list(shared.tallies.iter().map(|tally| tally.executed.load(Relaxed))),
        list(latency.into_iter()),
        shared.tallies.iter().map(|tally| tally.longest.load(Relaxed)).max().unwrap_or(0),
        ended > 0,
    )
}

fn totals(shared: &Shared, endings: &[Ending]) -> String {
    format!(
        "{},\"drained\":{},\"left\":{},\"sums\":{},\"out_of_order\":{},\"harmed\":{},\"ns_per_flop\":{}",
        counts(shared),
        endings.iter().all(|ending| ending.left == 0),
        list(endings.iter().map(|ending| ending.left)),
        list(endings.iter().map(|ending| ending.sum)),
        endings.iter().map(|ending| ending.out_of_order).sum::<u64>(),
        endings.iter().map(|ending| ending.harmed).sum::<u64>(),
        ns_per_flop(),
    )
}

fn answer(word: &str, told: &str) {
    println!("{{\"{word}\":{{{told}}}}}");
    std::io::stdout().flush().expect("somebody who reads");
}
