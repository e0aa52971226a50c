-- The source of the full-text index, `point_search`. It has only live points, so retired ones don't slow down a search.
-- The index reads the texts from this view. A row's number combines playbook and point, which limits a search to one
-- range of the index. Scripts without spaces between words are indexed by character: trigrams would miss words of two
-- characters. DuckDB reads neither the operator GLOB nor recursion, so the places of letters come from six digits.

CREATE VIEW search_texts AS
SELECT k.playbook_id, k.id AS point_id, k.playbook_id * 4294967296 + k.id AS id, k.name,
       CASE WHEN length(k.text) = length(CAST(k.text AS BLOB)) OR NOT glob('*[⺀-𳿿]*', k.text) THEN k.text ELSE (
           WITH digit (n) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))
           SELECT group_concat(CASE WHEN glob('[⺀-〇〡-鿿ꥠ-꥿가-퟿豈-﫿ｦ-ﾟ𛀀-𛅯𠀀-𳿿]', l.letter) THEN ' ' || l.letter || ' '
                               ELSE l.letter END, '')
           FROM (SELECT substr(k.text, 100000 * f.n + 10000 * e.n + 1000 * d.n + 100 * c.n + 10 * b.n + a.n + 1, 1)
                     AS letter
                 FROM digit AS f CROSS JOIN digit AS e CROSS JOIN digit AS d
                 CROSS JOIN digit AS c CROSS JOIN digit AS b CROSS JOIN digit AS a
                 WHERE 100000 * f.n < length(k.text) AND 100000 * f.n + 10000 * e.n < length(k.text)
                   AND 100000 * f.n + 10000 * e.n + 1000 * d.n < length(k.text)
                   AND 100000 * f.n + 10000 * e.n + 1000 * d.n + 100 * c.n < length(k.text)
                   AND 100000 * f.n + 10000 * e.n + 1000 * d.n + 100 * c.n + 10 * b.n + a.n < length(k.text)
                ) AS l) END AS text
FROM key_points AS k WHERE k.retired_in IS NULL;

-- The points whose last change is missing from the index, with the text that the index has for them, or NULL.
CREATE TABLE IF NOT EXISTS point_search_waiting (id INTEGER PRIMARY KEY, text TEXT) STRICT;
