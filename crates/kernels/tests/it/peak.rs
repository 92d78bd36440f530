//! Peak rates.

use papir_kernels::Backend;
use papir_kernels::peak::Peak;

#[test]
fn every_backend_has_rates() {
    for backend in Backend::available() {
        let Peak { select, matrix } = Peak::measure(backend);
        // From a slow core without vectors to more than any core multiplies.
        for rate in [select, matrix] {
            assert!(
                (1e6..1e13).contains(&rate),
                "{backend}: {rate} bytes per second"
            );
        }
    }
}
