// SPDX-License-Identifier: MIT
//! Work for cargo and rustc: traits, generics, collections and threads, in a library, a program and a test.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

pub trait Shape: Send {
    fn weight(&self) -> u64;
}

pub struct Leaf(pub String);
pub struct Branch(pub Vec<Box<dyn Shape>>);

impl Shape for Leaf {
    fn weight(&self) -> u64 {
        self.0.bytes().fold(7, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte))
    }
}

impl Shape for Branch {
    fn weight(&self) -> u64 {
        self.0.iter().map(|child| child.weight()).sum()
    }
}

pub fn grow(depth: u32, seed: u32) -> Box<dyn Shape> {
    if depth == 0 {
        Box::new(Leaf(format!("{seed}").repeat(1 + seed as usize % 40)))
    } else {
        Box::new(Branch((0..4).map(|child| grow(depth - 1, (seed * 5 + child) % 1009)).collect()))
    }
}

/// Blocks made by some threads and dropped by others.
pub fn exchange(makers: u32, rounds: u32) -> u64 {
    let (sender, receiver) = mpsc::sync_channel::<Vec<u8>>(32);
    let receiver = Arc::new(Mutex::new(receiver));
    let making: Vec<_> = (0..makers)
        .map(|maker| {
            let sender = sender.clone();
            thread::spawn(move || {
                for round in 0..rounds {
                    let mut block = Vec::new();
                    for byte in 0..(maker * 31 + round * 7) % 3000 {
                        block.push(byte as u8);
                    }
                    sender.send(block).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let taking: Vec<_> = (0..3)
        .map(|_| {
            let receiver = Arc::clone(&receiver);
            thread::spawn(move || {
                let mut sum = 0u64;
                loop {
                    let next = receiver.lock().unwrap().recv();
                    match next {
                        Ok(block) => sum += block.iter().map(|&byte| u64::from(byte)).sum::<u64>(),
                        Err(_) => return sum,
                    }
                }
            })
        })
        .collect();
    making.into_iter().for_each(|thread| thread.join().unwrap());
    taking.into_iter().map(|thread| thread.join().unwrap()).sum()
}

pub fn index(count: u32) -> BTreeMap<String, VecDeque<u32>> {
    let mut found: HashMap<String, VecDeque<u32>> = HashMap::new();
    for i in 0..count {
        let list = found.entry(format!("key{}", i * 7919 % 5003)).or_default();
        list.push_back(i);
        if list.len() > 9 {
            list.pop_front();
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn weighs() {
        assert_eq!(super::grow(0, 3).weight(), super::grow(0, 3).weight());
    }

    #[test]
    fn exchanges() {
        assert!(super::exchange(2, 50) > 0);
    }
}
