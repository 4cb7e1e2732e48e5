"""Few-shot encoders: a stage is trained on vectors that are computed once, and added on top of their encoder."""
