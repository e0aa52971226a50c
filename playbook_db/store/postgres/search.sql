-- The index for full text, as store/search.sql has it for SQLite: of live points alone, kept by the server. What a word
-- is, which letters are the same and what its stem is hang on no extension, no locale and no parser of the server's, so
-- that the same points answer as in a file; docs/team-reference.md says where they don't. Each entry begins with its playbook's
-- number, so what others write costs a search nothing, and words of names are told from those of texts.

CREATE TEXT SEARCH DICTIONARY porter_stems (TEMPLATE = snowball, LANGUAGE = porter);

-- The stems of a text, in its order. SQLite leaves words alone that are very short or long, and knows two endings more.
-- No entry may be longer than 2 KB, nor all of a text's longer than 1 MB: what is beyond isn't found, but kept.
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

-- What asks for words that stand side by side in a text; those of an identifier that is written whole also in a name.
CREATE FUNCTION search_query(playbook_id integer, words text, is_whole boolean) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN is_whole THEN of_text || of_name ELSE of_text END
    FROM (SELECT string_agg(format('''%s:%s''', playbook_id, stem), ' <-> ' ORDER BY place)::tsquery AS of_text,
                 string_agg(format('''%s#%s''', playbook_id, stem), ' <-> ' ORDER BY place)::tsquery AS of_name
          FROM unnest(search_stems(words)) WITH ORDINALITY AS t (stem, place)) AS phrases
$$;

CREATE INDEX ix_key_points_search ON key_points USING gin (search_words(playbook_id, name, text))
WITH (fastupdate = off) WHERE retired_in IS NULL;
