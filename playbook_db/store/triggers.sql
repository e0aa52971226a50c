-- What holds the history: nothing in it is changed or taken out, a name is given once, a point never vanishes.
-- INSERT OR REPLACE deletes without asking a DELETE trigger, so each table also refuses to insert over a row.

CREATE TRIGGER revisions_no_update BEFORE UPDATE ON revisions BEGIN
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

CREATE TRIGGER changes_no_update BEFORE UPDATE ON changes BEGIN
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

CREATE TRIGGER votes_no_update BEFORE UPDATE ON votes BEGIN
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

CREATE TRIGGER skipped_operations_no_update BEFORE UPDATE ON skipped_operations BEGIN
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

CREATE TRIGGER playbooks_no_delete BEFORE DELETE ON playbooks BEGIN
    SELECT RAISE(ABORT, 'a playbook holds its history; it is never deleted');
END;
