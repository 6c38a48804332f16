//! The content of a file, stored without its holes.

use std::collections::BTreeMap;

const BLOCK: u64 = 4096;

/// Bytes of a file in blocks; bytes that were never written are zero.
#[derive(Clone, Default)]
pub(super) struct Sparse {
    blocks: BTreeMap<u64, Box<[u8]>>,
    length: u64,
}

impl Sparse {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn write(&mut self, mut at: u64, mut data: &[u8]) {
        self.length = self.length.max(at + data.len() as u64);
        while !data.is_empty() {
            let within = (at % BLOCK) as usize;
            let (piece, rest) = data.split_at(data.len().min(BLOCK as usize - within));
            let block = self.blocks.entry(at / BLOCK).or_insert_with(|| vec![0; BLOCK as usize].into());
            block[within..within + piece.len()].copy_from_slice(piece);
            at += piece.len() as u64;
            data = rest;
        }
    }

    pub(super) fn set_length(&mut self, length: u64) {
        if length < self.length {
            self.blocks.retain(|index, _| index * BLOCK < length);
            if let Some(block) = self.blocks.get_mut(&(length / BLOCK)) {
                block[(length % BLOCK) as usize..].fill(0);
            }
        }
        self.length = length;
    }

    /// The blocks with their offsets, none beyond the length.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.blocks.iter().map(|(index, block)| {
            let offset = index * BLOCK;
            let end = (self.length - offset).min(BLOCK) as usize;
            (offset, &block[..end])
        })
    }
}
