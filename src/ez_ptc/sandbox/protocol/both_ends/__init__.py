"""What the host and its workers both import: standard library only, no other part of ez_ptc."""
