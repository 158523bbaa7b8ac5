"""Room of calibration."""
