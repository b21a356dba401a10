//! A graph in Rust: a thread an operator, a bounded crossbeam channel before each; tuples travel by value.
//!
//! What it is told and what it answers: harness/peers/plan.py and harness/peers/program.py.

mod operator;
mod tuple;

use operator::{execute, ns_per_flop, Ending, Operator, Shared, BUCKETS};
use std::io::{BufRead, Write};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{mpsc, Arc};
use std::time::Duration;

const STACK: usize = 256 << 10; // bytes of a thread

fn read_plan(file: &str) -> (Vec<Operator>, Shared) {
    let text = std::fs::read_to_string(file).expect("the plan");
    let mut operators: Vec<Operator> = Vec::new();
    let (mut payload, mut capacity, mut limit) = (0, 0, -1);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words[i].parse::<i64>().expect("a number");
        match words[0] {
            "payload" => payload = number(1) as usize,
            "capacity" => capacity = number(1) as usize,
            "tuples" => limit = number(1),
            "operator" => {
                operators.push(Operator::new(
                    words[1],
                    number(2) as u32,
                    number(3) as u64,
                    number(4) as usize,
                    capacity,
                ));
            }
            "stream" => {
                let target = number(3) as usize;
                let sender = operators[target].sender.clone();
                operators[target].arriving += 1;
                operators[number(1) as usize].ports[number(2) as usize].push((sender, number(4) as u32));
            }
            _ => panic!("not a line of a plan: {line}"),
        }
    }
    (operators, Shared::new(payload, limit))
}

fn list<T: std::fmt::Display>(numbers: impl Iterator<Item = T>) -> String {
    let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("[{}]", words.join(","))
}

fn counts(shared: &Shared) -> String {
    let mut latency = Vec::new();
    for bucket in 0..BUCKETS {
        let count: u64 = shared.tallies.iter().map(|tally| tally.latency[bucket].load(Relaxed)).sum();
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
        shared
            .tallies
            .iter()
            .map(|tally| tally.longest.load(Relaxed))
            .max()
            .unwrap_or(0),
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

fn main() {
    let file = std::env::args().nth(1).expect("the file with the plan");
    let (operators, mut shared) = read_plan(&file);
    shared.make_tallies(operators.len());
    let mut waiting = Some(operators);
    let mut shared = Some(shared);
    let mut running: Option<(Arc<Shared>, mpsc::Receiver<Vec<Ending>>)> = None;
    answer("ready", &format!("\"threads\":{}", waiting.as_ref().map_or(0, Vec::len)));
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a word");
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["start"] => {
                let mut shared = shared.take().expect("one start");
                shared.begin();
                let shared = Arc::new(shared);
                running = Some((shared.clone(), start(waiting.take().expect("one start"), shared)));
                answer("started", "");
            }
            ["sample"] => answer("sample", &counts(&running.as_ref().expect("a start").0)),
            ["stop", ms] => {
                let (shared, ended) = running.as_ref().expect("a start");
                shared.stopping.store(true, Release);
                let limit = Duration::from_millis(ms.parse().expect("ms"));
                let endings = ended.recv_timeout(limit).unwrap_or_else(|_| {
                    shared.cut.store(true, Release);
                    ended.recv().expect("an end")
                });
                answer("totals", &totals(shared, &endings));
                return;
            }
            _ => panic!("not a word: {line}"),
        }
    }
}

/// Starts a thread for each operator; what they counted is received when all have ended.
fn start(operators: Vec<Operator>, shared: Arc<Shared>) -> mpsc::Receiver<Vec<Ending>> {
    let spawn =
        |body: Box<dyn FnOnce() -> Ending + Send>| std::thread::Builder::new().stack_size(STACK).spawn(body).expect("a thread");
    let threads: Vec<_> = operators
        .into_iter()
        .enumerate()
        .map(|(number, operator)| {
            let shared = shared.clone();
            spawn(Box::new(move || execute(operator, number, &shared)))
        })
        .collect();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let endings = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        shared.ended.store(shared.now(), Release);
        tell.send(endings).ok();
    });
    told
}
