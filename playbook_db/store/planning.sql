-- Statistics for SQLite's planner, as ANALYZE writes them: the number of rows, then the average number of rows with the
-- same value of one column, of two columns, and so on. Without statistics the planner assumes that ten rows have the
-- same playbook. The figures are those of a large database, so that a query has the same plan on every machine. Figures
-- for the rows of a point are too high on purpose, so that a query for all points reads the rows in their stored order.

ANALYZE playbooks;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('playbooks', 'sqlite_autoindex_playbooks_1', '4 1'),
    ('sections', 'sqlite_autoindex_sections_1', '5 1'),
    ('key_points', 'sqlite_autoindex_key_points_1', '4000 1000 1'),
    ('key_points', 'sqlite_autoindex_key_points_2', '4000 1000 1'),
    ('key_points', 'ix_key_points_live', '2000 500 100 1'),
    ('key_points', 'ix_key_points_rank', '2000 500 500 1 1'),
    ('key_points', 'ix_key_points_position', '4000 1000 1'),
    ('revisions', 'revisions', '80000 20000 1'),
    ('revisions', 'ix_revisions_session', '60000 15000 2'),
    ('revisions', 'ix_revisions_undo', '400 100 1'),
    ('undone_ranges', 'undone_ranges', '400 100 1'),
    ('changes', 'changes', '240000 60000 3 1'),
    ('changes', 'ix_changes_point', '240000 60000 100 2 1'),
    ('changes', 'ix_changes_text', '40000 10000 10 1 1'),
    ('changes', 'ix_changes_successor', '4000 1000 2'),
    ('votes', 'votes', '240000 60000 3 1'),
    ('votes', 'ix_votes_point', '200000 50000 100'),
    ('votes', 'ix_votes_unmatched', '4000 1000 2'),
    ('injections', 'injections', '80000 20000 2 1'),
    ('showings', 'showings', '4000 1000 1'),
    ('citations', 'citations', '160000 40000 2 1'),
    ('citations', 'ix_citations_point', '160000 40000 40'),
    ('trials', 'trials', '160000 40000 2 1'),
    ('trials', 'ix_trials_point', '160000 40000 40'),
    ('reflections', 'sqlite_autoindex_reflections_1', '80000 20000 1'),
    ('reflections', 'ix_reflections_revision', '80000 20000 1'),
    ('reflections', 'ix_reflections_session', '80000 20000 2');
