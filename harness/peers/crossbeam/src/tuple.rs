const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
const MIXER: u64 = 0xD6E8_FEB8_6659_FD93;
pub const INLINE: usize = 128; // bytes of a payload that lie in the tuple, as in ours; a longer one is allocated by the source

#[derive(Clone)]
pub struct Tuple {
    pub sequence: u64,
    pub born: u64, // ns since the start; 0: its latency is not taken
    pub value: f64,
    pub path: u32,
    payload: [u8; INLINE],
    more: Option<Box<[u8]>>,
}

pub fn fingerprint(sequence: u64) -> u64 {
    let mixed = (sequence + 1).wrapping_mul(GOLDEN);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(MIXER);
    mixed ^ mixed >> 32
}

pub fn value_of(sequence: u64) -> f64 {
    1.0 + (sequence & 1023) as f64 / 1024.0
}

impl Tuple {
    pub fn new(sequence: u64, born: u64, payload: usize) -> Tuple {
        let more = (payload > INLINE).then(|| vec![0; payload].into_boxed_slice());
        let mut made = Tuple {
            sequence,
            born,
            value: value_of(sequence),
            path: 0,
            payload: [0; INLINE],
            more,
        };
        let base = sequence.wrapping_mul(GOLDEN);
        let space: &mut [u8] = match &mut made.more {
            Some(more) => more,
            None => &mut made.payload[..payload],
        };
        for (i, word) in space.chunks_mut(8).enumerate() {
            let bytes = base.wrapping_add(i as u64).to_le_bytes();
            word.copy_from_slice(&bytes[..word.len()]);
        }
        made
    }

    /// Looks at the value, at the first and the last whole word, and at one between that changes from tuple to tuple.
    pub fn is_intact(&self, payload: usize) -> bool {
        let space: &[u8] = match &self.more {
            Some(more) => more,
            None => &self.payload[..payload],
        };
        let words = space.len() / 8;
        let base = self.sequence.wrapping_mul(GOLDEN);
        let is_as_made = |i: usize| space[8 * i..8 * i + 8] == base.wrapping_add(i as u64).to_le_bytes();
        let between = ((fingerprint(self.sequence) >> 32) * words as u64 >> 32) as usize;
        self.value == value_of(self.sequence) && (words == 0 || is_as_made(0) && is_as_made(words - 1) && is_as_made(between))
    }
}
