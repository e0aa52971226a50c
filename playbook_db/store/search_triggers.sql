-- What keeps the index for full text in step with the live points: `search.sql` says what stands in it.

CREATE TRIGGER point_search_added AFTER INSERT ON key_points WHEN NEW.retired_in IS NULL BEGIN
    INSERT INTO point_search (rowid, name, text)
    SELECT id, name, text FROM search_texts WHERE playbook_id = NEW.playbook_id AND point_id = NEW.id;
END;

CREATE TRIGGER point_search_before BEFORE UPDATE OF text, retired_in ON key_points
WHEN OLD.retired_in IS NULL AND (NEW.text IS NOT OLD.text OR NEW.retired_in IS NOT NULL) BEGIN
    INSERT INTO point_search (point_search, rowid, name, text)
    SELECT 'delete', id, name, text FROM search_texts WHERE playbook_id = OLD.playbook_id AND point_id = OLD.id;
END;

CREATE TRIGGER point_search_after AFTER UPDATE OF text, retired_in ON key_points
WHEN NEW.retired_in IS NULL AND (NEW.text IS NOT OLD.text OR OLD.retired_in IS NOT NULL) BEGIN
    INSERT INTO point_search (rowid, name, text)
    SELECT id, name, text FROM search_texts WHERE playbook_id = NEW.playbook_id AND point_id = NEW.id;
END;
