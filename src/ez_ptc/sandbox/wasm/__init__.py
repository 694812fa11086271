"""The portable backend, host side: programs in WebAssembly, isolated without any feature of a kernel."""
