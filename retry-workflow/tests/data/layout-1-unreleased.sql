-- Layout 1 as a program had it that was never released: later programs read other columns.
CREATE TABLE jobs (
    job INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    pending INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    worked INTEGER NOT NULL DEFAULT 0,
    waited INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE workers (
    worker INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE items (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    id TEXT NOT NULL,
    correlation TEXT,
    payload TEXT NOT NULL,
    UNIQUE (job, id)
);
CREATE TABLE states (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    state INTEGER NOT NULL,
    due INTEGER,
    token INTEGER NOT NULL,
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    worker INTEGER,
    claimed INTEGER,
    ended INTEGER,
    progress TEXT,
    output TEXT
);
CREATE INDEX claimable ON states (job, due) WHERE due IS NOT NULL;
CREATE INDEX failed ON states (job) WHERE state >= 3;
CREATE TABLE history (
    item INTEGER NOT NULL,
    token INTEGER NOT NULL,
    part INTEGER NOT NULL,
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    started INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    step TEXT,
    class TEXT,
    signature TEXT,
    message TEXT,
    chain TEXT,
    PRIMARY KEY (item, token, part)
) WITHOUT ROWID;
CREATE TABLE failures (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    class TEXT NOT NULL,
    signature TEXT NOT NULL,
    message TEXT NOT NULL,
    chain TEXT
);
CREATE INDEX alike ON failures (job, signature);
CREATE TABLE vals (
    key TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;
PRAGMA application_id = 0x72747279;
PRAGMA user_version = 1;
INSERT INTO jobs (name, pending) VALUES ('import-1', 1);
INSERT INTO items (job, id, payload) VALUES (1, 'a', '1');
INSERT INTO states (item, job, state, due, token, run, attempt, lost) VALUES (1, 1, 0, 5, 0, 0, 0, 0);
