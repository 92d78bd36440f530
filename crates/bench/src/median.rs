//! Median of measured values.

/// The middle value; the mean of the middle two of an even number; zero of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = |i: usize| values.get(i).copied().unwrap_or_default();
    (middle(values.len().saturating_sub(1) / 2) + middle(values.len() / 2)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        for (values, expected) in
            [(vec![], 0.0), (vec![3.0], 3.0), (vec![9.0, 1.0], 5.0), (vec![9.0, 1.0, 2.0], 2.0)]
        {
            assert!((median(values.clone()) - expected).abs() < 1e-12, "{values:?}");
        }
    }
}
