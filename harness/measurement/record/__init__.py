"""The record of a run: its fields, declared once, and what follows from them."""
