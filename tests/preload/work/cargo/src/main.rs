// SPDX-License-Identifier: MIT
fn main() {
    println!("weight {}", work::grow(7, 3).weight());
    println!("exchange {}", work::exchange(5, 300));
    let index = work::index(60_000);
    println!("index {} {:?}", index.len(), index.iter().nth(100));
}
