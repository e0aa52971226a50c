"""From transcripts to what a session is shown, with a model that answers as it is told."""
