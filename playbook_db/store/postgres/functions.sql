-- Functions of SQLite that the views and the examples in docs/sql.md use, so that the same SQL works in both databases.
-- PostgreSQL has some functions with these names, but for other types.

CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT jsonb_array_elements_text(list::jsonb) $$;

CREATE FUNCTION json_extract(whole text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT jsonb_path_query_first(whole::jsonb, path::jsonpath) #>> '{}' $$;

CREATE FUNCTION instr(whole text, part text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT strpos(whole, part) $$;

CREATE FUNCTION round(number double precision, digits integer) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT round(number::numeric, digits)::double precision $$;

CREATE FUNCTION julianday(moment text) RETURNS double precision LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT extract(epoch FROM moment::timestamptz)::double precision / 86400 + 2440587.5 $$;

-- This date function knows only some modifiers of SQLite: the start of a month or year, a weekday, a number of days.
CREATE FUNCTION date(moment text, VARIADIC modifiers text[]) RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    day date := (moment::timestamptz AT TIME ZONE 'UTC')::date;
    modifier text;
BEGIN
    IF moment = 'now' THEN
        day := (now() AT TIME ZONE 'UTC')::date;
    ELSIF length(moment) = 10 THEN
        day := moment::date;
    END IF;
    FOREACH modifier IN ARRAY modifiers LOOP
        CASE
            WHEN modifier = 'start of month' THEN day := date_trunc('month', day)::date;
            WHEN modifier = 'start of year' THEN day := date_trunc('year', day)::date;
            WHEN modifier LIKE 'weekday _' THEN
                day := day + ((right(modifier, 1)::integer - extract(dow FROM day)::integer + 7) % 7);
            ELSE day := (day + modifier::interval)::date;
        END CASE;
    END LOOP;
    RETURN to_char(day, 'YYYY-MM-DD');
END $$;

CREATE FUNCTION joined_text(so_far text, part text, separator text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN part IS NULL THEN so_far ELSE coalesce(so_far || separator, '') || part END $$;

CREATE FUNCTION joined_text(so_far text, part text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT joined_text(so_far, part, ',') $$;

CREATE AGGREGATE group_concat(part text, separator text) (SFUNC = joined_text, STYPE = text);

CREATE AGGREGATE group_concat(part text) (SFUNC = joined_text, STYPE = text);
