"""What control laws are worth: stability, accuracy, settling time, overshoot (M19 §1)."""
