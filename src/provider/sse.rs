//! Server-sent events, as far as model services use them.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its data lines, joined by line ends.
    pub data: String,
}

/// A line or an event that is longer than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it sent a line of more than {0} bytes")]
pub struct TooLong(pub usize);

/// Takes bytes as they come and gives events. Where the bytes are cut makes no difference.
#[derive(Debug)]
pub struct Parser {
    most: usize,
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    /// The byte before was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    first_line: bool,
}

impl Parser {
    /// A parser for events and lines of at most that many bytes.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            name: String::new(),
            data: String::new(),
            has_data: false,
            after_return: false,
            first_line: true,
        }
    }

    /// Takes the next bytes; adds the events that they complete.
    ///
    /// # Errors
    ///
    /// When a line or an event is too long.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => self.end_line(events)?,
                _ => {
                    if self.line.len() >= self.most {
                        return Err(TooLong(self.most));
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(())
    }

    /// The body is over. An event that no empty line ended is an event all the same: some services forget it.
    ///
    /// # Errors
    ///
    /// When the event is too long.
    pub fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        if !self.line.is_empty() {
            self.end_line(events)?;
        }
        self.dispatch(events);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let mut line = text.as_ref();
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(events);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => {
                if self.data.len() + value.len() > self.most {
                    return Err(TooLong(self.most));
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            // A comment, an id, a retry time, or something new.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            events.push(Event { name, data });
        }
    }
}
