// usage: program COUNT: prints the bytes and the allocations it asked for.
use std::thread;

#[inline(never)]
fn ask_once(bytes: usize) -> (u64, u64) {
    let mut text = Vec::<u8>::with_capacity(bytes);
    text.push(1);
    let zeros = std::hint::black_box(vec![0u8; 2 * bytes]);
    std::hint::black_box((&text, zeros.len()));
    (3 * bytes as u64, 2)
}

#[inline(never)]
fn ask_below(depth: u32, bytes: usize) -> (u64, u64) {
    let asked = if depth == 0 { ask_once(bytes) } else { ask_below(depth - 1, bytes) };
    std::hint::black_box(asked)
}

fn work(rounds: usize) -> (u64, u64) {
    (0..rounds).map(|i| ask_below(10, 20 + i % 50)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}

fn main() {
    let rounds: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let other = thread::spawn(move || work(rounds));
    let (bytes, count) = work(rounds);
    let (more_bytes, more_count) = other.join().unwrap();
    println!("parent {} {}", bytes + more_bytes, count + more_count);
}
