// SPDX-License-Identifier: LGPL-2.1-or-later
//! Reads the first 32 blocks of an NVMe controller, eight commands at a time, and sleeps once for
//! each eight, as batches.c does.
//!
//!     cintio bind 0000:00:03.0 && cargo run -- 0000:00:03.0

mod cintio;

use cintio::{Done, Reader};

const BATCH: u32 = 8;
const BATCHES: u64 = 4;

fn read(address: &str) -> cintio::Result<()> {
    let mut reader = Reader::open(address, BATCH)?;
    let mut done = [Done::default(); BATCH as usize];

    for batch in 0..BATCHES {
        reader.read(batch * u64::from(BATCH), &mut done)?;
        for one in done {
            println!("block {}: status {:x}", one.cookie, one.status);
        }
    }
    Ok(())
}

fn main() {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: cintio-example ADDRESS");
        std::process::exit(2);
    };
    if let Err(fault) = read(&address) {
        eprintln!("cintio-example: {fault}");
        std::process::exit(1);
    }
}
