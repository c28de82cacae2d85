//! Packed files, known by their first bytes, and the limit on what may come out of them.
//!
//! ```text
//!   1f 8b                 gzip       fd 37 7a 58 5a 00   xz       28 b5 2f fd   zstd
//! ```
//!
//! A few kilobytes can unpack to terabytes. So what comes out is counted while it comes, before anything of it is kept, and compared
//! with what went in: histories are seldom packed to less than a fiftieth. The message says which option raises the bound.

use super::{Complaint, InputLimits};
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use skew_history::Place;
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

/// The most memory, in KiB, that unpacking xz may take: four times what `xz -9` asks for.
const LARGEST_DICTIONARY: u32 = 1 << 18;
/// So much may come out of the smallest file: nobody's memory is in danger.
const ALWAYS_ALLOWED: u64 = 8 << 20;

/// Why a file cannot be read.
#[derive(Debug)]
pub(super) enum UnpackError {
    /// The system said so, or what is packed is damaged, after so many bytes.
    Broken(u64, io::Error),
    /// There is more inside than is allowed.
    TooLarge(u64),
    /// There is more inside than so many times the file.
    TooPacked(u64),
}

impl UnpackError {
    pub(super) fn complaint(self, name: &str) -> Complaint {
        match self {
            UnpackError::Broken(read, error) => Complaint {
                place: Place::Byte(read),
                ..Complaint::new(
                    name,
                    format!("cannot be read on: {error}"),
                    "the file may be cut off or damaged; fetch or pack it again",
                )
            },
            UnpackError::TooLarge(limit) => Complaint::new(
                name,
                format!("it holds more than {limit} bytes"),
                "raise the limit with --max-size if you trust it, for instance --max-size 64GiB",
            ),
            UnpackError::TooPacked(ratio) => Complaint::new(
                name,
                format!("it unpacks to more than {ratio} times its size, as files do that are made to fill the memory"),
                "raise the bound with --max-ratio if you trust it, for instance --max-ratio 5000",
            ),
        }
    }
}

#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Xz,
    Zstd,
}

fn packing(start: &[u8]) -> Option<Packing> {
    match start {
        [0x1f, 0x8b, ..] => Some(Packing::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
        _ => None,
    }
}

/// Whether these bytes begin like something packed.
pub(super) fn is_packed(bytes: &[u8]) -> bool {
    packing(bytes).is_some()
}

/// The same bytes, unpacked if they are packed, and no more of them than the bound allows.
pub(super) fn unpacked(bytes: Box<dyn Read>, bound: &Rc<Bound>) -> io::Result<Box<dyn Read>> {
    let drawn = Rc::new(Cell::new(0));
    let bytes = Counted { bytes, count: Rc::clone(&drawn) };
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let mut start = Vec::with_capacity(6);
    bytes.by_ref().take(6).read_to_end(&mut start)?;
    let packing = packing(&start);
    let whole = Cursor::new(start).chain(bytes);
    let unpacker: Box<dyn Read> = match packing {
        Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(whole)),
        Some(Packing::Xz) => Box::new(XzReader::new_mem_limit(whole, true, LARGEST_DICTIONARY)),
        Some(Packing::Zstd) => Box::new(ZstdFrames { bytes: whole, decoder: FrameDecoder::new(), inside: false }),
        None => return Ok(Box::new(whole)),
    };
    Ok(Box::new(Unpacked { bytes: unpacker, drawn, read: 0, bound: Rc::clone(bound) }))
}

/// What may come out of one file, in whatever layers it is packed.
///
/// ```text
///   file ── so many bytes ──> gzip, xz, zstd ── so many more ──> tar ── entry ── gzip ── so many more ──> history
/// ```
///
/// Each layer is compared with what went into it so far, and all of them together with what was read of the file, or a packed file in a
/// packed archive would multiply what each of them may.
pub(super) struct Bound {
    limits: InputLimits,
    drawn: Rc<Cell<u64>>,
    unpacked: Cell<u64>,
    is_exceeded: Cell<bool>,
}

impl Bound {
    pub(super) fn new(limits: InputLimits) -> Rc<Bound> {
        let (drawn, unpacked, is_exceeded) = (Rc::default(), Cell::new(0), Cell::new(false));
        Rc::new(Bound { limits, drawn, unpacked, is_exceeded })
    }

    pub(super) fn limits(&self) -> InputLimits {
        self.limits
    }

    /// The same bytes, counted as those of the file itself.
    pub(super) fn drawn(&self, bytes: Box<dyn Read>) -> Box<dyn Read> {
        Box::new(Counted { bytes, count: Rc::clone(&self.drawn) })
    }

    fn allows(&self, unpacked: u64, drawn: u64) -> bool {
        unpacked <= drawn.saturating_mul(self.limits.ratio).max(ALWAYS_ALLOWED)
    }

    /// What it means that reading failed: that the bound stopped it, if it did.
    pub(super) fn explain(&self, error: UnpackError) -> UnpackError {
        if self.is_exceeded.get() { UnpackError::TooPacked(self.limits.ratio) } else { error }
    }
}

struct Counted {
    bytes: Box<dyn Read>,
    count: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Ends with an error when too much came out.
struct Unpacked {
    bytes: Box<dyn Read>,
    /// How much went into this layer, and how much came out.
    drawn: Rc<Cell<u64>>,
    read: u64,
    bound: Rc<Bound>,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        let bound = &self.bound;
        self.read += read as u64;
        bound.unpacked.set(bound.unpacked.get() + read as u64);
        let allowed =
            bound.allows(self.read, self.drawn.get()) && bound.allows(bound.unpacked.get(), bound.drawn.get());
        bound.is_exceeded.set(!allowed);
        if allowed { Ok(read) } else { Err(io::Error::other("it unpacks to too much")) }
    }
}

/// Reads to the end, but not beyond the limit. `expected` is a guess at the size.
pub(super) fn read_all(mut bytes: impl Read, expected: Option<u64>, limit: u64) -> Result<Vec<u8>, UnpackError> {
    // One byte more, so that the last read finds the end without growing the vector.
    let room = expected.unwrap_or(0).min(limit).saturating_add(1);
    let mut all = Vec::with_capacity(usize::try_from(room).unwrap_or(0));
    let outcome = bytes.by_ref().take(limit).read_to_end(&mut all);
    let read = all.len() as u64;
    outcome.map_err(|error| UnpackError::Broken(read, error))?;
    if read == limit {
        let more = bytes.read(&mut [0]).map_err(|error| UnpackError::Broken(read, error))?;
        if more > 0 {
            return Err(UnpackError::TooLarge(limit));
        }
    }
    Ok(all)
}

/// All frames of a zstd file, one after the other; `ruzstd` reads one.
struct ZstdFrames<R: BufRead> {
    bytes: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if !self.inside {
                if self.bytes.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.begin_frame()?;
                continue;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let strategy = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.bytes, strategy).map_err(io::Error::other)?;
            }
            match self.decoder.read(buffer)? {
                0 => self.end_frame()?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}

impl<R: BufRead> ZstdFrames<R> {
    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.bytes) {
            Ok(()) => self.inside = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let skipped = io::copy(&mut self.bytes.by_ref().take(length.into()), &mut io::sink())?;
                if skipped < u64::from(length) {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.inside = false;
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a zstd frame is wrong"));
        }
        Ok(())
    }
}
