"""The statements that a hook needs, as SQL text for any driver with `:name` parameters. Imports nothing.

The services read through the same text, so that it can't rot alone.
"""

SCHEMA = 3  # the migration that this code is written for, as in PRAGMA user_version

_POINT = "k.name, k.text, k.section, k.helpful, k.harmful, k.position"

LIVE_POINTS = f"""
SELECT {_POINT}
FROM key_points AS k JOIN sections AS s ON s.slug = k.section
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
ORDER BY s.position, k.position
"""

PROJECT = """
SELECT p.id, p.ignored, p.mirror, p.live_points,
       coalesce((SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = p.id), 0)
FROM playbooks AS p WHERE p.key = :key
"""

RANKED_POINTS = f"""
SELECT k.id, {_POINT} FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL
ORDER BY k.rank DESC, k.id
"""

NEWEST = 50  # points that are looked at for those without votes: the time must not hang on how many there are

UNJUDGED_POINTS = f"""
SELECT k.id, {_POINT} FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND k.helpful = 0 AND k.harmful = 0
  AND k.id > (SELECT max(n.id) FROM key_points AS n WHERE n.playbook_id = :playbook_id) - {NEWEST}
ORDER BY k.id DESC
"""

MIRROR_FILE = "SELECT m.size_bytes, m.mtime_ns FROM mirrors AS m WHERE m.playbook_id = :playbook_id AND m.path = :path"

# Whether the worker has something to do for this project now.
DUE_JOB = """
SELECT EXISTS (SELECT 1 FROM jobs AS j WHERE j.playbook_id = :playbook_id AND j.state = 'queued'
               AND (j.not_before IS NULL OR j.not_before <= :now))
"""

ADD_PROJECT = "INSERT INTO playbooks (key, created_at) VALUES (:key, :now) ON CONFLICT (key) DO NOTHING"

ADD_INJECTION = """
INSERT INTO injections (playbook_id, session_id, seq, source, revision, points, left_out, time)
SELECT :playbook_id, :session_id, coalesce(max(i.seq), 0) + 1, :source, :revision, :points, :left_out, :now
FROM injections AS i WHERE i.playbook_id = :playbook_id AND i.session_id = :session_id
"""

# A transcript that waits already is not queued twice.
ADD_JOB = """
INSERT INTO jobs (playbook_id, id, kind, session_id, transcript_path, parent_path, agent_id, reason, created_at)
SELECT :playbook_id, coalesce(max(j.id), 0) + 1, 'learn', :session_id, :transcript_path, :parent_path, :agent_id,
       :reason, :now
FROM jobs AS j WHERE j.playbook_id = :playbook_id
ON CONFLICT (playbook_id, kind, transcript_path) WHERE state = 'queued' DO NOTHING
"""
