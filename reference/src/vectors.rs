//! Rows of the vectors in `docs/vectors/arithmetic`.

/// Returns the rows of a table in a file of vectors, `N` numbers each.
///
/// Each row is on a line of its own, as `reference/smt/vectors.py` writes them.
///
/// # Panics
/// If there is no such table, or a row has another number of numbers.
pub fn rows<const N: usize>(text: &str, table: &str) -> Vec<[i128; N]> {
    let start = format!("\"{table}\": [");
    let lines = text.lines().skip_while(|line| *line != start).skip(1);
    let rows: Vec<[i128; N]> = lines
        .take_while(|line| line.starts_with('['))
        .map(row)
        .collect();

    assert!(!rows.is_empty(), "no table {table}");
    rows
}

/// The numbers of a line such as `[1, 2, 3],`.
fn row<const N: usize>(line: &str) -> [i128; N] {
    let numbers: Vec<i128> = line
        .trim_matches(['[', ']', ','])
        .split(", ")
        .filter_map(|number| number.parse().ok())
        .collect();
    assert_eq!(numbers.len(), N, "{line}: expected {N} numbers");

    let mut row = [0; N];
    row.copy_from_slice(&numbers);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n\"a\": [\n[1, -2],\n[3, 4]\n],\n\"b\": [\n[5]\n]\n}\n";

    #[test]
    fn tables_have_their_own_rows() {
        assert_eq!(rows(TEXT, "a"), [[1, -2], [3, 4]]);
        assert_eq!(rows(TEXT, "b"), [[5]]);
    }

    #[test]
    #[should_panic(expected = "no table c")]
    fn missing_tables_panic() {
        rows::<1>(TEXT, "c");
    }

    #[test]
    #[should_panic(expected = "[5]: expected 2 numbers")]
    fn rows_of_another_length_panic() {
        rows::<2>(TEXT, "b");
    }
}
