"""What a journal records of the arguments of calls: how much, and digests in place of secrets."""
