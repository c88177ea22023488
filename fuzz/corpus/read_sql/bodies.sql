dialect: postgres
CREATE FUNCTION f(a int) RETURNS int AS $body$ BEGIN IF a > 1 THEN RETURN 1; END IF; SELECT x FROM y; END; $body$ LANGUAGE plpgsql;
COPY t (a, b) FROM STDIN;
1	2
\.
\d t
/* nested /* twice */ */ SELECT $1, $$text$$;
