-- Stable names for people to query; every column is described in docs/sql.md.
-- Dropped before a migration and made again after it.

CREATE VIEW live_key_points AS
SELECT p.key AS playbook, k.name, s.name AS section, k.text, k.helpful, k.harmful,
       k.helpful - k.harmful AS balance, r.time AS created_at, k.created_in AS created_in_revision
FROM key_points AS k
JOIN playbooks AS p ON p.id = k.playbook_id
JOIN sections AS s ON s.slug = k.section
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.created_in
WHERE k.retired_in IS NULL
ORDER BY p.key, s.position, k.position;

CREATE VIEW retired_key_points AS
SELECT p.key AS playbook, k.name, s.name AS section, k.text, k.helpful, k.harmful,
       r.time AS retired_at, k.retired_in AS retired_in_revision, k.retired_reason AS reason, b.time AS created_at
FROM key_points AS k
JOIN playbooks AS p ON p.id = k.playbook_id
JOIN sections AS s ON s.slug = k.section
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.retired_in
JOIN revisions AS b ON b.playbook_id = k.playbook_id AND b.number = k.created_in
WHERE k.retired_in IS NOT NULL
ORDER BY p.key, k.retired_in DESC, s.position, k.position;

CREATE VIEW history AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.source, r.actor, r.session_id, r.message,
       c.seq, c.kind, k.name, s.name AS section, c.helpful, c.harmful, c.text, c.reason,
       t.name AS successor
FROM revisions AS r
JOIN playbooks AS p ON p.id = r.playbook_id
LEFT JOIN changes AS c ON c.playbook_id = r.playbook_id AND c.revision = r.number
LEFT JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
LEFT JOIN sections AS s ON s.slug = c.section
LEFT JOIN key_points AS t ON t.playbook_id = c.playbook_id AND t.id = c.successor_id;

CREATE VIEW vote_log AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.actor, r.session_id,
       coalesce(k.name, v.name) AS name, v.tag, v.rationale, k.name IS NOT NULL AS is_matched
FROM votes AS v
JOIN playbooks AS p ON p.id = v.playbook_id
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id;

CREATE VIEW votes_by_point AS
SELECT p.key AS playbook, k.name, cast_here.helpful, cast_here.harmful, cast_here.neutral,
       cast_here.first_vote_at, cast_here.last_vote_at
FROM (
    SELECT v.playbook_id, v.point_id,
           sum(CASE WHEN v.tag = 'helpful' THEN 1 ELSE 0 END) AS helpful,
           sum(CASE WHEN v.tag = 'harmful' THEN 1 ELSE 0 END) AS harmful,
           sum(CASE WHEN v.tag = 'neutral' THEN 1 ELSE 0 END) AS neutral,
           min(r.time) AS first_vote_at, max(r.time) AS last_vote_at
    FROM votes AS v
    JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
    WHERE v.point_id IS NOT NULL
    GROUP BY v.playbook_id, v.point_id
) AS cast_here
JOIN playbooks AS p ON p.id = cast_here.playbook_id
JOIN key_points AS k ON k.playbook_id = cast_here.playbook_id AND k.id = cast_here.point_id;

-- CROSS keeps the order of the tables: left to itself SQLite begins with every point, which takes far longer.
CREATE VIEW shown_points AS
SELECT p.key AS playbook, i.session_id, i.time, i.source, i.revision, k.name
FROM injections AS i
CROSS JOIN playbooks AS p ON p.id = i.playbook_id
CROSS JOIN json_each(i.points) AS shown
CROSS JOIN key_points AS k ON k.playbook_id = i.playbook_id AND k.id = shown.value;

CREATE VIEW cited_points AS
SELECT p.key AS playbook, c.session_id, c.time, k.name, c.stretches
FROM citations AS c
JOIN playbooks AS p ON p.id = c.playbook_id
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id;

-- A session that is resumed or compacted is shown its points anew, and counts once.
CREATE VIEW point_use AS
SELECT p.key AS playbook, k.name, s.name AS section, k.text,
       coalesce(shown.sessions, 0) AS shown_in, coalesce(cited.sessions, 0) AS cited_in,
       1.0 * coalesce(cited.shown_too, 0) / shown.sessions AS cited_rate,
       coalesce(voted.helpful, 0) AS helpful, coalesce(voted.harmful, 0) AS harmful,
       1.0 * voted.helpful / nullif(voted.helpful + voted.harmful, 0) AS helpful_rate,
       shown.last_at AS last_shown_at, cited.last_at AS last_cited_at
FROM key_points AS k
JOIN playbooks AS p ON p.id = k.playbook_id
JOIN sections AS s ON s.slug = k.section
LEFT JOIN (
    SELECT i.playbook_id, CAST(point.value AS INTEGER) AS point_id,
           count(DISTINCT i.session_id) AS sessions, max(i.time) AS last_at
    FROM injections AS i
    CROSS JOIN json_each(i.points) AS point
    GROUP BY i.playbook_id, point.value
) AS shown ON shown.playbook_id = k.playbook_id AND shown.point_id = k.id
LEFT JOIN (
    SELECT c.playbook_id, c.point_id, count(*) AS sessions, max(c.time) AS last_at,
           sum(EXISTS (SELECT 1 FROM injections AS i CROSS JOIN json_each(i.points) AS point
                       WHERE i.playbook_id = c.playbook_id AND i.session_id = c.session_id
                         AND point.value = c.point_id)) AS shown_too
    FROM citations AS c
    GROUP BY c.playbook_id, c.point_id
) AS cited ON cited.playbook_id = k.playbook_id AND cited.point_id = k.id
LEFT JOIN (
    SELECT playbook_id, point_id,
           sum(CASE WHEN tag = 'helpful' THEN 1 ELSE 0 END) AS helpful,
           sum(CASE WHEN tag = 'harmful' THEN 1 ELSE 0 END) AS harmful
    FROM votes
    GROUP BY playbook_id, point_id
) AS voted ON voted.playbook_id = k.playbook_id AND voted.point_id = k.id
WHERE k.retired_in IS NULL;

CREATE VIEW rewordings AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.source, r.actor, r.session_id, r.message, k.name,
       w.before, w.text AS after, w.reason
FROM (
    SELECT c.playbook_id, c.point_id, c.revision, c.text, c.reason,
           lag(c.text) OVER (PARTITION BY c.playbook_id, c.point_id ORDER BY c.revision, c.seq) AS before
    FROM changes AS c
    WHERE c.text IS NOT NULL
) AS w
CROSS JOIN playbooks AS p ON p.id = w.playbook_id
CROSS JOIN revisions AS r ON r.playbook_id = w.playbook_id AND r.number = w.revision
CROSS JOIN key_points AS k ON k.playbook_id = w.playbook_id AND k.id = w.point_id
WHERE w.before <> w.text;

CREATE VIEW session_impact AS
SELECT p.key AS playbook, r.session_id, min(r.time) AS first_at, max(r.time) AS last_at,
       count(DISTINCT r.number) AS revisions,
       sum(CASE WHEN c.kind = 'add' THEN 1 ELSE 0 END) AS added,
       sum(CASE WHEN c.kind = 'edit' THEN 1 ELSE 0 END) AS edited,
       sum(CASE WHEN c.kind = 'retire' THEN 1 ELSE 0 END) AS retired,
       sum(CASE WHEN c.kind = 'vote' THEN 1 ELSE 0 END) AS voted
FROM revisions AS r
JOIN playbooks AS p ON p.id = r.playbook_id
LEFT JOIN changes AS c ON c.playbook_id = r.playbook_id AND c.revision = r.number
WHERE r.session_id IS NOT NULL
GROUP BY p.key, r.session_id;

CREATE VIEW skipped AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.source, r.actor, o.operation, o.reason
FROM skipped_operations AS o
JOIN playbooks AS p ON p.id = o.playbook_id
JOIN revisions AS r ON r.playbook_id = o.playbook_id AND r.number = o.revision;

CREATE VIEW cost_by_day AS
SELECT p.key AS playbook, substr(m.time, 1, 10) AS day, count(*) AS calls,
       sum(m.input_tokens) AS input_tokens, sum(m.output_tokens) AS output_tokens,
       sum(m.cached_tokens) AS cached_tokens, sum(m.cost_usd) AS cost_usd
FROM model_calls AS m
JOIN playbooks AS p ON p.id = m.playbook_id
GROUP BY p.key, substr(m.time, 1, 10);

CREATE VIEW reflection_log AS
SELECT p.key AS playbook, f.session_id, f.created_at AS time, f.revision, f.analysis, f.curator_reasoning, f.model,
       f.input_tokens, f.output_tokens, f.cached_tokens, f.cost_usd, f.duration_ms, f.finished_at
FROM reflections AS f
JOIN playbooks AS p ON p.id = f.playbook_id;

CREATE VIEW erasure_log AS
SELECT p.key AS playbook, e.revision, r.time, r.actor, e.asked,
       (SELECT group_concat(point.value, ', ') FROM json_each(e.points) AS point) AS names,
       e.fields, e.finished_at, e.scrubbed_at
FROM erasures AS e
JOIN playbooks AS p ON p.id = e.playbook_id
JOIN revisions AS r ON r.playbook_id = e.playbook_id AND r.number = e.revision;

CREATE VIEW playbook_summary AS
SELECT p.key AS playbook, p.kind,
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL) AS live_points,
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NOT NULL) AS retired_points,
       r.number AS revision, r.time AS last_changed_at, p.mirror, p.created_at
FROM playbooks AS p
LEFT JOIN revisions AS r ON r.playbook_id = p.id
                        AND r.number = (SELECT max(l.number) FROM revisions AS l WHERE l.playbook_id = p.id);
