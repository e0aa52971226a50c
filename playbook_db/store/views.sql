-- Views with stable names for people's queries. docs/sql.md describes every column. Each migration drops the views
-- first, and creates them again at its end.

CREATE VIEW live_key_points AS
SELECT p.key AS playbook, k.name, s.name AS section, k.text, k.helpful, k.harmful,
       k.helpful - k.harmful AS balance, r.time AS created_at, k.created_in AS created_in_revision,
       k.confirmed_at, k.pinned, k.resting
FROM key_points AS k
JOIN playbooks AS p ON p.id = k.playbook_id
JOIN sections AS s ON s.slug = k.section
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.created_in
WHERE k.retired_in IS NULL
ORDER BY p.key, s.position, k.position;

CREATE VIEW retired_key_points AS
SELECT p.key AS playbook, k.name, s.name AS section, k.text, k.helpful, k.harmful,
       r.time AS retired_at, k.retired_in AS retired_in_revision, k.retired_reason AS reason,
       (SELECT c.cause FROM changes AS c
        WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id AND c.revision = k.retired_in AND c.kind = 'retire'
        ORDER BY c.seq DESC LIMIT 1) AS cause,
       b.time AS created_at
FROM key_points AS k
JOIN playbooks AS p ON p.id = k.playbook_id
JOIN sections AS s ON s.slug = k.section
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.retired_in
JOIN revisions AS b ON b.playbook_id = k.playbook_id AND b.number = k.created_in
WHERE k.retired_in IS NOT NULL
ORDER BY p.key, k.retired_in DESC, s.position, k.position;

CREATE VIEW history AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.source, r.actor, r.role, r.session_id, r.message,
       c.seq, c.kind, k.name, s.name AS section, c.helpful, c.harmful, c.text, c.reason,
       c.cause, t.name AS successor, c.evidence
FROM playbooks AS p
JOIN revisions AS r ON r.playbook_id = p.id
JOIN changes AS c ON c.playbook_id = r.playbook_id AND c.revision = r.number
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
JOIN sections AS s ON s.slug = c.section
LEFT JOIN key_points AS t ON t.playbook_id = c.playbook_id AND t.id = c.successor_id
UNION ALL
SELECT p.key, r.number, r.time, r.source, r.actor, r.role, r.session_id, r.message,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM playbooks AS p
JOIN revisions AS r ON r.playbook_id = p.id
WHERE NOT EXISTS (SELECT 1 FROM changes AS c WHERE c.playbook_id = r.playbook_id AND c.revision = r.number);

-- The state of each live point after each revision that changed it, until the next such revision. A retired point has
-- no state.
CREATE VIEW point_states AS
SELECT p.key AS playbook, k.name, s.name AS section,
       (SELECT b.text FROM changes AS b
        WHERE b.playbook_id = c.playbook_id AND b.point_id = c.point_id AND b.text IS NOT NULL
          AND b.revision <= c.revision
        ORDER BY b.revision DESC, b.seq DESC LIMIT 1) AS text,
       c.helpful, c.harmful, c.revision, r.time AS valid_from,
       (SELECT t.time FROM changes AS n
        JOIN revisions AS t ON t.playbook_id = n.playbook_id AND t.number = n.revision
        WHERE n.playbook_id = c.playbook_id AND n.point_id = c.point_id AND n.revision > c.revision
        ORDER BY n.revision LIMIT 1) AS valid_to
FROM playbooks AS p
JOIN changes AS c ON c.playbook_id = p.id AND c.kind <> 'retire'
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
JOIN sections AS s ON s.slug = c.section
JOIN revisions AS r ON r.playbook_id = c.playbook_id AND r.number = c.revision
WHERE NOT EXISTS (SELECT 1 FROM changes AS l
                  WHERE l.playbook_id = c.playbook_id AND l.point_id = c.point_id AND l.revision = c.revision
                    AND l.seq > c.seq);

-- Undone ranges don't overlap, so one lookup in the index finds the range before or around a revision.
CREATE VIEW undos AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.actor, r.session_id, r.message,
       r.undoes_from, r.undoes_to,
       (SELECT CASE WHEN t.last >= r.number THEN t.undo END FROM undone_ranges AS t
        WHERE t.playbook_id = r.playbook_id AND t.first <= r.number
        ORDER BY t.first DESC LIMIT 1) AS undone_in
FROM playbooks AS p
JOIN revisions AS r ON r.playbook_id = p.id
WHERE r.undoes_from IS NOT NULL;

CREATE VIEW lineage AS
SELECT p.key AS playbook, k.name, t.name AS successor, r.number AS revision, r.time, r.source, r.actor, r.session_id,
       c.reason,
       (SELECT CASE WHEN b.last >= c.revision THEN b.undo END FROM undone_ranges AS b
        WHERE b.playbook_id = c.playbook_id AND b.first <= c.revision
        ORDER BY b.first DESC LIMIT 1) AS undone_in
FROM playbooks AS p
JOIN changes AS c ON c.playbook_id = p.id AND c.successor_id IS NOT NULL
JOIN revisions AS r ON r.playbook_id = c.playbook_id AND r.number = c.revision
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
JOIN key_points AS t ON t.playbook_id = c.playbook_id AND t.id = c.successor_id;

CREATE VIEW vote_log AS
SELECT p.key AS playbook, r.number AS revision, r.time, r.actor, r.session_id,
       k.name, v.tag, v.rationale, 1 AS is_matched,
       (SELECT CASE WHEN t.last >= v.revision THEN t.undo END FROM undone_ranges AS t
        WHERE t.playbook_id = v.playbook_id AND t.first <= v.revision
        ORDER BY t.first DESC LIMIT 1) AS undone_in,
       v.ignored, v.evidence
FROM playbooks AS p
JOIN votes AS v ON v.playbook_id = p.id
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
UNION ALL
SELECT p.key, r.number, r.time, r.actor, r.session_id, v.name, v.tag, v.rationale, 0,
       (SELECT CASE WHEN t.last >= v.revision THEN t.undo END FROM undone_ranges AS t
        WHERE t.playbook_id = v.playbook_id AND t.first <= v.revision
        ORDER BY t.first DESC LIMIT 1),
       v.ignored, v.evidence
FROM playbooks AS p
JOIN votes AS v ON v.playbook_id = p.id AND v.name IS NOT NULL
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision;

CREATE VIEW votes_by_point AS
SELECT p.key AS playbook, k.name,
       sum(CASE WHEN v.tag = 'helpful' THEN 1 ELSE 0 END) AS helpful,
       sum(CASE WHEN v.tag = 'harmful' THEN 1 ELSE 0 END) AS harmful,
       sum(CASE WHEN v.tag = 'neutral' THEN 1 ELSE 0 END) AS neutral,
       min(r.time) AS first_vote_at, max(r.time) AS last_vote_at
FROM playbooks AS p
JOIN key_points AS k ON k.playbook_id = p.id
JOIN votes AS v ON v.playbook_id = k.playbook_id AND v.point_id = k.id
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
WHERE coalesce((SELECT t.last FROM undone_ranges AS t
                WHERE t.playbook_id = v.playbook_id AND t.first <= v.revision
                ORDER BY t.first DESC LIMIT 1), 0) < v.revision
GROUP BY p.key, k.name;

-- A query for one point skips lists without the point's number before it parses them.
CREATE VIEW shown_points AS
SELECT p.key AS playbook, i.session_id, i.time, i.source, i.revision, k.name, i.event
FROM playbooks AS p
JOIN showings AS i ON i.playbook_id = p.id
CROSS JOIN json_each(i.points) AS shown
JOIN key_points AS k ON k.playbook_id = i.playbook_id AND k.id = CAST(shown.value AS BIGINT)
                    AND instr(i.points, CAST(k.id AS TEXT)) > 0;

CREATE VIEW cited_points AS
SELECT p.key AS playbook, c.session_id, c.time, k.name, c.chunks
FROM citations AS c
JOIN playbooks AS p ON p.id = c.playbook_id
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id;

-- A session that is resumed or compacted is shown its points again. It counts only once.
CREATE VIEW point_use AS
SELECT p.key AS playbook, k.name, s.name AS section, k.text,
       coalesce(w.sessions, 0) AS sessions_shown,
       (SELECT count(c.point_id) FROM citations AS c
        WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id) AS sessions_cited,
       1.0 * (SELECT count(c.point_id) FROM citations AS c
              WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id
                AND EXISTS (SELECT 1 FROM showings AS i CROSS JOIN json_each(i.points) AS point
                            WHERE i.playbook_id = c.playbook_id AND i.session_id = c.session_id
                              AND CAST(point.value AS BIGINT) = c.point_id)) / w.sessions AS cited_rate,
       sum(CASE WHEN v.tag = 'helpful' THEN 1 ELSE 0 END) AS helpful,
       sum(CASE WHEN v.tag = 'harmful' THEN 1 ELSE 0 END) AS harmful,
       avg(CASE v.tag WHEN 'helpful' THEN 1.0 WHEN 'harmful' THEN 0.0 END) AS helpful_rate,
       w.last_at AS last_shown_at,
       (SELECT max(c.time) FROM citations AS c
        WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id) AS last_cited_at
FROM playbooks AS p
JOIN key_points AS k ON k.playbook_id = p.id
JOIN sections AS s ON s.slug = k.section
LEFT JOIN showing_counts AS w ON w.playbook_id = k.playbook_id AND w.point_id = k.id
LEFT JOIN votes AS v ON v.playbook_id = k.playbook_id AND v.point_id = k.id
                    AND coalesce((SELECT t.last FROM undone_ranges AS t
                                  WHERE t.playbook_id = v.playbook_id AND t.first <= v.revision
                                  ORDER BY t.first DESC LIMIT 1), 0) < v.revision
WHERE k.retired_in IS NULL
GROUP BY p.key, k.name, p.id, k.playbook_id, k.id, s.slug, w.playbook_id, w.point_id;

-- Rows to sum up: a point's sessions, citations and votes, for the event that first showed the point. Lists of numbers
-- are searched as texts, which is ten times as fast as parsing them. A first quick search skips most lists; it may also
-- match a part of a longer number.
CREATE VIEW use_by_event AS
SELECT p.key AS playbook, k.name, e.event, CAST(NULL AS TEXT) AS session_id,
       CASE e.event WHEN 'UserPromptSubmit' THEN w.by_prompt WHEN 'PostToolUseFailure' THEN w.at_error
                    WHEN 'SubagentStart' THEN w.to_subagent
                    ELSE w.sessions - w.by_prompt - w.at_error - w.to_subagent END AS shown,
       0 AS cited, 0 AS helpful, 0 AS harmful
FROM playbooks AS p
JOIN showing_counts AS w ON w.playbook_id = p.id
JOIN key_points AS k ON k.playbook_id = w.playbook_id AND k.id = w.point_id
CROSS JOIN (SELECT 'SessionStart' AS event UNION ALL SELECT 'UserPromptSubmit'
            UNION ALL SELECT 'PostToolUseFailure' UNION ALL SELECT 'SubagentStart') AS e
UNION ALL
SELECT p.key, k.name, i.event, c.session_id, 0, 1, 0, 0
FROM playbooks AS p
JOIN citations AS c ON c.playbook_id = p.id
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
JOIN showings AS i ON i.playbook_id = c.playbook_id AND i.session_id = c.session_id
  AND instr(i.points, CAST(c.point_id AS TEXT)) > 0
  AND instr(replace(replace(replace(i.points, ' ', ''), '[', ','), ']', ','), ',' || c.point_id || ',') > 0
  AND NOT EXISTS (
      SELECT 1 FROM showings AS b
      WHERE b.playbook_id = i.playbook_id AND b.session_id = i.session_id AND b.seq < i.seq
        AND instr(b.points, CAST(c.point_id AS TEXT)) > 0
        AND instr(replace(replace(replace(b.points, ' ', ''), '[', ','), ']', ','), ',' || c.point_id || ',') > 0)
UNION ALL
SELECT p.key, k.name, i.event, r.session_id, 0, 0,
       CASE WHEN v.tag = 'helpful' THEN 1 ELSE 0 END, CASE WHEN v.tag = 'harmful' THEN 1 ELSE 0 END
FROM playbooks AS p
JOIN votes AS v ON v.playbook_id = p.id AND v.tag <> 'neutral'
JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
JOIN showings AS i ON i.playbook_id = r.playbook_id AND i.session_id = r.session_id
  AND instr(i.points, CAST(v.point_id AS TEXT)) > 0
  AND instr(replace(replace(replace(i.points, ' ', ''), '[', ','), ']', ','), ',' || v.point_id || ',') > 0
  AND NOT EXISTS (
      SELECT 1 FROM showings AS b
      WHERE b.playbook_id = i.playbook_id AND b.session_id = i.session_id AND b.seq < i.seq
        AND instr(b.points, CAST(v.point_id AS TEXT)) > 0
        AND instr(replace(replace(replace(b.points, ' ', ''), '[', ','), ']', ','), ',' || v.point_id || ',') > 0)
WHERE coalesce((SELECT t.last FROM undone_ranges AS t
                WHERE t.playbook_id = v.playbook_id AND t.first <= v.revision
                ORDER BY t.first DESC LIMIT 1), 0) < v.revision;

CREATE VIEW rewordings AS
SELECT * FROM (
    SELECT p.key AS playbook, r.number AS revision, r.time, r.source, r.actor, r.session_id, r.message, k.name,
           (SELECT b.text FROM changes AS b
            WHERE b.playbook_id = c.playbook_id AND b.point_id = c.point_id AND b.text IS NOT NULL
              AND b.revision <= c.revision AND (b.revision < c.revision OR b.seq < c.seq)
            ORDER BY b.revision DESC, b.seq DESC LIMIT 1) AS before,
           c.text AS after, c.reason
    FROM playbooks AS p
    JOIN changes AS c ON c.playbook_id = p.id AND c.text IS NOT NULL
    JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
    JOIN revisions AS r ON r.playbook_id = c.playbook_id AND r.number = c.revision) AS w
WHERE w.before <> w.after;

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
SELECT p.key AS playbook, e.revision, r.time, r.actor, e.selected_by,
       (SELECT group_concat(point.value, ', ') FROM json_each(e.points) AS point) AS names,
       e.fields, e.finished_at, e.purged_at
FROM erasures AS e
JOIN playbooks AS p ON p.id = e.playbook_id
JOIN revisions AS r ON r.playbook_id = e.playbook_id AND r.number = e.revision;

CREATE VIEW proposal_log AS
SELECT p.key AS playbook, o.id AS number, o.kind,
       coalesce(json_extract(o.operation, '$.target_id'), json_extract(o.operation, '$.name'),
                json_extract(o.operation, '$.source_ids')) AS target,
       coalesce(json_extract(o.operation, '$.text'), json_extract(o.operation, '$.merged_text')) AS text,
       coalesce(json_extract(o.operation, '$.reason'), json_extract(o.operation, '$.rationale')) AS reason,
       o.trust, o.evidence, o.session_id, o.sessions, o.created_at, o.state, o.decided_at, o.decided_by, o.revision
FROM proposals AS o
JOIN playbooks AS p ON p.id = o.playbook_id;

CREATE VIEW playbook_summary AS
SELECT p.key AS playbook, p.kind,
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL) AS live_points,
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NOT NULL) AS retired_points,
       r.number AS revision, r.time AS last_changed_at, p.mirror, p.created_at
FROM playbooks AS p
LEFT JOIN revisions AS r ON r.playbook_id = p.id
                        AND r.number = (SELECT max(l.number) FROM revisions AS l WHERE l.playbook_id = p.id);
