"""A network for a cohort of real images, beside VI and the chains: accuracy, spread, calibration."""
