"""Workers in WebAssembly: what `running` asks of its pipe and its platform, in one thread and without a kernel."""
