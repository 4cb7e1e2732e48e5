"""Models by benchmarks: what is measured, kept and compared."""
