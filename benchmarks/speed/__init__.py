"""The cases of `make bench`, one file for each question; `benchmarks/bench.py` runs them."""
