-- Which points help most?
SELECT name, helpful, harmful, balance, substr(text, 1, 60) AS text
FROM live_key_points
WHERE playbook = :project
ORDER BY balance DESC, name
LIMIT 5;

-- What happened in the last week?
-- The newest come first; 0 changes means that the revision only recorded something.
SELECT revision, substr(time, 1, 16) AS at, source, count(kind) AS changes, message
FROM history
WHERE playbook = :project AND time >= date('now', '-7 days')
GROUP BY playbook, revision
ORDER BY revision DESC;

-- What was the life of one point?
-- Counters are those after the change. Add `text` to see every wording.
SELECT revision, substr(time, 1, 10) AS day, source, kind, helpful, harmful, coalesce(reason, message) AS why
FROM history
WHERE playbook = :project AND name = 'pat-014'
ORDER BY revision, seq;

-- Which points were retired, and why?
-- `playbook restore NAME` brings one back.
SELECT name, substr(retired_at, 1, 10) AS day, retired_in_revision AS revision, reason, substr(text, 1, 40) AS text
FROM retired_key_points
WHERE playbook = :project;

-- What did each session teach?
-- A session with zeros alone changed no point; it may have cast neutral votes.
SELECT substr(session_id, 1, 8) AS session, substr(min(time), 1, 10) AS day,
       count(*) FILTER (WHERE kind = 'add') AS added, count(*) FILTER (WHERE kind = 'edit') AS edited,
       count(*) FILTER (WHERE kind = 'retire') AS retired, count(*) FILTER (WHERE kind = 'vote') AS voted,
       group_concat(kind || ' ' || name, ', ') AS points
FROM history
WHERE playbook = :project AND session_id IS NOT NULL
GROUP BY session_id
ORDER BY min(time);

-- What did the playbook hold as of revision 3?
-- The last change of each point up to there, without the points that it retired, and the last text each had, in the
-- order of that day's file, which `playbook at 3` prints.
WITH past AS (
    SELECT c.*,
           row_number() OVER (PARTITION BY c.playbook_id, c.point_id ORDER BY c.revision DESC, c.seq DESC) AS age,
           row_number() OVER (PARTITION BY c.playbook_id, c.point_id, c.text IS NULL
                              ORDER BY c.revision DESC, c.seq DESC) AS text_age
    FROM changes AS c
    JOIN playbooks AS p ON p.id = c.playbook_id
    WHERE p.key = :project AND c.revision <= 3
)
SELECT s.name AS section, k.name, past.helpful, past.harmful, wording.text
FROM past
JOIN past AS wording ON (wording.playbook_id, wording.point_id) = (past.playbook_id, past.point_id)
                    AND wording.text_age = 1 AND wording.text IS NOT NULL
JOIN key_points AS k ON (k.playbook_id, k.id) = (past.playbook_id, past.point_id)
JOIN sections AS s ON s.slug = past.section
WHERE past.age = 1 AND past.kind <> 'retire'
ORDER BY s.position, past.position;

-- Which points were never voted on?
-- Neither here nor, as far as their counters tell, where they were imported from. Such points are never pruned.
SELECT k.name, k.section, substr(k.created_at, 1, 10) AS since, substr(k.text, 1, 60) AS text
FROM live_key_points AS k
LEFT JOIN votes_by_point AS v ON v.playbook = k.playbook AND v.name = k.name
WHERE k.playbook = :project AND v.name IS NULL AND k.helpful = 0 AND k.harmful = 0
ORDER BY k.created_in_revision, k.name;

-- Which advice turned from helpful to harmful?
-- Points that were above zero once, and the revision that took them below it.
WITH steps AS (
    SELECT playbook, name, revision, time, helpful, harmful, helpful - harmful AS balance,
           lag(helpful - harmful) OVER life AS balance_before,
           max(helpful - harmful) OVER life AS best
    FROM history
    WHERE name IS NOT NULL
    WINDOW life AS (PARTITION BY playbook, name ORDER BY revision, seq)
)
SELECT name, best AS best_balance, revision AS turned_in, substr(time, 1, 10) AS day, helpful, harmful
FROM steps
WHERE playbook = :project AND best > 0 AND balance_before >= 0 AND balance < 0;

-- Which curator operations were skipped, by reason?
SELECT reason, count(*) AS times, max(substr(time, 1, 10)) AS last,
       group_concat(DISTINCT coalesce(json_extract(operation, '$.type'), '(none)')) AS types
FROM skipped
WHERE playbook = :project
GROUP BY reason
ORDER BY times DESC, reason;

-- How did the playbook grow, day by day?
-- `live` is how many points there were at the end of the day (UTC).
SELECT substr(time, 1, 10) AS day,
       sum(kind = 'add') AS added,
       sum(kind = 'restore') AS restored,
       sum(kind = 'retire') AS retired,
       sum(sum((kind IN ('add', 'restore')) - (kind = 'retire'))) OVER (ORDER BY substr(time, 1, 10)) AS live
FROM history
WHERE playbook = :project AND kind IS NOT NULL
GROUP BY day
ORDER BY day;

-- Which advice helped most this month?
-- Votes that were cast here, not those that an import brought.
SELECT v.name, count(*) AS votes, count(DISTINCT v.session_id) AS sessions, substr(k.text, 1, 60) AS text
FROM vote_log AS v
JOIN live_key_points AS k ON k.playbook = v.playbook AND k.name = v.name
WHERE v.playbook = :project AND v.tag = 'helpful' AND v.time >= date('now', 'start of month')
GROUP BY v.name
ORDER BY votes DESC, v.name
LIMIT 5;

-- Which sessions turned a point harmful, and why?
-- The session whose vote made the harmful ones outnumber the helpful ones. `playbook sessions` lists them all.
WITH steps AS (
    SELECT playbook, session_id, name, revision, time, helpful, harmful,
           lag(helpful - harmful) OVER (PARTITION BY name ORDER BY revision, seq) AS balance_before
    FROM history
    WHERE playbook = :project AND name IS NOT NULL
)
SELECT substr(s.session_id, 1, 8) AS session, substr(s.time, 1, 10) AS day, s.name, s.helpful, s.harmful, v.rationale
FROM steps AS s
JOIN vote_log AS v ON v.playbook = s.playbook AND v.revision = s.revision AND v.name = s.name AND v.tag = 'harmful'
WHERE s.session_id IS NOT NULL AND s.balance_before >= 0 AND s.helpful < s.harmful
ORDER BY s.revision;

-- What did learning cost, week by week?
-- A week is named by its Monday. `cost_usd` is empty where the model's price isn't known.
SELECT date(day, 'weekday 0', '-6 days') AS week, sum(calls) AS calls, sum(input_tokens) AS input_tokens,
       sum(output_tokens) AS output_tokens, round(sum(cost_usd), 2) AS cost_usd
FROM cost_by_day
WHERE playbook = :project
GROUP BY week
ORDER BY week;

-- Which points are shown often and never cited?
-- They take room in every session. `shown_in` counts sessions.
SELECT name, shown_in, helpful, harmful, substr(text, 1, 60) AS text
FROM point_use
WHERE playbook = :project AND shown_in >= 3 AND cited_in = 0
ORDER BY shown_in DESC, helpful, name
LIMIT 5;

-- What would pruning take next?
-- Pruning takes a point with three harmful votes or more, and more of them than helpful ones. With 0 votes left it goes
-- when it next looks, which is when a session is learned from; `playbook edit` or a helpful vote may save it.
SELECT name, helpful, harmful, max(3 - harmful, helpful - harmful + 1, 0) AS votes_left, substr(text, 1, 60) AS text
FROM live_key_points
WHERE playbook = :project AND harmful > 0
ORDER BY votes_left, harmful DESC, name
LIMIT 5;

-- Which points are cited and yet never voted on?
-- Claude works with them, and no reflection has judged them here.
SELECT name, shown_in, cited_in, round(cited_rate, 2) AS cited_rate, substr(last_cited_at, 1, 10) AS last_cited
FROM point_use
WHERE playbook = :project AND cited_in > 0 AND helpful + harmful = 0
ORDER BY cited_in DESC, name;

-- Who reworded a point, and what did it say before?
-- `session` is empty where a person did, or a file.
SELECT revision, name, source, substr(session_id, 1, 8) AS session, substr(before, 1, 45) AS before,
       substr(after, 1, 45) AS after
FROM rewordings
WHERE playbook = :project
ORDER BY revision DESC, name;

-- What was undone?
SELECT revision, substr(time, 1, 10) AS day, message, group_concat(kind || ' ' || name, ', ') AS points
FROM history
WHERE playbook = :project AND source = 'undo'
GROUP BY playbook, revision
ORDER BY revision DESC;

-- What has been forgotten?
-- What it said is gone; that it happened stays on record.
SELECT revision, substr(time, 1, 16) AS at, asked, names, fields, scrubbed_at IS NOT NULL AS is_scrubbed
FROM erasure_log
WHERE playbook = :project
ORDER BY revision;

-- Which sessions taught nothing, and what did that cost?
-- Learned from, and no point was added, changed or voted up or down.
SELECT substr(r.session_id, 1, 8) AS session, substr(min(r.time), 1, 10) AS day,
       sum(r.input_tokens + r.output_tokens) AS tokens, round(sum(r.cost_usd), 3) AS cost_usd, r.analysis
FROM reflection_log AS r
LEFT JOIN session_impact AS i ON i.playbook = r.playbook AND i.session_id = r.session_id
WHERE r.playbook = :project AND r.finished_at IS NOT NULL
  AND coalesce(i.added + i.edited + i.retired + i.voted, 0) = 0
GROUP BY r.session_id
ORDER BY day;

-- Which sections grow, which shrink, month by month?
-- `live` is how many points the section has at the month's end, but for those that moved between sections.
SELECT substr(time, 1, 7) AS month, section,
       sum(kind IN ('add', 'restore')) AS came, sum(kind = 'retire') AS went,
       sum(sum((kind IN ('add', 'restore')) - (kind = 'retire'))) OVER (
           PARTITION BY section ORDER BY substr(time, 1, 7)) AS live
FROM history
WHERE playbook = :project AND kind IN ('add', 'restore', 'retire')
GROUP BY month, section
ORDER BY month, section;

-- What did the curator say about a merge?
-- Its reasoning is about its whole batch. A merge that a person asked for has none.
SELECT h.revision, group_concat(h.name, ' + ') AS merged, h.successor, r.curator_reasoning
FROM history AS h
JOIN reflection_log AS r ON r.playbook = h.playbook AND r.revision = h.revision
WHERE h.playbook = :project AND h.kind = 'retire' AND h.successor IS NOT NULL
GROUP BY h.revision, h.successor
ORDER BY h.revision;

-- How long does advice live before it is pruned?
-- In days since it came into this database.
SELECT section, count(*) AS pruned, round(avg(julianday(retired_at) - julianday(created_at)), 1) AS mean_days,
       round(max(julianday(retired_at) - julianday(created_at)), 1) AS longest
FROM retired_key_points
WHERE playbook = :project AND reason LIKE 'pruned:%'
GROUP BY section
ORDER BY pruned DESC, section;

-- Does the advice get better, week by week?
-- A vote `nowhere` named no live point: the model made the name up, or the point had been retired.
SELECT date(time, 'weekday 0', '-6 days') AS week, sum(tag = 'helpful' AND is_matched) AS helpful,
       sum(tag = 'harmful' AND is_matched) AS harmful, sum(tag = 'neutral' AND is_matched) AS neutral,
       sum(NOT is_matched) AS nowhere
FROM vote_log
WHERE playbook = :project
GROUP BY week
ORDER BY week;

-- Which points swung most in the last thirty days?
SELECT name, sum(tag = 'helpful') AS up, sum(tag = 'harmful') AS down,
       sum((tag = 'helpful') - (tag = 'harmful')) AS swing, max(substr(time, 1, 10)) AS last_vote
FROM vote_log
WHERE playbook = :project AND is_matched AND tag <> 'neutral' AND time >= date('now', '-30 days')
GROUP BY name
ORDER BY abs(swing) DESC, last_vote DESC, name
LIMIT 5;
