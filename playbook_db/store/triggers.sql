-- These triggers protect the history: no row is changed or deleted, no name is used twice, and no point is deleted. The
-- only exception is an erasure that isn't finished. It may only replace texts with a mark or NULL, and its row stays.
-- INSERT OR REPLACE deletes a row without firing a DELETE trigger, so each table also refuses to insert over a row.

CREATE TRIGGER revisions_no_update BEFORE UPDATE ON revisions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE playbook_id = OLD.playbook_id AND finished_at IS NULL)
    OR (NEW.playbook_id, NEW.number, NEW.time, NEW.source, NEW.actor, NEW.session_id, NEW.final_newline,
        NEW.undoes_from, NEW.undoes_to, NEW.role)
        IS NOT (OLD.playbook_id, OLD.number, OLD.time, OLD.source, OLD.actor, OLD.session_id, OLD.final_newline,
                OLD.undoes_from, OLD.undoes_to, OLD.role)
    OR (NEW.message IS NOT OLD.message AND instr(NEW.message, '[forgotten]') = 0)
    OR (NEW.header IS NOT OLD.header AND instr(NEW.header, '[forgotten]') = 0)
BEGIN
    SELECT RAISE(ABORT, 'revisions are append-only');
END;

CREATE TRIGGER revisions_no_delete BEFORE DELETE ON revisions BEGIN
    SELECT RAISE(ABORT, 'revisions are append-only');
END;

CREATE TRIGGER revisions_in_order BEFORE INSERT ON revisions
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM revisions WHERE playbook_id = NEW.playbook_id)
BEGIN
    SELECT RAISE(ABORT, 'a revision takes the next number of its playbook');
END;

CREATE TRIGGER changes_no_update BEFORE UPDATE ON changes
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE playbook_id = OLD.playbook_id AND finished_at IS NULL)
    OR (NEW.playbook_id, NEW.revision, NEW.seq, NEW.point_id, NEW.kind, NEW.section, NEW.position, NEW.helpful,
        NEW.harmful, NEW.successor_id, NEW.cause, NEW.text IS NULL)
        IS NOT (OLD.playbook_id, OLD.revision, OLD.seq, OLD.point_id, OLD.kind, OLD.section, OLD.position,
                OLD.helpful, OLD.harmful, OLD.successor_id, OLD.cause, OLD.text IS NULL)
    OR (NEW.text IS NOT OLD.text AND instr(NEW.text, '[forgotten]') = 0)
    OR (NEW.reason IS NOT OLD.reason AND instr(NEW.reason, '[forgotten]') = 0)
    OR (NEW.evidence IS NOT OLD.evidence AND instr(NEW.evidence, '[forgotten]') = 0)
BEGIN
    SELECT RAISE(ABORT, 'changes are append-only');
END;

CREATE TRIGGER changes_no_delete BEFORE DELETE ON changes BEGIN
    SELECT RAISE(ABORT, 'changes are append-only');
END;

CREATE TRIGGER changes_in_last_revision BEFORE INSERT ON changes
WHEN NEW.revision IS NOT (SELECT max(number) FROM revisions WHERE playbook_id = NEW.playbook_id)
    OR EXISTS (SELECT 1 FROM changes
               WHERE playbook_id = NEW.playbook_id AND revision = NEW.revision AND seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'changes are appended to the last revision');
END;

CREATE TRIGGER votes_no_update BEFORE UPDATE ON votes
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE playbook_id = OLD.playbook_id AND finished_at IS NULL)
    OR (NEW.playbook_id, NEW.revision, NEW.seq, NEW.point_id, NEW.tag, NEW.name IS NULL, NEW.ignored)
        IS NOT (OLD.playbook_id, OLD.revision, OLD.seq, OLD.point_id, OLD.tag, OLD.name IS NULL, OLD.ignored)
    OR (NEW.name IS NOT OLD.name AND instr(NEW.name, '[forgotten]') = 0)
    OR (NEW.rationale IS NOT OLD.rationale AND instr(NEW.rationale, '[forgotten]') = 0)
    OR (NEW.evidence IS NOT OLD.evidence AND instr(NEW.evidence, '[forgotten]') = 0)
BEGIN
    SELECT RAISE(ABORT, 'votes are append-only');
END;

CREATE TRIGGER votes_no_delete BEFORE DELETE ON votes BEGIN
    SELECT RAISE(ABORT, 'votes are append-only');
END;

CREATE TRIGGER votes_in_last_revision BEFORE INSERT ON votes
WHEN NEW.revision IS NOT (SELECT max(number) FROM revisions WHERE playbook_id = NEW.playbook_id)
    OR EXISTS (SELECT 1 FROM votes
               WHERE playbook_id = NEW.playbook_id AND revision = NEW.revision AND seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'votes are appended to the last revision');
END;

CREATE TRIGGER skipped_operations_no_update BEFORE UPDATE ON skipped_operations
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE playbook_id = OLD.playbook_id AND finished_at IS NULL)
    OR (NEW.playbook_id, NEW.revision, NEW.seq) IS NOT (OLD.playbook_id, OLD.revision, OLD.seq)
    OR (NEW.operation IS NOT OLD.operation AND instr(NEW.operation, '[forgotten]') = 0)
    OR (NEW.reason IS NOT OLD.reason AND instr(NEW.reason, '[forgotten]') = 0)
BEGIN
    SELECT RAISE(ABORT, 'skipped operations are append-only');
END;

CREATE TRIGGER skipped_operations_no_delete BEFORE DELETE ON skipped_operations BEGIN
    SELECT RAISE(ABORT, 'skipped operations are append-only');
END;

CREATE TRIGGER skipped_operations_in_last_revision BEFORE INSERT ON skipped_operations
WHEN NEW.revision IS NOT (SELECT max(number) FROM revisions WHERE playbook_id = NEW.playbook_id)
    OR EXISTS (SELECT 1 FROM skipped_operations
               WHERE playbook_id = NEW.playbook_id AND revision = NEW.revision AND seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'skipped operations are appended to the last revision');
END;

CREATE TRIGGER key_points_no_delete BEFORE DELETE ON key_points BEGIN
    SELECT RAISE(ABORT, 'key points are retired, never deleted');
END;

CREATE TRIGGER key_points_keep_their_name BEFORE UPDATE OF playbook_id, id, name, created_in ON key_points
WHEN NEW.playbook_id IS NOT OLD.playbook_id OR NEW.id IS NOT OLD.id
    OR NEW.name IS NOT OLD.name OR NEW.created_in IS NOT OLD.created_in
BEGIN
    SELECT RAISE(ABORT, 'a key point keeps its name and number for ever');
END;

CREATE TRIGGER key_points_names_given_once BEFORE INSERT ON key_points
WHEN EXISTS (SELECT 1 FROM key_points
             WHERE playbook_id = NEW.playbook_id AND (name = NEW.name OR id = NEW.id))
BEGIN
    SELECT RAISE(ABORT, 'a name is given once in a playbook');
END;

-- This is not a check, since an older database may have such a text. The characters are white space or invisible.
CREATE TRIGGER key_points_not_blank BEFORE INSERT ON key_points WHEN trim(NEW.text, char(
    9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 173, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199,
    8200, 8201, 8202, 8203, 8204, 8205, 8206, 8207, 8232, 8233, 8234, 8235, 8236, 8237, 8238, 8239, 8287, 8288,
    8289, 8290, 8291, 8292, 12288, 65279
)) = '' BEGIN
    SELECT RAISE(ABORT, 'the text of a key point is not blank');
END;

CREATE TRIGGER key_points_stay_not_blank BEFORE UPDATE OF text ON key_points WHEN trim(NEW.text, char(
    9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 173, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199,
    8200, 8201, 8202, 8203, 8204, 8205, 8206, 8207, 8232, 8233, 8234, 8235, 8236, 8237, 8238, 8239, 8287, 8288,
    8289, 8290, 8291, 8292, 12288, 65279
)) = '' BEGIN
    SELECT RAISE(ABORT, 'the text of a key point is not blank');
END;

CREATE TRIGGER sections_no_delete BEFORE DELETE ON sections BEGIN
    SELECT RAISE(ABORT, 'the sections are fixed');
END;

CREATE TRIGGER sections_no_update BEFORE UPDATE ON sections BEGIN
    SELECT RAISE(ABORT, 'the sections are fixed');
END;

CREATE TRIGGER playbooks_no_delete BEFORE DELETE ON playbooks BEGIN
    SELECT RAISE(ABORT, 'a playbook holds its history; it is never deleted');
END;

CREATE TRIGGER key_points_stay_forgotten BEFORE UPDATE ON key_points
WHEN OLD.forgotten = 1
    AND (NEW.forgotten, NEW.text, NEW.retired_in, NEW.retired_reason)
        IS NOT (OLD.forgotten, OLD.text, OLD.retired_in, OLD.retired_reason)
BEGIN
    SELECT RAISE(ABORT, 'a forgotten key point never comes back');
END;

CREATE TRIGGER key_points_forgotten_on_record BEFORE UPDATE OF forgotten ON key_points
WHEN NEW.forgotten = 1 AND OLD.forgotten = 0
    AND NOT EXISTS (SELECT 1 FROM erasures WHERE playbook_id = OLD.playbook_id AND finished_at IS NULL)
BEGIN
    SELECT RAISE(ABORT, 'a key point is never forgotten without a row of erasures');
END;

CREATE TRIGGER erasures_no_delete BEFORE DELETE ON erasures BEGIN
    SELECT RAISE(ABORT, 'an erasure stays on record for ever');
END;

CREATE TRIGGER erasures_no_update BEFORE UPDATE ON erasures
WHEN (NEW.playbook_id, NEW.id, NEW.revision, NEW.selected_by, NEW.time)
        IS NOT (OLD.playbook_id, OLD.id, OLD.revision, OLD.selected_by, OLD.time)
    OR (OLD.finished_at IS NOT NULL
        AND (NEW.points, NEW.fields, NEW.finished_at) IS NOT (OLD.points, OLD.fields, OLD.finished_at))
    OR (OLD.purged_at IS NOT NULL AND NEW.purged_at IS NOT OLD.purged_at)
BEGIN
    SELECT RAISE(ABORT, 'an erasure stays on record for ever');
END;

CREATE TRIGGER erasures_of_last_revision BEFORE INSERT ON erasures
WHEN NEW.revision IS NOT (SELECT max(number) FROM revisions WHERE playbook_id = NEW.playbook_id)
    OR EXISTS (SELECT 1 FROM erasures WHERE playbook_id = NEW.playbook_id AND id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'an erasure belongs to the last revision');
END;

-- A session that is resumed or compacted is shown its points again. It counts only once, for the first event.
CREATE TRIGGER showing_counts_follow AFTER INSERT ON showings BEGIN
    INSERT INTO showing_counts (playbook_id, point_id, sessions, last_at, by_prompt, at_error, to_subagent)
    SELECT NEW.playbook_id, k.id, 1, NEW.time, NEW.event = 'UserPromptSubmit', NEW.event = 'PostToolUseFailure',
           NEW.event = 'SubagentStart'
    FROM json_each(NEW.points) AS shown
    CROSS JOIN key_points AS k ON k.playbook_id = NEW.playbook_id AND k.id = shown.value
    WHERE NEW.seq = 1 OR NOT EXISTS (
        SELECT 1 FROM showings AS i CROSS JOIN json_each(i.points) AS before
        WHERE i.playbook_id = NEW.playbook_id AND i.session_id = NEW.session_id AND i.seq < NEW.seq
          AND before.value = k.id)
    ON CONFLICT (playbook_id, point_id) DO UPDATE SET
        sessions = sessions + 1, last_at = max(last_at, excluded.last_at), by_prompt = by_prompt + excluded.by_prompt,
        at_error = at_error + excluded.at_error, to_subagent = to_subagent + excluded.to_subagent;
    UPDATE showing_counts SET last_at = NEW.time
    WHERE NEW.seq > 1 AND playbook_id = NEW.playbook_id AND last_at < NEW.time
      AND point_id IN (SELECT shown.value FROM json_each(NEW.points) AS shown);
END;
