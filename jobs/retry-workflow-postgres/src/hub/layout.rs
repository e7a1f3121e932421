//! The tables of the hub.

use crate::migration::{HUB, Layout};

/// The layout that this program reads and writes.
pub(crate) const LAYOUT: Layout = Layout { table: HUB, steps: &[TABLES], grants: GRANTS };

const TABLES: &str = "
CREATE TABLE @members (
    fleet text NOT NULL, member text NOT NULL, joined int8 NOT NULL, seen int8 NOT NULL,
    PRIMARY KEY (fleet, member)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE TABLE @reports (
    fleet text NOT NULL, breaker text NOT NULL, member text NOT NULL,
    open boolean NOT NULL, called int8,
    PRIMARY KEY (fleet, breaker, member)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE TABLE @breakers (
    fleet text NOT NULL, breaker text NOT NULL, epoch int8 NOT NULL,
    until int8, probe_from int8, reopenings int8, prober text, probe_until int8,
    held_until int8,
    PRIMARY KEY (fleet, breaker)
) WITH (fillfactor = 50);
CREATE TABLE @quotas (
    fleet text NOT NULL, quota text NOT NULL, tokens float8 NOT NULL,
    before int8 NOT NULL, asked int8 NOT NULL, resumed int8 NOT NULL,
    PRIMARY KEY (fleet, quota)
) WITH (fillfactor = 50);
CREATE TABLE @shares (
    fleet text NOT NULL, quota text NOT NULL, member text NOT NULL, seq int8 NOT NULL,
    capacity int8 NOT NULL, floor int8 NOT NULL,
    until int8 NOT NULL, called_back int8 NOT NULL, asked int8 NOT NULL,
    granted int8 NOT NULL DEFAULT 0, returned int8 NOT NULL DEFAULT 0,
    PRIMARY KEY (fleet, quota, member)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE VIEW @lent AS
    SELECT fleet, quota, member,
        CASE WHEN until > now THEN capacity
            WHEN called_back > now THEN least(capacity, floor)
            ELSE floor END AS tokens
    FROM @shares, (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now) AS t;
";

const GRANTS: &str = "
GRANT SELECT, INSERT, UPDATE, DELETE ON @members, @reports, @breakers, @quotas, @shares TO $role;
GRANT SELECT ON @lent TO $role;
";
