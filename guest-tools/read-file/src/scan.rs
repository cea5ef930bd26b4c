//! One pass over a file: what it is, and the lines that were asked for.

use ringfence_tool::files::Fingerprint;
use ringfence_tool::sheet::MAX_CHARACTERS;

/// Bytes of lines that are held. A character has at most four, so what lies beyond could not be shown anyway.
const MAX_HELD: usize = 4 * MAX_CHARACTERS + 4;

/// What is known of a file that was read from start to end.
pub(crate) struct Scan {
    fingerprint: Fingerprint,
    utf8: Utf8,
    has_nul: bool,
    breaks: u64,
    /// Whether there are bytes after the last line break.
    open_line: bool,
    first: u64,
    limit: u64,
    held: Vec<u8>,
}

impl Scan {
    /// Will hold `limit` lines from line `first` on.
    pub(crate) fn new(first: u64, limit: u64) -> Self {
        Self {
            fingerprint: Fingerprint::default(),
            utf8: Utf8::default(),
            has_nul: false,
            breaks: 0,
            open_line: false,
            first,
            limit,
            held: Vec::new(),
        }
    }

    /// Takes the next bytes of the file.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.fingerprint.add(piece);
        self.utf8.add(piece);
        self.has_nul |= piece.contains(&0);
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            self.hold(line);
            let ended = line.ends_with(b"\n");
            self.breaks += u64::from(ended);
            self.open_line = !ended;
        }
    }

    /// Tells that nothing follows.
    pub(crate) fn end(&mut self) {
        self.utf8.end();
    }

    /// Whether this is UTF-8 without NUL.
    pub(crate) fn is_text(&self) -> bool {
        self.is_utf8() && !self.has_nul
    }

    /// Whether this is UTF-8.
    pub(crate) fn is_utf8(&self) -> bool {
        self.utf8.valid
    }

    /// The mark of the whole content.
    pub(crate) fn fingerprint(&self) -> String {
        self.fingerprint.finish()
    }

    /// How many lines there are; bytes after the last line break are one.
    pub(crate) fn total_lines(&self) -> u64 {
        self.breaks + u64::from(self.open_line)
    }

    /// The number of the first line that is held.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The lines that are held, without their ends. The last may lack its tail: it is too long to be shown then.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.held.split_inclusive(|byte| *byte == b'\n').map(|line| match line.strip_suffix(b"\n") {
            Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
            None => line,
        })
    }

    /// Holds this part of the current line, if it is one of those asked for.
    fn hold(&mut self, part: &[u8]) {
        let line = self.breaks + 1;
        let wanted = line >= self.first && line - self.first < self.limit;
        if wanted {
            let room = MAX_HELD.saturating_sub(self.held.len());
            self.held.extend_from_slice(part.get(..room).unwrap_or(part));
        }
    }
}

/// Whether bytes that come in pieces are UTF-8.
struct Utf8 {
    valid: bool,
    /// The start of a character whose rest is in the next piece.
    rest: Vec<u8>,
}

impl Default for Utf8 {
    fn default() -> Self {
        Self { valid: true, rest: Vec::new() }
    }
}

impl Utf8 {
    fn add(&mut self, piece: &[u8]) {
        if !self.valid {
            return;
        }
        let joined;
        let bytes = if self.rest.is_empty() {
            piece
        } else {
            joined = [self.rest.as_slice(), piece].concat();
            joined.as_slice()
        };
        self.rest = match std::str::from_utf8(bytes) {
            Ok(_) => Vec::new(),
            Err(error) => {
                self.valid = error.error_len().is_none();
                bytes.get(error.valid_up_to()..).filter(|_| self.valid).unwrap_or_default().to_vec()
            }
        };
    }

    fn end(&mut self) {
        self.valid &= self.rest.is_empty();
    }
}
