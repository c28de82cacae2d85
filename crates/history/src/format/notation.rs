//! The notation as a format of files: [`crate::notation`] reads it, [`super::notation_write`] writes it.

use super::known::{FileStart, FormatReader, FormatWriter, KnownFormat, Likeness, Look};
use super::notation_write;

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "notation",
    aliases: &["text"],
    description: "`a: r(x,init) w(x,1)`",
    extension: None,
    likeness,
    read: FormatReader::Text(crate::notation::take_in),
    write: Some(FormatWriter { place: 1, write: notation_write::write }),
};

/// Whether it has an event of the notation; the first transactions may have none.
fn likeness(look: &Look<'_>) -> Likeness {
    let has_event = |text: &str| ["r(", "w(", "append(", "scan(", "init("].iter().any(|event| text.contains(event));
    Likeness::weak(matches!(&look.start, FileStart::Words { text, .. } if has_event(text)))
}
