"""From transcripts to what a session is shown, with a scripted model."""
