"""Data sets for entity linking: one file per format, and the steps that prepare them."""
