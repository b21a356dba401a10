"""The papers whose claims are checked, and their files in this folder."""

PAPERS = {"P17": "pldi17", "M19": "middleware19", "ELB": "elb", "CS": "cstream"}
