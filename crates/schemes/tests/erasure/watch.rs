//! A global allocator that searches every freed block for byte patterns of secret values.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use bytemuck::NoUninit;
use papir_ring::{Poly, Values};

/// Bytes of a secret value in memory.
#[derive(Clone)]
pub(crate) struct Pattern {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Bytes from one of `bytes` to the next.
    pub(crate) stride: usize,
}

impl From<(&'static str, Vec<u8>)> for Pattern {
    fn from((name, bytes): (&'static str, Vec<u8>)) -> Self {
        Self {
            name,
            bytes,
            stride: 1,
        }
    }
}

/// A pattern, and the number of freed blocks that contained it.
struct Watched {
    pattern: Pattern,
    found: AtomicUsize,
}

static WATCHING: AtomicBool = AtomicBool::new(false);
/// Threads search their blocks at the same time, and every block is searched. Nobody who holds the
/// lock frees memory while `WATCHING` is set: freeing takes the lock.
static PATTERNS: RwLock<Vec<Watched>> = RwLock::new(Vec::new());
static TURN: Mutex<()> = Mutex::new(());

/// Serializes the tests, as they share `WATCHING` and `PATTERNS`.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Watch;

// SAFETY: `System` allocates and frees; a block is only read, before it is freed.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if WATCHING.load(Ordering::Relaxed) {
            // SAFETY: the block is still allocated and has this size. Bytes that were never written
            // are compared like any others.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            let patterns = PATTERNS.read().unwrap_or_else(PoisonError::into_inner);
            for watched in patterns.iter() {
                if contains(bytes, &watched.pattern) {
                    watched.found.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watch = Watch;

/// Returns true if a block contains a pattern, at a multiple of four bytes, or of two if the
/// pattern has gaps.
fn contains(block: &[u8], pattern: &Pattern) -> bool {
    let Pattern { bytes, stride, .. } = pattern;
    let span = (bytes.len() - 1) * stride + 1;
    let step = if *stride == 1 { 4 } else { 2 };

    let Some(last) = block.len().checked_sub(span) else {
        return false;
    };
    (0..=last).step_by(step).any(|start| {
        let found = block[start..].iter().step_by(*stride);
        bytes.iter().zip(found).all(|(byte, found)| byte == found)
    })
}

/// Returns the bytes of these words in memory.
pub(crate) fn bytes_of<W: NoUninit>(words: &[W]) -> Vec<u8> {
    bytemuck::cast_slice::<W, u8>(words).to_vec()
}

/// Returns the bytes of residues 100 to 107.
pub(crate) fn pattern(poly: &Poly<Values>) -> Vec<u8> {
    bytes_of(&poly.residues()[100..108])
}

/// Returns the result of `work` and the names of the patterns found in blocks freed meanwhile.
pub(crate) fn freed<T, P: Into<Pattern>>(
    patterns: Vec<P>,
    work: impl FnOnce() -> T,
) -> (T, Vec<&'static str>) {
    let patterns = patterns
        .into_iter()
        .map(|pattern| Watched {
            pattern: pattern.into(),
            found: AtomicUsize::new(0),
        })
        .collect();

    // A test that failed may have left it set.
    WATCHING.store(false, Ordering::SeqCst);
    *PATTERNS.write().unwrap() = patterns;
    WATCHING.store(true, Ordering::SeqCst);

    let result = work();

    WATCHING.store(false, Ordering::SeqCst);
    let found = std::mem::take(&mut *PATTERNS.write().unwrap());
    (
        result,
        found
            .into_iter()
            .filter(|one| one.found.load(Ordering::Relaxed) > 0)
            .map(|one| one.pattern.name)
            .collect(),
    )
}

#[test]
fn freed_markers_are_found() {
    let _turn = turn();
    let marker = vec![0xA5u8; 64];
    let (_, seen) = freed(vec![("a marker", marker[..32].to_vec())], || {
        drop(black_box(marker.clone()))
    });
    assert_eq!(seen, ["a marker"]);

    let gaps = Pattern {
        name: "a marker with gaps",
        bytes: vec![0xA5; 8],
        stride: 4,
    };
    let (_, seen) = freed(vec![gaps], || {
        let words: Vec<[u8; 4]> = (0..16).map(|k| [k, 1, 0xA5, 2]).collect();
        drop(black_box(words))
    });
    assert_eq!(seen, ["a marker with gaps"]);
}
