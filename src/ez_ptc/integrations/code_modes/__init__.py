"""Our sandbox under the code modes of agent frameworks, a module for each framework."""
