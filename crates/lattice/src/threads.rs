//! Rows of products that threads compute in parts.

/// The rows of each of `vectors` products, of which each part has some: `parts[p][i]` are those of
/// vector i in part p.
pub(crate) fn join_parts(parts: &[Vec<Vec<u64>>], vectors: usize) -> Vec<Vec<u64>> {
    (0..vectors)
        .map(|i| {
            parts
                .iter()
                .flat_map(|part| part[i].iter().copied())
                .collect()
        })
        .collect()
}
