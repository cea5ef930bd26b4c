//! Moving new lines to where the file's lines stand.

/// How the indentation of a given text maps to the file's.
#[derive(Debug)]
pub struct Indents<'a> {
    /// Given and found indentation, a pair for each line that is not blank.
    pairs: Vec<Option<(&'a str, &'a str)>>,
}

impl<'a> Indents<'a> {
    /// Learns from lines of the same number, given and found.
    pub fn learn(given: &[&'a str], found: &[&'a str]) -> Self {
        let pairs = given.iter().zip(found).map(|(g, f)| (!g.trim().is_empty()).then(|| (of(g), of(f))));
        Self { pairs: pairs.collect() }
    }

    /// A new line as it belongs into the file. `index` is the line of the given text that it stands for, where one does.
    pub fn apply(&self, line: &str, index: Option<usize>) -> String {
        let text = line.trim_start();
        if text.is_empty() {
            return String::new();
        }
        format!("{}{text}", self.found_for(of(line), index))
    }

    fn found_for(&self, indent: &str, index: Option<usize>) -> String {
        let same_line = index.and_then(|index| self.pairs.get(index).copied().flatten());
        let known = || self.pairs.iter().flatten();
        if let Some((_, found)) = same_line.filter(|(given, _)| *given == indent) {
            return found.to_owned();
        }
        if let Some((_, found)) = known().find(|(given, _)| *given == indent) {
            return (*found).to_owned();
        }
        // Deeper than a line that is known: that line's indentation, and the rest in the file's way.
        let nearest =
            known().filter(|(given, _)| indent.starts_with(given)).max_by_key(|(given, _)| given.len());
        if let Some((given, found)) = nearest {
            let rest = indent.get(given.len()..).unwrap_or_default();
            return format!("{found}{}", self.in_the_files_way(rest));
        }
        // Less deep than all lines that are known.
        let Some((given, found)) = known().min_by_key(|(given, _)| given.len()) else {
            return indent.to_owned();
        };
        let missing = given.chars().count().saturating_sub(indent.chars().count());
        let kept = found.chars().count().saturating_sub(missing);
        found.chars().take(kept).collect()
    }

    /// Spaces as tabs where the file has tabs.
    fn in_the_files_way(&self, spaces: &str) -> String {
        let tabs = |text: &str| !text.is_empty() && text.chars().all(|c| c == '\t');
        let blanks = |text: &str| !text.is_empty() && text.chars().all(|c| c == ' ');
        let mut with_tabs = self.pairs.iter().flatten().filter(|(_, found)| tabs(found));
        let Some((given, found)) = with_tabs.next() else { return spaces.to_owned() };
        let unit = if blanks(given) { (given.len() / found.len()).max(1) } else { 4 };
        if !blanks(spaces) || !spaces.len().is_multiple_of(unit) {
            return spaces.to_owned();
        }
        "\t".repeat(spaces.len() / unit)
    }
}

/// The blanks that a line starts with.
fn of(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}
