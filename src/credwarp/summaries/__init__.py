"""What draws say: folds over them, and whether they can be trusted."""
