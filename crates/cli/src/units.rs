//! Figures for people.

/// A count of bytes in binary units, three digits: `531 B`, `52.1 KiB`, `1.00 GiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let steps = ((count.ilog2() / 10) as usize).min(UNITS.len());
    let value = count as f64 / 1024f64.powi(steps as i32);
    format!("{} {}", three_digits(value), UNITS[steps - 1])
}

/// A length in bits as people say it: whole bytes where it is.
pub(crate) fn bits(count: u64) -> String {
    if count.is_multiple_of(8) { bytes(count / 8) } else { format!("{count} bit") }
}

/// Seconds: `12.3 ms`, `4.56 s`.
pub(crate) fn seconds(value: f64) -> String {
    if value < 1.0 {
        format!("{} ms", three_digits(value * 1e3))
    } else {
        format!("{} s", three_digits(value))
    }
}

fn three_digits(value: f64) -> String {
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(53_350), "52.1 KiB");
        assert_eq!(bytes(1 << 30), "1.00 GiB");
        assert_eq!(bytes(u64::MAX), "16777216 TiB");
        assert_eq!(bits(512), "64 B");
        assert_eq!(bits(3), "3 bit");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(4.556), "4.56 s");
        assert_eq!(seconds(123.4), "123 s");
    }
}
