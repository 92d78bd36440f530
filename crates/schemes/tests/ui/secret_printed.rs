//! A private scheme's secret does not print.

use papir_core::erased::ErasedSecret;
use papir_core::scheme::Scheme;
use papir_schemes::double::Double;
use papir_schemes::inspire::Inspire;
use papir_schemes::double::packed::Inspire0;
use papir_schemes::inspire::two_levels::Inspire2;
use papir_schemes::simple::Simple;
use papir_schemes::simple::packed::SimpleYpir;
use papir_schemes::double::packed::Ypir;

fn print<T: std::fmt::Debug>() {}

fn main() {
    print::<<Simple as Scheme>::Secret>();
    print::<<Inspire as Scheme>::Secret>();
    print::<<Double as Scheme>::Secret>();
    print::<<Inspire2 as Scheme>::Secret>();
    print::<<Inspire0 as Scheme>::Secret>();
    print::<<Ypir as Scheme>::Secret>();
    print::<<SimpleYpir as Scheme>::Secret>();
    print::<ErasedSecret>();
}
