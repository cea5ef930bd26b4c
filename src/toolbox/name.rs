//! What tools may be called, and what text they may put before a model.

/// Bytes of a name, at most.
pub const MAX_NAME: usize = 64;

/// Bytes of a description, at most.
pub(super) const MAX_DESCRIPTION: usize = 4096;

/// Whether a name is an ASCII identifier: a letter, then letters, digits, `_` or `-`.
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// As much of what was given for a name as a name can have, and a little more to show that it is none.
pub(super) fn start(name: &str) -> &str {
    name.get(..name.floor_char_boundary(2 * MAX_NAME)).unwrap_or_default()
}

/// What a name looks like: two names with one look are taken for each other.
pub fn look(name: &str) -> String {
    name.bytes()
        .filter(|b| *b != b'_' && *b != b'-')
        .map(|b| match b.to_ascii_lowercase() {
            b'0' => 'o',
            b'1' | b'i' => 'l',
            b'5' => 's',
            other => other as char,
        })
        .collect()
}

/// The first character that a person does not see, or that changes how the rest is seen. Line breaks and tabs are seen.
pub fn invisible(text: &str) -> Option<char> {
    text.chars().find(|c| match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{3164}' => true,
        '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' => true,
        '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' => true,
        '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}' => true,
        _ => false,
    })
}

/// Text with every control character but line breaks and tabs written out, so that no terminal acts on it.
pub fn escape_controls(text: &str) -> String {
    if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return text.to_owned();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_control() && c != '\n' && c != '\t' {
            escaped.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// The same as one line, in which nothing is hidden either: for what is shown as a part of a line of the host's own.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            c if invisible(c.encode_utf8(&mut [0; 4])).is_some() => {
                line.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => line.push(c),
        }
    }
    line
}

/// The known name nearest to one that is not known, if just one is near enough.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // What is longer than any name is near to none, and too long to compare.
    if name.len() > 2 * MAX_NAME {
        return None;
    }
    let wanted = look(name);
    let mut scored: Vec<(usize, &str)> =
        known.into_iter().map(|k| (strsim::damerau_levenshtein(&look(k), &wanted), k)).collect();
    scored.sort_unstable();
    match scored.as_slice() {
        [(best, _), (second, _), ..] if best == second => None,
        [(best, near), ..] if *best <= 1 + wanted.len() / 4 => Some(near),
        _ => None,
    }
}
