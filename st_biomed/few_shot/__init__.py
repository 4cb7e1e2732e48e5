"""Few-shot encoders: a stage is trained on vectors that were made once, and put on top of what made them."""
