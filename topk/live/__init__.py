"""Live use: sessions, their incoming results, snapshots, reports and files."""
