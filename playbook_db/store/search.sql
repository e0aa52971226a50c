-- What the index for full text, `point_search`, is made of: live points alone, so that what has left costs a search
-- nothing. It holds no texts of its own; they are read, for a rebuild as for a change, as this view has them. A row's
-- number tells playbook and point, which keeps a search to one stretch of the index. Scripts that put no spaces between
-- words are kept by character: trigrams would not find a word of two, and those are the most.

CREATE VIEW search_texts AS
SELECT k.playbook_id, k.id AS point_id, k.playbook_id * 4294967296 + k.id AS id, k.name,
       CASE WHEN length(k.text) = length(CAST(k.text AS BLOB)) OR k.text NOT GLOB '*[⺀-𳿿]*' THEN k.text ELSE (
           WITH RECURSIVE letters (at, letter) AS (
               SELECT 1, substr(k.text, 1, 1)
               UNION ALL
               SELECT at + 1, substr(k.text, at + 1, 1) FROM letters WHERE at < length(k.text))
           SELECT group_concat(CASE WHEN letter GLOB '[⺀-〇〡-鿿ꥠ-꥿가-퟿豈-﫿ｦ-ﾟ𛀀-𛅯𠀀-𳿿]' THEN ' ' || letter || ' '
                               ELSE letter END, '') FROM letters) END AS text
FROM key_points AS k WHERE k.retired_in IS NULL;

-- The points whose last change the index hasn't got yet, with what it has of them; NULL is nothing.
CREATE TABLE IF NOT EXISTS point_search_waiting (id INTEGER PRIMARY KEY, text TEXT) STRICT;
