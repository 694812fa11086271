"""The program's side of the sandbox: standard library only, independent of ez_ptc, started by path."""
