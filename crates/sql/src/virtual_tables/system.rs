//! The catalogs that are (nearly) the same whatever tables there are: types, namespaces, databases, roles, settings.
//!
//! Things that do not exist here (policies, publications, partitions, extensions) have empty catalogs, so that clients that look for
//! them find none.

use super::object::{
    DATABASE_OWNER, DEFAULT_COLLATION, INFORMATION_SCHEMA, OWNER, PG_CATALOG, PUBLIC, namespace_number, table_number,
};
use super::{Listed, Shape, nothing, number, text, truth};
use crate::catalog::Catalog;
use crate::server_fact::{ClientFact, LockFact, LockedThing};
use crate::storage::Row;
use skew_value::Datum;
use skew_value::function::Environment;

const NAMESPACE: &str = "oid oid, nspname name, nspowner oid=10, nspacl text[]";
const DATABASE: &str = "oid oid, datname name, datdba oid=10, encoding int=6, datlocprovider letter='c', datistemplate bool=false, \
    datallowconn bool=true, datconnlimit int=-1, datfrozenxid oid=0, datminmxid oid=0, dattablespace oid=1663, \
    datcollate text='C', datctype text='C', daticulocale text, datcollversion text, datacl text[]";
const ROLES: &str = "oid oid=10, rolname name, rolsuper bool=true, rolinherit bool=true, rolcreaterole bool=true, \
    rolcreatedb bool=true, rolcanlogin bool=true, rolreplication bool=false, rolbypassrls bool=true, \
    rolconnlimit int=-1, rolpassword text, rolvaliduntil time";
const USER: &str = "usename name, usesysid oid=10, usecreatedb bool=true, usesuper bool=true, userepl bool=false, \
    usebypassrls bool=true, passwd text, valuntil time, useconfig text[]";
const COLLATION: &str = "oid oid, collname name, collnamespace oid=11, collowner oid=10, collprovider letter='c', \
    collisdeterministic bool=true, collencoding int=-1, collcollate text='C', collctype text='C', \
    colliculocale text, collversion text";
const SETTINGS: &str = "name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, \
    vartype text='string', source text='default', min_val text, max_val text, enumvals text[], boot_val text, \
    reset_val text, sourcefile text, sourceline int, pending_restart bool=false";
const PROC: &str = "oid oid, proname name, pronamespace oid=11, proowner oid=10, prolang oid=12, procost real=1, \
    prorows real=0, provariadic oid=0, prosupport regproc=0, prokind letter='f', prosecdef bool=false, \
    proleakproof bool=false, proisstrict bool=false, proretset bool=false, provolatile letter='i', \
    proparallel letter='s', pronargs small=0, pronargdefaults small=0, prorettype oid=25, \
    proargtypes oidvector, proallargtypes oid[], proargmodes letter[], proargnames text[], proargdefaults text, \
    protrftypes oid[], prosrc text, probin text, prosqlbody text, proconfig text[], proacl text[]";
const ACTIVITY: &str = "datid oid=16384, datname name, pid int, leader_pid int, usesysid oid=10, usename name, \
    application_name text='', client_addr text, client_hostname text, client_port int=-1, backend_start time, \
    xact_start time, query_start time, state_change time, wait_event_type text, wait_event text, \
    state text='active', backend_xid oid, backend_xmin oid, query_id big, query text='', \
    backend_type text='client backend'";
const LOCKS: &str = "locktype text, database oid, relation oid, page int, tuple small, virtualxid text, transactionid oid, \
    classid oid, objid oid, objsubid small, virtualtransaction text, pid int, mode text, granted bool, \
    fastpath bool, waitstart time";
const EXTENSION: &str = "oid oid, extname name, extowner oid=10, extnamespace oid=11, extrelocatable bool=false, extversion text, \
    extconfig oid[], extcondition text[]";

const CURSORS: &str = "name text, statement text, is_holdable bool, is_binary bool=false, is_scrollable bool=true, \
    creation_time time";
/// The database of clients that name none of PostgreSQL's own.
const DATABASE_NUMBER: i128 = 16_384;
const TABLESPACE: &str = "oid oid, spcname name, spcowner oid, spcacl text[], spcoptions text[]";

/// The tables of this file.
pub(super) const TABLES: &[Listed] = &[
    Listed { name: "pg_namespace", shape: NAMESPACE, rows: namespaces },
    Listed { name: "pg_database", shape: DATABASE, rows: databases },
    Listed { name: "pg_roles", shape: ROLES, rows: roles },
    Listed { name: "pg_authid", shape: ROLES, rows: roles },
    Listed { name: "pg_user", shape: USER, rows: users },
    Listed { name: "pg_collation", shape: COLLATION, rows: collations },
    Listed { name: "pg_settings", shape: SETTINGS, rows: settings },
    Listed { name: "pg_stat_activity", shape: ACTIVITY, rows: activity },
    Listed { name: "pg_proc", shape: PROC, rows: nothing },
    Listed { name: "pg_locks", shape: LOCKS, rows: nothing },
    Listed { name: "pg_cursors", shape: CURSORS, rows: cursors },
    Listed { name: "pg_extension", shape: EXTENSION, rows: extensions },
    Listed { name: "pg_tablespace", shape: TABLESPACE, rows: tablespaces },
];

fn namespaces(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(NAMESPACE);
    let fixed = [(PG_CATALOG, "pg_catalog"), (PUBLIC, "public"), (INFORMATION_SCHEMA, "information_schema")];
    let own = catalog.namespaces.iter().map(|name| (namespace_number(catalog, name), name.as_str()));
    let row = |(oid, name): (i128, &str)| {
        let owner = if oid == PUBLIC { DATABASE_OWNER } else { OWNER };
        shape.row(&[("oid", number(oid)), ("nspname", text(name)), ("nspowner", number(owner))])
    };
    fixed.into_iter().chain(own).map(row).collect()
}

fn databases(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(DATABASE);
    // Every PostgreSQL has these three besides; clients connect to `postgres` to make others.
    let mut names = vec![(5, "postgres"), (1, "template1"), (4, "template0")];
    if names.iter().all(|(_, name)| *name != environment.database) {
        names.push((16_384, &environment.database));
    }
    let row = |(oid, name): (i128, &str)| {
        let template = name.starts_with("template");
        let owner = &environment.user;
        let rights = [format!("=c/{owner}"), format!("{owner}=CTc/{owner}")].map(Datum::text);
        shape.row(&[
            ("oid", number(oid)),
            ("datname", text(name)),
            ("datistemplate", truth(template)),
            ("datallowconn", truth(name != "template0")),
            ("datacl", if template { Datum::Array(rights.into()) } else { Datum::Null }),
        ])
    };
    names.into_iter().map(row).collect()
}

fn cursors(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(CURSORS);
    let row = |(name, statement, hold): &(String, String, bool)| {
        shape.row(&[
            ("name", text(name)),
            ("statement", text(statement)),
            ("is_holdable", truth(*hold)),
            ("creation_time", Datum::TimestampZoned(environment.transaction_time)),
        ])
    };
    environment.cursors.iter().map(row).collect()
}

/// Every PostgreSQL has this one.
fn extensions(_: &Catalog, _: &Environment) -> Vec<Row> {
    let version = ("extversion", text("1.0"));
    vec![Shape::of(EXTENSION).row(&[("oid", number(13_563)), ("extname", text("plpgsql")), version])]
}

fn tablespaces(_: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(TABLESPACE);
    let row = |(oid, name): (i128, &str)| {
        shape.row(&[("oid", number(oid)), ("spcname", text(name)), ("spcowner", number(OWNER))])
    };
    [(1663, "pg_default"), (1664, "pg_global")].into_iter().map(row).collect()
}

fn roles(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(ROLES);
    vec![shape.row(&[("rolname", text(&environment.user)), ("oid", number(OWNER))])]
}

fn users(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(USER);
    vec![shape.row(&[("usename", text(&environment.user))])]
}

fn collations(_: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(COLLATION);
    let row = |(oid, name): (i128, &str)| shape.row(&[("oid", number(oid)), ("collname", text(name))]);
    [(DEFAULT_COLLATION, "default"), (950, "C"), (951, "POSIX")].into_iter().map(row).collect()
}

fn settings(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(SETTINGS);
    let row = |(name, setting): (&String, &String)| {
        shape.row(&[("name", text(name)), ("setting", text(setting)), ("reset_val", text(setting))])
    };
    environment.settings.borrow().iter().map(row).collect()
}

fn activity(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(ACTIVITY);
    vec![shape.row(&[
        ("datname", text(&environment.database)),
        ("pid", number(environment.connection)),
        ("usename", text(&environment.user)),
        ("backend_start", Datum::TimestampZoned(environment.transaction_time)),
        ("xact_start", Datum::TimestampZoned(environment.transaction_time)),
    ])]
}

/// `pg_stat_activity` of a server.
pub(crate) fn activity_of(clients: &[ClientFact], environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(ACTIVITY);
    let row = |client: &ClientFact| {
        let (kind, event) = match client.waits {
            Some(event) => (text("Lock"), text(event)),
            None if client.state == "active" => (Datum::Null, Datum::Null),
            None => (text("Client"), text("ClientRead")),
        };
        shape.row(&[
            ("pid", number(client.process)),
            ("datname", text(&client.database)),
            ("usename", text(&client.user)),
            ("application_name", text(&client.application)),
            ("state", text(client.state)),
            ("wait_event_type", kind),
            ("wait_event", event),
            ("query", text(&client.query)),
            ("backend_start", Datum::TimestampZoned(environment.transaction_time)),
        ])
    };
    clients.iter().map(row).collect()
}

/// `pg_locks` of a server.
pub(crate) fn locks_of(locks: &[LockFact], catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(LOCKS);
    let row = |lock: &LockFact| {
        let (kind, mut values) = match &lock.thing {
            LockedThing::Table(name) => {
                let table = catalog.tables.get(&**name).map_or(Datum::Null, |table| number(table_number(table)));
                ("relation", vec![("relation", table)])
            }
            LockedThing::Advisory(key) => ("advisory", advisory_columns(*key)),
            LockedThing::Transaction(id) => ("transactionid", vec![("transactionid", number(*id))]),
        };
        if kind != "transactionid" {
            values.push(("database", number(DATABASE_NUMBER)));
        }
        values.extend([
            ("locktype", text(kind)),
            ("pid", number(lock.process)),
            ("mode", text(lock.mode)),
            ("granted", truth(lock.granted)),
            ("fastpath", truth(false)),
            ("virtualtransaction", text(format!("{}/1", lock.process))),
        ]);
        shape.row(&values)
    };
    locks.iter().map(row).collect()
}

/// One number of an application is told in two halves, and so are two numbers.
fn advisory_columns(key: i128) -> Vec<(&'static str, Datum)> {
    let is_pair = key >> 96 == 1;
    let half = |bits: i128| number(bits & 0xFFFF_FFFF);
    vec![("classid", half(key >> 32)), ("objid", half(key)), ("objsubid", number(if is_pair { 2 } else { 1 }))]
}
