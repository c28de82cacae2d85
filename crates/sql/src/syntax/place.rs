//! From lines and columns to the text between them.

/// Walks over a text, forwards only, so that many statements cost one pass.
pub(super) struct Cursor<'text> {
    text: &'text str,
    offset: usize,
    line: u64,
    column: u64,
}

impl<'text> Cursor<'text> {
    /// At the start of a text.
    pub(super) fn new(text: &'text str) -> Cursor<'text> {
        Cursor { text, offset: 0, line: 1, column: 1 }
    }

    /// The text between two places, neither of which is before the last one asked for.
    pub(super) fn slice(&mut self, start: (u64, u64), end: (u64, u64)) -> &'text str {
        let from = self.advance(start);
        let to = self.advance(end);
        &self.text[from..to]
    }

    fn advance(&mut self, (line, column): (u64, u64)) -> usize {
        let rest = &self.text[self.offset..];
        let mut moved = rest.len();
        for (offset, character) in rest.char_indices() {
            if (self.line, self.column) >= (line, column) {
                moved = offset;
                break;
            }
            match character {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                _ => self.column += 1,
            }
        }
        self.offset += moved;
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_found_by_lines_and_characters() {
        let mut cursor = Cursor::new("äb;\n cd;e");
        assert_eq!(cursor.slice((1, 1), (1, 3)), "äb");
        assert_eq!(cursor.slice((2, 2), (2, 4)), "cd");
        assert_eq!(cursor.slice((2, 5), (2, 6)), "e");
    }
}
