"""Against the world: sessions, their inbox, their files and their reports."""
