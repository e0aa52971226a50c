-- What holds the history, as store/triggers.sql has it for SQLite: nothing in it is changed or taken out, a name is
-- given once, a point never vanishes. The one way through is an erasure under way. Here too whoever may write to the
-- tables can't get round it; who owns them could. Each function knows its tables by the schema that they were made in,
-- so that nobody's temporary table takes the place of one.

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION refuse_without_erasure() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM erasures WHERE playbook_id = OLD.playbook_id AND finished_at IS NULL) THEN
        RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION refuse_unless_in_last_revision() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.revision IS DISTINCT FROM (SELECT max(number) FROM revisions WHERE playbook_id = NEW.playbook_id) THEN
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
    RETURN NEW;
END $$;

-- What an erasure writes over a text: the mark of what was taken out, or NULL.
CREATE FUNCTION is_other_text(written text, before text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT written IS DISTINCT FROM before AND strpos(written, '[forgotten]') = 0 $$;

CREATE TRIGGER revisions_no_update BEFORE UPDATE ON revisions FOR EACH ROW
WHEN ((NEW.playbook_id, NEW.number, NEW.time, NEW.source, NEW.actor, NEW.session_id, NEW.final_newline,
       NEW.took_back_from, NEW.took_back_to)
      IS DISTINCT FROM (OLD.playbook_id, OLD.number, OLD.time, OLD.source, OLD.actor, OLD.session_id,
                        OLD.final_newline, OLD.took_back_from, OLD.took_back_to)
      OR is_other_text(NEW.message, OLD.message) OR is_other_text(NEW.header, OLD.header))
EXECUTE FUNCTION refuse('revisions are append-only');

CREATE TRIGGER revisions_no_update_without_erasure BEFORE UPDATE ON revisions FOR EACH ROW
EXECUTE FUNCTION refuse_without_erasure('revisions are append-only');

CREATE TRIGGER revisions_no_delete BEFORE DELETE ON revisions FOR EACH ROW
EXECUTE FUNCTION refuse('revisions are append-only');

CREATE TRIGGER revisions_in_order BEFORE INSERT ON revisions FOR EACH ROW
EXECUTE FUNCTION refuse_unless_next_revision('a revision takes the next number of its playbook');

CREATE TRIGGER changes_no_update BEFORE UPDATE ON changes FOR EACH ROW
WHEN ((NEW.playbook_id, NEW.revision, NEW.seq, NEW.point_id, NEW.kind, NEW.section, NEW.position, NEW.helpful,
       NEW.harmful, NEW.successor_id, NEW.text IS NULL)
      IS DISTINCT FROM (OLD.playbook_id, OLD.revision, OLD.seq, OLD.point_id, OLD.kind, OLD.section, OLD.position,
                        OLD.helpful, OLD.harmful, OLD.successor_id, OLD.text IS NULL)
      OR is_other_text(NEW.text, OLD.text) OR is_other_text(NEW.reason, OLD.reason)
      OR is_other_text(NEW.evidence, OLD.evidence))
EXECUTE FUNCTION refuse('changes are append-only');

CREATE TRIGGER changes_no_update_without_erasure BEFORE UPDATE ON changes FOR EACH ROW
EXECUTE FUNCTION refuse_without_erasure('changes are append-only');

CREATE TRIGGER changes_no_delete BEFORE DELETE ON changes FOR EACH ROW
EXECUTE FUNCTION refuse('changes are append-only');

CREATE TRIGGER changes_in_last_revision BEFORE INSERT ON changes FOR EACH ROW
EXECUTE FUNCTION refuse_unless_in_last_revision('changes are appended to the last revision');

CREATE TRIGGER votes_no_update BEFORE UPDATE ON votes FOR EACH ROW
WHEN ((NEW.playbook_id, NEW.revision, NEW.seq, NEW.point_id, NEW.tag, NEW.name IS NULL, NEW.ignored)
      IS DISTINCT FROM (OLD.playbook_id, OLD.revision, OLD.seq, OLD.point_id, OLD.tag, OLD.name IS NULL, OLD.ignored)
      OR is_other_text(NEW.name, OLD.name) OR is_other_text(NEW.rationale, OLD.rationale)
      OR is_other_text(NEW.evidence, OLD.evidence))
EXECUTE FUNCTION refuse('votes are append-only');

CREATE TRIGGER votes_no_update_without_erasure BEFORE UPDATE ON votes FOR EACH ROW
EXECUTE FUNCTION refuse_without_erasure('votes are append-only');

CREATE TRIGGER votes_no_delete BEFORE DELETE ON votes FOR EACH ROW
EXECUTE FUNCTION refuse('votes are append-only');

CREATE TRIGGER votes_in_last_revision BEFORE INSERT ON votes FOR EACH ROW
EXECUTE FUNCTION refuse_unless_in_last_revision('votes are appended to the last revision');

CREATE TRIGGER skipped_operations_no_update BEFORE UPDATE ON skipped_operations FOR EACH ROW
WHEN ((NEW.playbook_id, NEW.revision, NEW.seq) IS DISTINCT FROM (OLD.playbook_id, OLD.revision, OLD.seq)
      OR is_other_text(NEW.operation, OLD.operation) OR is_other_text(NEW.reason, OLD.reason))
EXECUTE FUNCTION refuse('skipped operations are append-only');

CREATE TRIGGER skipped_operations_no_update_without_erasure BEFORE UPDATE ON skipped_operations FOR EACH ROW
EXECUTE FUNCTION refuse_without_erasure('skipped operations are append-only');

CREATE TRIGGER skipped_operations_no_delete BEFORE DELETE ON skipped_operations FOR EACH ROW
EXECUTE FUNCTION refuse('skipped operations are append-only');

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
WHEN (NEW.forgotten = 1 AND OLD.forgotten = 0)
EXECUTE FUNCTION refuse_without_erasure('a key point is never forgotten without a row of erasures');

CREATE TRIGGER playbooks_no_delete BEFORE DELETE ON playbooks FOR EACH ROW
EXECUTE FUNCTION refuse('a playbook holds its history; it is never deleted');

CREATE TRIGGER erasures_no_delete BEFORE DELETE ON erasures FOR EACH ROW
EXECUTE FUNCTION refuse('an erasure stays on record for ever');

CREATE TRIGGER erasures_no_update BEFORE UPDATE ON erasures FOR EACH ROW
WHEN ((NEW.playbook_id, NEW.id, NEW.revision, NEW.asked, NEW.time)
      IS DISTINCT FROM (OLD.playbook_id, OLD.id, OLD.revision, OLD.asked, OLD.time)
      OR (OLD.finished_at IS NOT NULL
          AND (NEW.points, NEW.fields, NEW.finished_at) IS DISTINCT FROM (OLD.points, OLD.fields, OLD.finished_at))
      OR (OLD.scrubbed_at IS NOT NULL AND NEW.scrubbed_at IS DISTINCT FROM OLD.scrubbed_at))
EXECUTE FUNCTION refuse('an erasure stays on record for ever');

CREATE TRIGGER erasures_of_last_revision BEFORE INSERT ON erasures FOR EACH ROW
EXECUTE FUNCTION refuse_unless_in_last_revision('an erasure belongs to the last revision');

-- A session that is resumed or compacted is shown its points anew, and counts once, for the event that told it first.
-- Whether it does is not asked where rows collide: Citus takes nothing but plain functions there.
CREATE FUNCTION count_showings() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    shown bigint[] := ARRAY(SELECT each::bigint FROM jsonb_array_elements_text(NEW.points::jsonb) AS each);
BEGIN
    INSERT INTO showings AS s (playbook_id, point_id, sessions, last_at, by_prompt, at_error, to_subagent)
    SELECT k.playbook_id, k.id, 1, NEW.time, (NEW.event = 'UserPromptSubmit')::int,
           (NEW.event = 'PostToolUseFailure')::int, (NEW.event = 'SubagentStart')::int
    FROM key_points AS k
    WHERE k.playbook_id = NEW.playbook_id AND k.id = ANY(shown)
      AND (NEW.seq = 1 OR NOT EXISTS (
          SELECT 1 FROM injections AS i
          WHERE i.playbook_id = NEW.playbook_id AND i.session_id = NEW.session_id AND i.seq < NEW.seq
            AND i.points::jsonb @> to_jsonb(k.id)))
    ON CONFLICT (playbook_id, point_id) DO UPDATE SET
        sessions = s.sessions + 1, last_at = greatest(s.last_at, excluded.last_at),
        by_prompt = s.by_prompt + excluded.by_prompt, at_error = s.at_error + excluded.at_error,
        to_subagent = s.to_subagent + excluded.to_subagent;
    IF NEW.seq > 1 THEN
        UPDATE showings SET last_at = NEW.time
        WHERE playbook_id = NEW.playbook_id AND point_id = ANY(shown) AND last_at < NEW.time;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER showings_follow AFTER INSERT ON injections FOR EACH ROW EXECUTE FUNCTION count_showings();
