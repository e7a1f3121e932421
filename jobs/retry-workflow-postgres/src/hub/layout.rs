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
";

const GRANTS: &str = "
GRANT SELECT, INSERT, UPDATE, DELETE ON @members, @reports, @breakers TO $role;
";
