-- These triggers protect the history, as store/triggers.sql does for SQLite: no row is changed or deleted, no name is
-- used twice, and no point is deleted. The only exception is an erasure that isn't finished. A user who may write to
-- the tables can't get around the triggers; only the tables' owner can. Each function names the schema of its tables,
-- so no temporary table can replace one.

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION is_erasing(playbook integer) RETURNS boolean LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$ SELECT EXISTS (SELECT 1 FROM erasures WHERE playbook_id = playbook AND finished_at IS NULL) $$;

-- Rows can't be added to a revision that is already committed. With Citus only the revision's number is checked, since
-- `xmin` is untested there.
CREATE FUNCTION refuse_unless_in_last_revision() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF current_setting('citus.shard_count', true) IS NULL THEN
        PERFORM 1 FROM revisions
        WHERE playbook_id = NEW.playbook_id AND number = NEW.revision AND xmin = pg_current_xact_id()::xid;
    ELSE
        PERFORM 1 FROM revisions WHERE playbook_id = NEW.playbook_id HAVING max(number) = NEW.revision;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION refuse_unless_next_revision() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.number IS DISTINCT FROM
        (SELECT coalesce(max(number), 0) + 1 FROM revisions WHERE playbook_id = NEW.playbook_id) THEN
        RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.role := session_user;  -- only the server knows who logged in
    RETURN NEW;
END $$;

-- An unfinished erasure may put its mark into the named columns, or NULL into any of them except `text`.
CREATE FUNCTION refuse_unless_erasing() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    was jsonb := to_jsonb(OLD);
    becomes jsonb := to_jsonb(NEW);
BEGIN
    IF TG_OP = 'DELETE' OR NOT is_erasing(OLD.playbook_id) OR was - TG_ARGV <> becomes - TG_ARGV OR EXISTS (
        SELECT 1 FROM unnest(TG_ARGV) AS word WHERE was ->> word IS DISTINCT FROM becomes ->> word
        AND coalesce(strpos(becomes ->> word, '[forgotten]') = 0, word = 'text')) THEN
        RAISE integrity_constraint_violation USING MESSAGE = replace(TG_TABLE_NAME, '_', ' ') || ' are append-only';
    END IF;
    RETURN NEW;
END $$;

-- At the end of a transaction, each point whose row or changes it wrote must match the point's last change.
CREATE FUNCTION refuse_unless_on_record() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    point bigint := coalesce(to_jsonb(NEW) ->> 'point_id', to_jsonb(NEW) ->> 'id');
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM key_points AS k
        CROSS JOIN LATERAL (SELECT * FROM changes AS l WHERE l.playbook_id = k.playbook_id AND l.point_id = k.id
                            ORDER BY l.revision DESC, l.seq DESC LIMIT 1) AS c
        WHERE k.playbook_id = NEW.playbook_id AND k.id = point
          AND (k.section, k.position, k.helpful, k.harmful, k.retired_in) IS NOT DISTINCT FROM
              (c.section, c.position, c.helpful, c.harmful, CASE c.kind WHEN 'retire' THEN c.revision END)
          AND (k.forgotten = 1 OR k.retired_reason IS NOT DISTINCT FROM CASE c.kind WHEN 'retire' THEN c.reason END)
          AND k.text = (SELECT l.text FROM changes AS l
                        WHERE l.playbook_id = k.playbook_id AND l.point_id = k.id AND l.text IS NOT NULL
                        ORDER BY l.revision DESC, l.seq DESC LIMIT 1)
    ) THEN
        RAISE EXCEPTION USING ERRCODE = '23PB1', MESSAGE = format('the key point %s is not what its last change says',
            (SELECT name FROM key_points WHERE playbook_id = NEW.playbook_id AND id = point));
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER revisions_append_only BEFORE UPDATE OR DELETE ON revisions FOR EACH ROW
EXECUTE FUNCTION refuse_unless_erasing('message', 'header');

CREATE TRIGGER revisions_in_order BEFORE INSERT ON revisions FOR EACH ROW
EXECUTE FUNCTION refuse_unless_next_revision('a revision takes the next number of its playbook');

CREATE TRIGGER changes_append_only BEFORE UPDATE OR DELETE ON changes FOR EACH ROW
EXECUTE FUNCTION refuse_unless_erasing('text', 'reason', 'evidence');

CREATE TRIGGER changes_in_last_revision BEFORE INSERT ON changes FOR EACH ROW
EXECUTE FUNCTION refuse_unless_in_last_revision('changes are appended to the last revision');

CREATE TRIGGER votes_append_only BEFORE UPDATE OR DELETE ON votes FOR EACH ROW
EXECUTE FUNCTION refuse_unless_erasing('name', 'rationale', 'evidence');

CREATE TRIGGER votes_in_last_revision BEFORE INSERT ON votes FOR EACH ROW
EXECUTE FUNCTION refuse_unless_in_last_revision('votes are appended to the last revision');

CREATE TRIGGER skipped_operations_append_only BEFORE UPDATE OR DELETE ON skipped_operations FOR EACH ROW
EXECUTE FUNCTION refuse_unless_erasing('operation', 'reason');

CREATE TRIGGER skipped_operations_in_last_revision BEFORE INSERT ON skipped_operations FOR EACH ROW
EXECUTE FUNCTION refuse_unless_in_last_revision('skipped operations are appended to the last revision');

CREATE TRIGGER key_points_no_delete BEFORE DELETE ON key_points FOR EACH ROW
EXECUTE FUNCTION refuse('key points are retired, never deleted');

CREATE TRIGGER key_points_keep_their_name BEFORE UPDATE ON key_points FOR EACH ROW
WHEN ((NEW.playbook_id, NEW.id, NEW.name, NEW.created_in)
      IS DISTINCT FROM (OLD.playbook_id, OLD.id, OLD.name, OLD.created_in))
EXECUTE FUNCTION refuse('a key point keeps its name and number for ever');

CREATE TRIGGER key_points_stay_forgotten BEFORE UPDATE ON key_points FOR EACH ROW
WHEN (OLD.forgotten = 1 AND (NEW.forgotten, NEW.text, NEW.retired_in, NEW.retired_reason)
      IS DISTINCT FROM (OLD.forgotten, OLD.text, OLD.retired_in, OLD.retired_reason))
EXECUTE FUNCTION refuse('a forgotten key point never comes back');

CREATE TRIGGER key_points_forgotten_on_record BEFORE UPDATE ON key_points FOR EACH ROW
WHEN (NEW.forgotten = 1 AND OLD.forgotten = 0 AND NOT is_erasing(OLD.playbook_id))
EXECUTE FUNCTION refuse('a key point is never forgotten without a row of erasures');

DO $$ BEGIN  -- Citus has no such triggers
    IF current_setting('citus.shard_count', true) IS NULL THEN
        CREATE CONSTRAINT TRIGGER key_points_on_record AFTER INSERT OR UPDATE ON key_points
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_unless_on_record();
        CREATE CONSTRAINT TRIGGER changes_on_record AFTER INSERT OR UPDATE ON changes
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_unless_on_record();
    END IF;
END $$;

CREATE TRIGGER key_points_not_blank BEFORE INSERT OR UPDATE OF text ON key_points FOR EACH ROW
WHEN (NEW.text ~ '^[\u0009-\u000d\u001c-\u0020\u0085\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]*$')
EXECUTE FUNCTION refuse('the text of a key point is not blank');

CREATE TRIGGER sections_are_fixed BEFORE UPDATE OR DELETE ON sections FOR EACH ROW
EXECUTE FUNCTION refuse('the sections are fixed');

CREATE TRIGGER playbooks_no_delete BEFORE DELETE ON playbooks FOR EACH ROW
EXECUTE FUNCTION refuse('a playbook holds its history; it is never deleted');

CREATE TRIGGER erasures_no_delete BEFORE DELETE ON erasures FOR EACH ROW
EXECUTE FUNCTION refuse('an erasure stays on record for ever');

CREATE TRIGGER erasures_no_update BEFORE UPDATE ON erasures FOR EACH ROW
WHEN ((NEW.playbook_id, NEW.id, NEW.revision, NEW.selected_by, NEW.time)
      IS DISTINCT FROM (OLD.playbook_id, OLD.id, OLD.revision, OLD.selected_by, OLD.time)
      OR (OLD.finished_at IS NOT NULL
          AND (NEW.points, NEW.fields, NEW.finished_at) IS DISTINCT FROM (OLD.points, OLD.fields, OLD.finished_at))
      OR (OLD.purged_at IS NOT NULL AND NEW.purged_at IS DISTINCT FROM OLD.purged_at))
EXECUTE FUNCTION refuse('an erasure stays on record for ever');

CREATE TRIGGER erasures_of_last_revision BEFORE INSERT ON erasures FOR EACH ROW
EXECUTE FUNCTION refuse_unless_in_last_revision('an erasure belongs to the last revision');

-- A session that is resumed or compacted is shown its points again. It counts only once, for the first event. ON
-- CONFLICT doesn't check this, as Citus accepts only simple functions there.
CREATE FUNCTION count_showings() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    shown bigint[] := ARRAY(SELECT each::bigint FROM jsonb_array_elements_text(NEW.points::jsonb) AS each);
BEGIN
    INSERT INTO showing_counts AS s (playbook_id, point_id, sessions, last_at, by_prompt, at_error, to_subagent)
    SELECT k.playbook_id, k.id, 1, NEW.time, (NEW.event = 'UserPromptSubmit')::int,
           (NEW.event = 'PostToolUseFailure')::int, (NEW.event = 'SubagentStart')::int
    FROM key_points AS k
    WHERE k.playbook_id = NEW.playbook_id AND k.id = ANY(shown)
      AND (NEW.seq = 1 OR NOT EXISTS (
          SELECT 1 FROM showings AS i
          WHERE i.playbook_id = NEW.playbook_id AND i.session_id = NEW.session_id AND i.seq < NEW.seq
            AND i.points::jsonb @> to_jsonb(k.id)))
    ON CONFLICT (playbook_id, point_id) DO UPDATE SET
        sessions = s.sessions + 1, last_at = greatest(s.last_at, excluded.last_at),
        by_prompt = s.by_prompt + excluded.by_prompt, at_error = s.at_error + excluded.at_error,
        to_subagent = s.to_subagent + excluded.to_subagent;
    IF NEW.seq > 1 THEN
        UPDATE showing_counts SET last_at = NEW.time
        WHERE playbook_id = NEW.playbook_id AND point_id = ANY(shown) AND last_at < NEW.time;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER showing_counts_follow AFTER INSERT ON showings FOR EACH ROW EXECUTE FUNCTION count_showings();
