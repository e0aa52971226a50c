"""The reads that a hook needs too, as SQL text for any driver with `:name` parameters. Imports nothing."""

SCHEMA = 1  # the migration that this code is written for, as in PRAGMA user_version

LIVE_POINTS = """
SELECT k.name, k.text, k.section, k.helpful, k.harmful, k.position
FROM key_points AS k JOIN sections AS s ON s.slug = k.section
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
ORDER BY s.position, k.position
"""
