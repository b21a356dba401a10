"""Users' functions: the signatures of compiled ones (`c_signature`), and the objects that hold them
(`compiled`).
"""
