//! A private scheme's secret does not print.

use papir_core::erased::ErasedSecret;
use papir_core::scheme::Scheme;
use papir_schemes::double::Double;
use papir_schemes::inspire::Inspire;
use papir_schemes::simple::Simple;

fn print<T: std::fmt::Debug>() {}

fn main() {
    print::<<Simple as Scheme>::Secret>();
    print::<<Inspire as Scheme>::Secret>();
    print::<<Double as Scheme>::Secret>();
    print::<ErasedSecret>();
}
