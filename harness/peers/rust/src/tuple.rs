use std::mem::MaybeUninit;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
const MIXER: u64 = 0xD6E8_FEB8_6659_FD93;

#[derive(Clone, Copy)]
pub struct Header {
    pub sequence: u64,
    pub born: u64, // ns since the start; 0: its latency is not taken
    pub value: f64,
    pub path: u32,
}

/// A tuple that travels by itself, by value, with a payload that its source allocates.
#[derive(Clone)]
pub struct Tuple {
    pub header: Header,
    pub payload: Box<[u8]>,
}

impl Tuple {
    pub fn new(header: Header, bytes: usize) -> Tuple {
        let mut payload = Box::new_uninit_slice(bytes);
        fill_new(&mut payload, header.sequence);
        // SAFETY: `fill_new` has written every byte.
        Tuple { header, payload: unsafe { payload.assume_init() } }
    }

    /// The same, behind a stream that adds so much to its path.
    pub fn stepped(mut self, step: u32) -> Tuple {
        self.header.path += step;
        self
    }
}

pub fn fingerprint(sequence: u64) -> u64 {
    let mixed = (sequence + 1).wrapping_mul(GOLDEN);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(MIXER);
    mixed ^ mixed >> 32
}

pub fn value_of(sequence: u64) -> f64 {
    1.0 + (sequence & 1023) as f64 / 1024.0
}

pub fn fill(space: &mut [u8], sequence: u64) {
    // SAFETY: bytes have the same layout, and `fill_new` writes nothing but bytes.
    fill_new(unsafe { &mut *(space as *mut [u8] as *mut [MaybeUninit<u8>]) }, sequence);
}

/// Eight words at a time first, then whole words: their length is known to the compiler, which makes
/// a vector of eight.
fn fill_new(space: &mut [MaybeUninit<u8>], sequence: u64) {
    let mut word = sequence.wrapping_mul(GOLDEN);
    let mut lines = space.chunks_exact_mut(64);
    for line in &mut lines {
        let words: [u64; 8] = std::array::from_fn(|i| word.wrapping_add(i as u64));
        for (space, word) in line.chunks_exact_mut(8).zip(words) {
            write(space, word);
        }
        word = word.wrapping_add(8);
    }
    for space in lines.into_remainder().chunks_mut(8) {
        write(space, word);
        word = word.wrapping_add(1);
    }
}

/// Writes a word, or as many bytes of it as there is space for.
fn write(space: &mut [MaybeUninit<u8>], word: u64) {
    for (to, from) in space.iter_mut().zip(word.to_le_bytes()) {
        to.write(from);
    }
}

/// Looks at the value, at the first and the last whole word, at the bytes after it, and at one word
/// between that changes from tuple to tuple.
pub fn is_intact(header: &Header, space: &[u8], mixed: u64) -> bool {
    let words = space.len() / 8;
    let base = header.sequence.wrapping_mul(GOLDEN);
    let is_as_made =
        |i: usize| space[8 * i..8 * i + 8] == base.wrapping_add(i as u64).to_le_bytes();
    let between = ((mixed >> 32) * words as u64 >> 32) as usize;
    header.value == value_of(header.sequence)
        && (words == 0 || is_as_made(0) && is_as_made(words - 1) && is_as_made(between))
        && (space.len() % 8 == 0 || is_rest(&space[8 * words..], base.wrapping_add(words as u64)))
}

/// Apart from the words, which then take less.
#[cold]
#[inline(never)]
fn is_rest(space: &[u8], word: u64) -> bool {
    space.iter().zip(word.to_le_bytes()).all(|(found, made)| *found == made)
}
