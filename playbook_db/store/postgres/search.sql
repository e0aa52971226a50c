-- The full-text index, as in store/search.sql for SQLite: of live points only, updated by the server. It uses no
-- extension, locale or parser of the server to find words, equal letters and stems. So a search finds the same points
-- as in a file. docs/team-reference.md lists the exceptions. Each entry begins with its playbook's number, so other
-- playbooks don't slow down a search. A sign distinguishes words of names from words of texts.

CREATE TEXT SEARCH DICTIONARY porter_stems (TEMPLATE = snowball, LANGUAGE = porter);

-- The stems of a text, in the order of its words. Like SQLite, this doesn't change very short or long words, and knows
-- two more endings. An entry may have at most 2 KB, and all entries of a text 1 MB. A search doesn't find words beyond
-- these limits.
CREATE FUNCTION search_stems(whole text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000
SET search_path FROM CURRENT AS $$
    SELECT coalesce(array_agg(CASE
        WHEN octet_length(word) BETWEEN 3 AND 64 THEN
            regexp_replace(coalesce((ts_lexize('porter_stems', word))[1], word), '(log|bl)i$', '\1')
        ELSE left(word, 400) END ORDER BY place), '{}')
    FROM (SELECT lower(normalize(regexp_replace(
              normalize(left(whole, 40000), NFD), '([A-Za-z])[\u0300-\u0340]+' COLLATE "C", '\1', 'g'), NFC) COLLATE "C")
         ) AS given (letters)
    CROSS JOIN LATERAL (SELECT CASE WHEN given.letters ~ '[{capitals}]' COLLATE "C"
                               THEN translate(given.letters, '{capitals}', '{small}') ELSE given.letters END) AS small (letters)
    CROSS JOIN LATERAL unnest(string_to_array(
        regexp_replace(regexp_replace(small.letters, '([{alone}])' COLLATE "C", ' \1 ', 'g'),
                       '\ufdd0[01]|[{between}]+' COLLATE "C", ' ', 'g'),
        ' ')) WITH ORDINALITY AS words (word, place)
    WHERE word <> ''
$$;

CREATE FUNCTION search_words(playbook_id integer, name text, text text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 20000 SET search_path FROM CURRENT AS $$
    SELECT coalesce(string_agg(format('''%s%s%s'':%s', playbook_id, kind, stem, least(place, 16383)), ' '), '')::tsvector
    FROM (SELECT ':' AS kind, t.* FROM unnest(search_stems(text)) WITH ORDINALITY AS t (stem, place)
          UNION ALL
          SELECT '#', n.* FROM unnest(search_stems(name)) WITH ORDINALITY AS n (stem, place)) AS entries
$$;

-- The query for words that follow each other in a text. If the words are a whole identifier, it also looks for them in
-- names.
CREATE FUNCTION search_query(playbook_id integer, words text, is_whole boolean) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN is_whole THEN of_text || of_name ELSE of_text END
    FROM (SELECT string_agg(format('''%s:%s''', playbook_id, stem), ' <-> ' ORDER BY place)::tsquery AS of_text,
                 string_agg(format('''%s#%s''', playbook_id, stem), ' <-> ' ORDER BY place)::tsquery AS of_name
          FROM unnest(search_stems(words)) WITH ORDINALITY AS t (stem, place)) AS phrases
$$;

CREATE INDEX ix_key_points_search ON key_points USING gin (search_words(playbook_id, name, text))
WITH (fastupdate = off) WHERE retired_in IS NULL;
