"""Benchmarks of models: measurement, storage of results and comparison."""
