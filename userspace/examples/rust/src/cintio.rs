// SPDX-License-Identifier: LGPL-2.1-or-later
//! As much of cintio.h as the example needs, and a thin layer that owns what was opened.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::mem::size_of;
use std::ptr;

/// What went wrong, in a sentence.
pub type Result<T> = std::result::Result<T, String>;

#[repr(C)]
struct Error {
    text: [c_char; 256],
}

#[repr(C)]
struct QueueOptions {
    size: u32,
    mode: c_uint,
    policy: c_uint,
    entries: u16,
    no_interrupts: bool,
    sleep_ns: u64,
}

#[repr(C)]
struct Info {
    size: u32,
    model: [c_char; 41],
    serial: [c_char; 21],
    firmware: [c_char; 9],
    address: [c_char; 16],
    nsid: u32,
    block_size: u32,
    blocks: u64,
}

#[repr(C)]
struct Io {
    op: c_uint,
    hints: u32,
    flags: u32,
    blocks: u32,
    lba: u64,
    ns: *const c_void,
    mem: *mut Mem,
    buf: *mut c_void,
    len: usize,
    vec: *const c_void,
    nr_vecs: usize,
    sqe: *const c_void,
    timeout_ns: u64,
    cookie: u64,
    reserved: [u64; 4],
}

/// How a command ended.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Done {
    pub cookie: u64,
    pub result: u32,
    pub result_high: u32,
    pub status: u16,
    pub flags: u16,
    reserved: [u32; 3],
}

const _: () = assert!(size_of::<QueueOptions>() == 24);
const _: () = assert!(size_of::<Io>() == 128);
const _: () = assert!(size_of::<Done>() == 32);

const READ: c_uint = 0;
const COALESCED: c_uint = 4;
const FOREVER: u64 = u64::MAX;

enum Dev {}
enum Mem {}
enum Q {}

extern "C" {
    fn cintio_open(address: *const c_char, options: *const c_void, dev: *mut *mut Dev,
                   err: *mut Error) -> c_int;
    fn cintio_close(dev: *mut Dev);
    fn cintio_info(dev: *const Dev) -> *const Info;
    fn cintio_alloc(dev: *mut Dev, len: usize, mem: *mut *mut Mem, err: *mut Error) -> c_int;
    fn cintio_free(dev: *mut Dev, mem: *mut Mem);
    fn cintio_mem_addr(mem: *const Mem) -> *mut c_void;
    fn cintio_queue_create(dev: *mut Dev, options: *const QueueOptions, queue: *mut *mut Q,
                           err: *mut Error) -> c_int;
    fn cintio_queue_destroy(queue: *mut Q);
    fn cintio_queue_error(queue: *const Q) -> *const c_char;
    fn cintio_push(queue: *mut Q, io: *const Io) -> c_int;
    fn cintio_complete(queue: *mut Q, done: *mut Done, min: c_uint, max: c_uint,
                       timeout_ns: u64) -> c_int;
}

fn text(at: *const c_char) -> String {
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

fn checked(call: impl FnOnce(*mut Error) -> c_int) -> Result<()> {
    let mut err = Error { text: [0; 256] };
    match call(&mut err) {
        0 => Ok(()),
        _ => Err(text(err.text.as_ptr())),
    }
}

/// A controller with one queue pair and memory for as many blocks as one batch has: a thread's.
pub struct Reader {
    dev: *mut Dev,
    mem: *mut Mem,
    queue: *mut Q,
    pub block_size: u32,
}

impl Reader {
    /// With room for `batch` blocks.
    pub fn open(address: &str, batch: u32) -> Result<Reader> {
        let address = CString::new(address).map_err(|fault| fault.to_string())?;
        let mut reader = Reader {
            dev: ptr::null_mut(), mem: ptr::null_mut(), queue: ptr::null_mut(), block_size: 0,
        };
        let how = QueueOptions {
            size: size_of::<QueueOptions>() as u32, mode: COALESCED, policy: 0, entries: 0,
            no_interrupts: false, sleep_ns: 0,
        };
        unsafe {
            checked(|e| cintio_open(address.as_ptr(), ptr::null(), &mut reader.dev, e))?;
            reader.block_size = (*cintio_info(reader.dev)).block_size;
            let len = (batch * reader.block_size) as usize;
            checked(|e| cintio_alloc(reader.dev, len, &mut reader.mem, e))?;
            checked(|e| cintio_queue_create(reader.dev, &how, &mut reader.queue, e))?;
        }
        Ok(reader)
    }

    fn queue_error(&self) -> String {
        text(unsafe { cintio_queue_error(self.queue) })
    }

    /// Reads as many blocks from `lba` on as `done` has room for; the thread is woken once.
    pub fn read(&mut self, lba: u64, done: &mut [Done]) -> Result<()> {
        for at in 0..done.len() as u64 {
            let io = Io {
                op: READ, hints: 0, flags: 0, blocks: 1, lba: lba + at, ns: ptr::null(),
                mem: self.mem,
                buf: unsafe { cintio_mem_addr(self.mem).add(at as usize * self.block_size as usize) },
                len: 0, vec: ptr::null(), nr_vecs: 0, sqe: ptr::null(), timeout_ns: 0,
                cookie: lba + at, reserved: [0; 4],
            };
            if unsafe { cintio_push(self.queue, &io) } != 0 {
                return Err(self.queue_error());
            }
        }
        let n = done.len() as c_uint;
        match unsafe { cintio_complete(self.queue, done.as_mut_ptr(), n, n, FOREVER) } {
            got if got == n as c_int => Ok(()),
            _ => Err(self.queue_error()),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        unsafe {
            if self.dev.is_null() {
                return;
            }
            cintio_queue_destroy(self.queue);
            cintio_free(self.dev, self.mem);
            cintio_close(self.dev);
        }
    }
}
