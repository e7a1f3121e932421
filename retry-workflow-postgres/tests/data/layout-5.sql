-- A store of layout 3, with a job in each state of an item.
CREATE SCHEMA the_schema;
CREATE TABLE the_schema.layout (version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());
INSERT INTO the_schema.layout (version) VALUES (1);

CREATE TABLE the_schema.jobs (
    job bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE the_schema.counts (
    job bigint NOT NULL,
    shard smallint NOT NULL,
    pending bigint NOT NULL DEFAULT 0,
    leased bigint NOT NULL DEFAULT 0,
    succeeded bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    lost bigint NOT NULL DEFAULT 0,
    worked numeric NOT NULL DEFAULT 0,
    waited numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (job, shard)
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
CREATE TABLE the_schema.workers (
    worker bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE the_schema.items (
    item bigint GENERATED ALWAYS AS IDENTITY,
    job bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    correlation text,
    payload text NOT NULL,
    PRIMARY KEY (job, item),
    UNIQUE (job, id)
);
CREATE TABLE the_schema.states (
    item bigint PRIMARY KEY,
    job bigint NOT NULL,
    due bigint,
    token bigint NOT NULL DEFAULT 0,
    run bigint NOT NULL DEFAULT 0,
    attempt bigint NOT NULL DEFAULT 0,
    worker bigint,
    started bigint,
    ended bigint,
    lost integer NOT NULL DEFAULT 0,
    dropped integer NOT NULL DEFAULT 0,
    state smallint NOT NULL DEFAULT 0,
    suspect smallint NOT NULL DEFAULT 0,
    checkpoint text,
    output text
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX claimable ON the_schema.states (job, suspect, due, item) WHERE due IS NOT NULL;
CREATE INDEX failed ON the_schema.states (job, item) WHERE state >= 3;
CREATE TABLE the_schema.history (
    item bigint NOT NULL,
    token bigint NOT NULL,
    run bigint NOT NULL,
    attempt bigint NOT NULL,
    started bigint NOT NULL,
    duration bigint NOT NULL,
    wait bigint NOT NULL,
    worker bigint NOT NULL,
    part integer NOT NULL,
    outcome smallint NOT NULL,
    step text,
    failure text,
    PRIMARY KEY (item, token, part)
);
CREATE TABLE the_schema.failures (
    item bigint PRIMARY KEY,
    job bigint NOT NULL,
    class text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    failure text NOT NULL
);
CREATE INDEX alike ON the_schema.failures (job, signature, item);
CREATE TABLE the_schema.vals (
    key text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    value text NOT NULL
) WITH (fillfactor = 50);

INSERT INTO the_schema.jobs (name) VALUES ('orders-1');
INSERT INTO the_schema.counts (job, shard, pending, leased, succeeded, dead, skipped, attempts, worked)
    VALUES (1, 0, 4, 0, 0, 0, 0, 0, 0), (1, 7, -3, 1, 1, 1, 1, 3, 1500);
INSERT INTO the_schema.workers (name) VALUES ('old');
INSERT INTO the_schema.items (job, id, payload) VALUES
    (1, 'a', '1'), (1, 'b', '2'), (1, 'c', '3'), (1, 'd', '4'), (1, 'e', '');
INSERT INTO the_schema.states (item, job, due, token, attempt, worker, started, ended, state, suspect, output) VALUES
    (1, 1, NULL, 1, 1, 1, 1, 2, 2, 0, '"done"'),
    (2, 1, 5, 1, 1, 1, 1, NULL, 0, 0, NULL),
    (3, 1, 9, 1, 1, 1, 1, NULL, 1, 0, NULL),
    (4, 1, NULL, 1, 1, 1, 1, 2, 3, 0, NULL),
    (5, 1, NULL, 1, 1, 1, 1, 2, 5, 0, NULL);
INSERT INTO the_schema.history (item, token, run, attempt, started, duration, wait, worker, part, outcome, failure) VALUES
    (1, 1, 0, 1, 1, 500, 0, 1, 0, 0, NULL),
    (2, 1, 0, 1, 1, 500, 3, 1, 0, 1, '{"class":"other","message":"not yet","signature":"not yet"}'),
    (4, 1, 0, 1, 1, 500, 0, 1, 0, 1, '{"class":"other","message":"no \"d\"","signature":"no <text>"}');
INSERT INTO the_schema.failures VALUES
    (4, 1, 'other', 'no <text>', '{"class":"other","message":"no \"d\"","signature":"no <text>"}');
INSERT INTO the_schema.vals VALUES ('k', 2, 'two');

ALTER TABLE the_schema.history ADD COLUMN output text;
CREATE TABLE the_schema.groups (
    job bigint NOT NULL,
    alike uuid NOT NULL,
    hour bigint NOT NULL,
    state smallint NOT NULL,
    shard smallint NOT NULL,
    class text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    example bigint,
    PRIMARY KEY (job, alike, hour, state, shard)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
CREATE TABLE the_schema.minutes (
    job bigint NOT NULL,
    minute bigint NOT NULL,
    shard smallint NOT NULL,
    succeeded bigint NOT NULL,
    dead bigint NOT NULL,
    skipped bigint NOT NULL,
    attempts bigint NOT NULL,
    failed bigint NOT NULL,
    PRIMARY KEY (job, minute, shard)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
INSERT INTO the_schema.groups
    SELECT s.job, md5(octet_length(f.class) || ':' || f.class || f.signature)::uuid,
        greatest(s.ended, -9223372033254775808) - mod(mod(greatest(s.ended, -9223372033254775808),
            3600000000) + 3600000000, 3600000000) AS hour,
        s.state, 0, f.class, f.signature, count(*), min(s.ended), max(s.ended), min(s.item)
    FROM the_schema.failures f JOIN the_schema.states s ON s.item = f.item
    WHERE s.state IN (3, 4) AND s.ended IS NOT NULL
    GROUP BY s.job, hour, s.state, f.class, f.signature;
INSERT INTO the_schema.minutes
    SELECT job, time - mod(mod(time, 60000000) + 60000000, 60000000) AS minute, 0, sum(succeeded),
        sum(dead), sum(skipped), sum(attempts), sum(failed)
    FROM (
        SELECT job, greatest(ended, -9223372033254775808) AS time, (state = 2)::integer AS succeeded,
            (state = 3)::integer AS dead, (state >= 4)::integer AS skipped, 0 AS attempts,
            0 AS failed
        FROM the_schema.states WHERE state >= 2 AND ended IS NOT NULL
        UNION ALL
        SELECT s.job, greatest(least(h.started::numeric + h.duration, 9223372036854775807),
                -9223372033254775808)::bigint, 0, 0, 0, 1, (h.outcome = 1)::integer
        FROM the_schema.history h JOIN the_schema.states s ON s.item = h.item WHERE h.outcome <> 2
    ) t GROUP BY job, minute;
WITH new AS (
    INSERT INTO the_schema.jobs (name)
    SELECT substr(key, 5) FROM the_schema.vals WHERE key >= 'job/' AND key < 'job0' ORDER BY key
    ON CONFLICT DO NOTHING RETURNING job
)
INSERT INTO the_schema.counts (job, shard) SELECT job, shard FROM new, generate_series(0, 15) AS shard;
DO $grants$
DECLARE worker text;
BEGIN
    FOR worker IN
        SELECT a.grantee::regrole::text
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = to_regclass('the_schema.states') AND a.privilege_type = 'INSERT'
            AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON the_schema.groups, the_schema.minutes TO ' || worker;
    END LOOP;
END
$grants$;
INSERT INTO the_schema.layout (version) VALUES (2);

UPDATE the_schema.states SET suspect = 2 WHERE suspect = 0 AND attempt > 0 AND due IS NOT NULL;
INSERT INTO the_schema.layout (version) VALUES (3);

ALTER TABLE the_schema.jobs ADD COLUMN priorities integer NOT NULL DEFAULT 0;
INSERT INTO the_schema.layout (version) VALUES (4);

CREATE TABLE the_schema.durations (
    job bigint NOT NULL,
    minute bigint NOT NULL,
    count bigint NOT NULL,
    shard smallint NOT NULL,
    bucket smallint NOT NULL,
    step text COLLATE "C" NOT NULL,
    PRIMARY KEY (job, minute, shard, step, bucket)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
DO $grants$
DECLARE worker text;
BEGIN
    FOR worker IN
        SELECT a.grantee::regrole::text
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = to_regclass('the_schema.states') AND a.privilege_type = 'INSERT'
            AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON the_schema.durations TO ' || worker;
    END LOOP;
END
$grants$;
INSERT INTO the_schema.durations (job, minute, count, shard, bucket, step) VALUES
    (1, 0, 1, 3, 0, ''),
    (1, 0, 2, 3, 0, 'load'),
    (1, 0, 1, 4, 0, '');
INSERT INTO the_schema.layout (version) VALUES (5);
