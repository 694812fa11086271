"""Workers that are processes of a Unix kernel: what `running` asks of its pipe and its platform."""
