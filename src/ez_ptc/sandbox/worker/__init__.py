"""What runs inside the sandbox: standard library only, independent of the rest of ez_ptc, started by path."""
