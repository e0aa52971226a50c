-- Changes of live points wait in a table. After a transaction the index gets all of them at once, since each statement
-- that writes to the index adds a segment. So a damaged index stops no writer.

CREATE TRIGGER point_search_added AFTER INSERT ON key_points WHEN NEW.retired_in IS NULL BEGIN
    INSERT INTO point_search_waiting (id) VALUES (NEW.playbook_id * 4294967296 + NEW.id) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER point_search_changed BEFORE UPDATE OF text, retired_in ON key_points
WHEN NEW.text IS NOT OLD.text OR (NEW.retired_in IS NULL) <> (OLD.retired_in IS NULL) BEGIN
    INSERT INTO point_search_waiting (id, text)
    SELECT OLD.playbook_id * 4294967296 + OLD.id,
           (SELECT text FROM search_texts WHERE playbook_id = OLD.playbook_id AND point_id = OLD.id)
    WHERE true ON CONFLICT DO NOTHING;
END;
