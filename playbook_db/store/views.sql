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
       r.time AS retired_at, k.retired_in AS retired_in_revision, k.retired_reason AS reason
FROM key_points AS k
JOIN playbooks AS p ON p.id = k.playbook_id
JOIN sections AS s ON s.slug = k.section
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.retired_in
WHERE k.retired_in IS NOT NULL
ORDER BY p.key, k.retired_in DESC, s.position, k.position;

CREATE VIEW history AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.source, r.session_id, r.message,
       c.seq, c.kind, k.name, s.name AS section, c.helpful, c.harmful, c.text, c.reason,
       t.name AS successor
FROM revisions AS r
JOIN playbooks AS p ON p.id = r.playbook_id
LEFT JOIN changes AS c ON c.playbook_id = r.playbook_id AND c.revision = r.number
LEFT JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
LEFT JOIN sections AS s ON s.slug = c.section
LEFT JOIN key_points AS t ON t.playbook_id = c.playbook_id AND t.id = c.successor_id;

CREATE VIEW vote_log AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.session_id,
       coalesce(k.name, v.name) AS name, v.tag, v.rationale, k.name IS NOT NULL AS is_matched
FROM votes AS v
JOIN playbooks AS p ON p.id = v.playbook_id
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id;

CREATE VIEW votes_by_point AS
SELECT playbook, name,
       sum(CASE WHEN tag = 'helpful' THEN 1 ELSE 0 END) AS helpful,
       sum(CASE WHEN tag = 'harmful' THEN 1 ELSE 0 END) AS harmful,
       sum(CASE WHEN tag = 'neutral' THEN 1 ELSE 0 END) AS neutral,
       min(time) AS first_vote_at, max(time) AS last_vote_at
FROM vote_log
WHERE is_matched
GROUP BY playbook, name;

CREATE VIEW shown_points AS
SELECT p.key AS playbook, i.session_id, i.time, i.source, i.revision, k.name
FROM injections AS i
JOIN playbooks AS p ON p.id = i.playbook_id
JOIN json_each(i.points) AS shown
JOIN key_points AS k ON k.playbook_id = i.playbook_id AND k.id = shown.value;

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
SELECT p.key AS playbook, r.number AS revision, r.time, r.source, o.operation, o.reason
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

CREATE VIEW playbook_summary AS
SELECT p.key AS playbook,
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL) AS live_points,
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NOT NULL) AS retired_points,
       (SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = p.id) AS revision,
       (SELECT max(r.time) FROM revisions AS r WHERE r.playbook_id = p.id) AS last_changed_at,
       p.mirror, p.created_at
FROM playbooks AS p;
