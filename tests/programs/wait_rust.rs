// SPDX-License-Identifier: Apache-2.0
//
// What Rust's standard library waits in, all of it by futex: each call is measured by the program itself, and printed as
// wait_told.h says.
use std::sync::{mpsc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

#[repr(C)]
struct Time {
    s: i64,
    ns: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Time) -> i32;
    fn gettid() -> i32;
    fn getrusage(who: i32, usage: *mut i64) -> i32;
}

static LINES: Mutex<Vec<(&str, i32, i64, i64, i64)>> = Mutex::new(Vec::new());

fn now_ns() -> i64 {
    let mut now = Time { s: 0, ns: 0 };
    unsafe { clock_gettime(4, &mut now) }; // CLOCK_MONOTONIC_RAW
    now.s * 1_000_000_000 + now.ns
}

fn preempted() -> i64 {
    let mut usage = [0i64; 18];
    unsafe { getrusage(1, usage.as_mut_ptr()) }; // RUSAGE_THREAD
    usage[17]
}

fn told<R>(kind: &'static str, call: impl FnOnce() -> R) -> R {
    let late = preempted();
    let begin = now_ns();
    let result = call();
    let ns = now_ns() - begin;
    let line = (kind, unsafe { gettid() }, begin, ns, preempted() - late);
    LINES.lock().unwrap().push(line);
    result
}

fn rest(ms: u64) {
    told("Sleep", || thread::sleep(Duration::from_millis(ms)));
}

const ROUNDS: i32 = 20;
static SHARED: Mutex<i32> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();
static CONTENDED: Mutex<i32> = Mutex::new(0);

fn contend() {
    for _ in 0..ROUNDS {
        let hold = told("Futex", || CONTENDED.lock().unwrap());
        rest(2);
        drop(hold);
        rest(1);
    }
}

fn main() {
    let one = thread::spawn(contend);
    let other = thread::spawn(contend);
    one.join().unwrap();
    other.join().unwrap();

    let setter = thread::spawn(|| {
        for _ in 0..ROUNDS {
            rest(2);
            *SHARED.lock().unwrap() += 1;
            CHANGED.notify_one();
        }
    });
    let mut seen = 0;
    let mut value = SHARED.lock().unwrap();
    while seen < ROUNDS {
        while *value == seen {
            value = told("Futex", || CHANGED.wait(value).unwrap());
        }
        seen = *value;
    }
    drop(value);
    setter.join().unwrap();

    let main = thread::current();
    let unparker = thread::spawn(move || {
        for _ in 0..ROUNDS {
            rest(2);
            main.unpark();
        }
    });
    for _ in 0..ROUNDS {
        told("Futex", thread::park);
    }
    unparker.join().unwrap();

    let (sender, receiver) = mpsc::channel();
    let source = thread::spawn(move || {
        for i in 0..ROUNDS {
            rest(2);
            sender.send(i).unwrap();
        }
    });
    for _ in 0..ROUNDS {
        told("Futex", || receiver.recv().unwrap());
    }
    source.join().unwrap();

    for line in LINES.lock().unwrap().iter() {
        println!("wait\t{}\t{}\t{}\t{}\t0\t{}", line.0, line.1, line.2, line.3, line.4);
    }
}
