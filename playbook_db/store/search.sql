-- The source of the full-text index, `point_search`. It has only live points, so retired ones don't slow down a search.
-- The index reads the texts from this view. A row's number combines playbook and point, which limits a search to one
-- range of the index. Scripts without spaces between words are indexed by character: trigrams would miss words of two
-- characters.

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

-- The points whose last change is missing from the index, with the text that the index has for them, or NULL.
CREATE TABLE IF NOT EXISTS point_search_waiting (id INTEGER PRIMARY KEY, text TEXT) STRICT;
