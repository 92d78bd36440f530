use clap::Parser;
fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> { papir_bench::cli::run(papir_bench::cli::Args::parse()) }
