"""Users' functions: what a compiled one must look like (`c_signature`), and how it is held (`compiled`)."""
