"""JSON shapes that several providers share with OpenAI's APIs."""
