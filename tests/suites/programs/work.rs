// Threads, a panic that is caught in one of them, channels, a child process.
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

fn chew(seed: u64) -> u64 {
    let mut map = BTreeMap::new();
    let mut state = seed;
    for i in 0..20000u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(i);
        map.entry(state >> 54).or_insert_with(Vec::new).push(format!("{state}"));
    }
    map.values().map(|list| list.iter().map(String::len).sum::<usize>() as u64).sum()
}

fn main() {
    // The default message holds the thread's number.
    std::panic::set_hook(Box::new(|panic| eprintln!("panic at {}", panic.location().unwrap())));
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..16)
        .map(|seed| {
            let sender = sender.clone();
            thread::spawn(move || sender.send((seed, chew(seed))).unwrap())
        })
        .collect();
    drop(sender);
    let mut results: Vec<_> = receiver.iter().collect();
    results.sort();
    println!("{results:?}");
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let died = thread::spawn(|| {
        let list = vec![1; 100];
        println!("{}", list[list.len()]);
    });
    println!("panicked: {}", died.join().is_err());
    let child = Command::new("sh").args(["-c", "exit 9"]).status().unwrap();
    std::process::exit(child.code().unwrap());
}
