//! Reading a file piece by piece, and telling two contents apart.

use super::Stat;
use std::hash::Hasher as _;
use std::io;
use wasip2::filesystem::types::Descriptor;

/// Bytes that are asked for at once.
const CHUNK: u64 = 64 * 1024;

/// An open file. Reads go to the host in pieces of at most 64 KiB.
#[derive(Debug)]
pub struct Reader {
    file: Descriptor,
    stat: Stat,
    offset: u64,
    piece: Vec<u8>,
    used: usize,
    ended: bool,
}

impl Reader {
    pub(super) fn new(file: Descriptor, stat: Stat) -> Self {
        Self { file, stat, offset: 0, piece: Vec::new(), used: 0, ended: false }
    }

    /// What was known of the file when it was opened.
    pub fn stat(&self) -> Stat {
        self.stat
    }
}

impl io::Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.piece.len() {
            if self.ended || buffer.is_empty() {
                return Ok(0);
            }
            let (piece, ended) =
                self.file.read(CHUNK, self.offset).map_err(|code| io::Error::other(code.message()))?;
            self.offset += piece.len() as u64;
            self.ended = ended || piece.is_empty();
            self.piece = piece;
            self.used = 0;
        }
        let rest = self.piece.get(self.used..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.used += count;
        Ok(count)
    }
}

/// A short mark of a content: two contents with different marks differ. Not for secrets.
pub fn fingerprint(content: &[u8]) -> String {
    let mut mark = Fingerprint::default();
    mark.add(content);
    mark.finish()
}

/// The mark that [`fingerprint`] gives, for a content that comes in pieces.
#[derive(Debug, Default)]
pub struct Fingerprint {
    hasher: std::hash::DefaultHasher,
    length: u64,
}

impl Fingerprint {
    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        // The hasher takes bytes as a stream: where they are cut does not matter.
        self.hasher.write(piece);
        self.length += piece.len() as u64;
    }

    /// The mark of all pieces together.
    pub fn finish(&self) -> String {
        format!("{:016x}-{}", self.hasher.finish(), self.length)
    }
}
