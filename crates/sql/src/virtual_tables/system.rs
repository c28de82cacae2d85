//! The catalogs that are (nearly) the same whatever tables there are: types, namespaces, databases, roles, settings.
//!
//! Things that do not exist here (policies, publications, partitions, extensions) have empty catalogs, so that clients that look for
//! them find none.

use super::object::{
    BTREE, DEFAULT_COLLATION, HEAP, INFORMATION_SCHEMA, OWNER, PG_CATALOG, PUBLIC, TYPES, namespace_number, number_of,
    row_type_number, table_number,
};
use super::{Listed, Shape, apart, nothing, number, text};
use crate::catalog::Catalog;
use crate::function::Environment;
use crate::storage::Row;

const NAMESPACE: &str = "oid oid, nspname text, nspowner oid=10, nspacl text[]";
const TYPE: &str = "oid oid, typname text, typnamespace oid=11, typowner oid=10, typlen small=-1, typbyval bool=false, \
    typtype text='b', typcategory text='U', typispreferred bool=false, typisdefined bool=true, typdelim text, \
    typrelid oid=0, typsubscript oid=0, typelem oid=0, typarray oid=0, typinput oid=0, typoutput oid=0, typreceive oid=0, \
    typsend oid=0, typmodin oid=0, typmodout oid=0, typanalyze oid=0, typalign text='i', typstorage text='p', \
    typnotnull bool=false, typbasetype oid=0, typtypmod int=-1, typndims int=0, typcollation oid=0, typdefaultbin text, \
    typdefault text, typacl text[]";
const DATABASE: &str = "oid oid, datname text, datdba oid=10, encoding int=6, datlocprovider text='c', \
    datistemplate bool=false, datallowconn bool=true, datconnlimit int=-1, datfrozenxid oid=0, datminmxid oid=0, \
    dattablespace oid=1663, datcollate text='C', datctype text='C', daticulocale text, datcollversion text, datacl text[]";
const ROLES: &str = "rolname text, rolsuper bool=true, rolinherit bool=true, rolcreaterole bool=true, \
    rolcreatedb bool=true, rolcanlogin bool=true, rolreplication bool=false, rolconnlimit int=-1, rolpassword text, \
    rolvaliduntil time, rolbypassrls bool=true, rolconfig text[], oid oid=10";
const USER: &str = "usename text, usesysid oid=10, usecreatedb bool=true, usesuper bool=true, userepl bool=false, \
    usebypassrls bool=true, passwd text, valuntil time, useconfig text[]";
const ACCESS_METHOD: &str = "oid oid, amname text, amhandler oid=0, amtype text";
const COLLATION: &str = "oid oid, collname text, collnamespace oid=11, collowner oid=10, collprovider text='c', \
    collisdeterministic bool=true, collencoding int=-1, collcollate text='C', collctype text='C', colliculocale text, \
    collversion text";
const ENUM: &str = "oid oid, enumtypid oid, enumsortorder real, enumlabel text";
const SETTINGS: &str = "name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, \
    vartype text='string', source text='default', min_val text, max_val text, enumvals text[], boot_val text, \
    reset_val text, sourcefile text, sourceline int, pending_restart bool=false";
const PROC: &str = "oid oid, proname text, pronamespace oid=11, proowner oid=10, prolang oid=12, procost real=1, prorows real=0, \
    provariadic oid=0, prosupport oid=0, prokind text='f', prosecdef bool=false, proleakproof bool=false, \
    proisstrict bool=false, proretset bool=false, provolatile text='i', proparallel text='s', pronargs small=0, \
    pronargdefaults small=0, prorettype oid=25, proargtypes oid[], proallargtypes oid[], proargmodes text[], \
    proargnames text[], proargdefaults text, protrftypes oid[], prosrc text, probin text, prosqlbody text, \
    proconfig text[], proacl text[]";
const ACTIVITY: &str = "datid oid=16384, datname text, pid int, leader_pid int, usesysid oid=10, usename text, \
    application_name text='', client_addr text, client_hostname text, client_port int=-1, backend_start time, xact_start time, \
    query_start time, state_change time, wait_event_type text, wait_event text, state text='active', backend_xid oid, \
    backend_xmin oid, query_id big, query text='', backend_type text='client backend'";
const LOCKS: &str = "locktype text, database oid, relation oid, page int, tuple small, virtualxid text, transactionid oid, \
    classid oid, objid oid, objsubid small, virtualtransaction text, pid int, mode text, granted bool, fastpath bool, \
    waitstart time";
const OPCLASS: &str = "oid oid, opcmethod oid=403, opcname text, opcnamespace oid=11, opcowner oid=10, opcfamily oid=0, \
    opcintype oid=0, opcdefault bool=true, opckeytype oid=0";
const RANGE: &str = "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical oid, \
    rngsubdiff oid";
const EXTENSION: &str = "oid oid, extname text, extowner oid=10, extnamespace oid=11, extrelocatable bool=false, \
    extversion text, extconfig oid[], extcondition text[]";
const POLICY: &str = "oid oid, polname text, polrelid oid, polcmd text, polpermissive bool, polroles oid[], polqual text, \
    polwithcheck text";
const STATISTIC_EXT: &str = "oid oid, stxrelid oid, stxname text, stxnamespace oid, stxowner oid, stxstattarget int, \
    stxkeys small[], stxkind text[], stxexprs text";
const PUBLICATION: &str = "oid oid, pubname text, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, \
    pubdelete bool, pubtruncate bool, pubviaroot bool";
const TRIGGER: &str = "oid oid, tgrelid oid, tgparentid oid, tgname text, tgfoid oid, tgtype small, tgenabled text, \
    tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, tginitdeferred bool, \
    tgnargs small, tgattr small[], tgargs text, tgqual text, tgoldtable text, tgnewtable text";
const PARTITIONED: &str = "partrelid oid, partstrat text, partnatts small, partdefid oid, partattrs small[], \
    partclass oid[], partcollation oid[], partexprs text";

/// The tables of this file.
pub(super) const TABLES: &[Listed] = &[
    Listed { name: "pg_namespace", shape: NAMESPACE, rows: namespaces },
    Listed { name: "pg_type", shape: TYPE, rows: types },
    Listed { name: "pg_database", shape: DATABASE, rows: databases },
    Listed { name: "pg_roles", shape: ROLES, rows: roles },
    Listed { name: "pg_authid", shape: ROLES, rows: roles },
    Listed { name: "pg_user", shape: USER, rows: users },
    Listed { name: "pg_am", shape: ACCESS_METHOD, rows: access_methods },
    Listed { name: "pg_collation", shape: COLLATION, rows: collations },
    Listed { name: "pg_enum", shape: ENUM, rows: labels },
    Listed { name: "pg_settings", shape: SETTINGS, rows: settings },
    Listed { name: "pg_stat_activity", shape: ACTIVITY, rows: activity },
    Listed { name: "pg_proc", shape: PROC, rows: nothing },
    Listed { name: "pg_locks", shape: LOCKS, rows: nothing },
    Listed { name: "pg_opclass", shape: OPCLASS, rows: nothing },
    Listed { name: "pg_range", shape: RANGE, rows: nothing },
    Listed { name: "pg_extension", shape: EXTENSION, rows: nothing },
    Listed { name: "pg_policy", shape: POLICY, rows: nothing },
    Listed { name: "pg_statistic_ext", shape: STATISTIC_EXT, rows: nothing },
    Listed { name: "pg_publication", shape: PUBLICATION, rows: nothing },
    Listed {
        name: "pg_publication_rel",
        shape: "oid oid, prpubid oid, prrelid oid, prqual text, prattrs small[]",
        rows: nothing,
    },
    Listed { name: "pg_publication_namespace", shape: "oid oid, pnpubid oid, pnnspid oid", rows: nothing },
    Listed { name: "pg_trigger", shape: TRIGGER, rows: nothing },
    Listed { name: "pg_partitioned_table", shape: PARTITIONED, rows: nothing },
    Listed {
        name: "pg_tablespace",
        shape: "oid oid, spcname text, spcowner oid, spcacl text[], spcoptions text[]",
        rows: nothing,
    },
    Listed { name: "pg_shdescription", shape: "objoid oid, classoid oid, description text", rows: nothing },
    Listed { name: "pg_auth_members", shape: "roleid oid, member oid, grantor oid, admin_option bool", rows: nothing },
    Listed {
        name: "pg_rewrite",
        shape: "oid oid, rulename text, ev_class oid, ev_type text, ev_enabled text, is_instead bool",
        rows: nothing,
    },
    Listed { name: "pg_foreign_table", shape: "ftrelid oid, ftserver oid, ftoptions text[]", rows: nothing },
    Listed { name: "pg_foreign_server", shape: "oid oid, srvname text, srvowner oid, srvfdw oid", rows: nothing },
    Listed {
        name: "pg_matviews",
        shape: "schemaname text, matviewname text, matviewowner text, definition text",
        rows: nothing,
    },
    Listed {
        name: "pg_prepared_xacts",
        shape: "transaction oid, gid text, prepared time, owner text, database text",
        rows: nothing,
    },
];

fn namespaces(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(NAMESPACE);
    let fixed = [(PG_CATALOG, "pg_catalog"), (PUBLIC, "public"), (INFORMATION_SCHEMA, "information_schema")];
    let own = catalog.namespaces.iter().map(|name| (namespace_number(catalog, name), name.as_str()));
    let row = |(oid, name): (i128, &str)| shape.row(&[("oid", number(oid)), ("nspname", text(name))]);
    fixed.into_iter().chain(own).map(row).collect()
}

fn types(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(TYPE);
    let mut rows = Vec::new();
    for &(oid, array, name, length, category) in TYPES {
        let collation = if category == "S" { DEFAULT_COLLATION } else { 0 };
        rows.push(shape.row(&[
            ("oid", number(oid)),
            ("typname", text(name)),
            ("typlen", number(length)),
            ("typtype", text(if category == "P" || category == "X" { "p" } else { "b" })),
            ("typcategory", text(category)),
            ("typdelim", text(",")),
            ("typarray", number(array)),
            ("typcollation", number(collation)),
        ]));
        if array != 0 {
            rows.push(shape.row(&[
                ("oid", number(array)),
                ("typname", text(format!("_{name}"))),
                ("typcategory", text("A")),
                ("typdelim", text(",")),
                ("typelem", number(oid)),
                ("typcollation", number(collation)),
            ]));
        }
    }
    rows.extend(own_types(&shape, catalog));
    rows
}

/// Enumerations, and the row types of tables.
fn own_types(shape: &Shape, catalog: &Catalog) -> Vec<Row> {
    let enumerations = catalog.enumerations.values().map(|enumeration| {
        let (namespace, name) = apart(&enumeration.name);
        shape.row(&[
            ("oid", number(number_of(enumeration.id.0))),
            ("typname", text(name)),
            ("typnamespace", number(namespace_number(catalog, namespace))),
            ("typlen", number(4)),
            ("typtype", text("e")),
            ("typcategory", text("E")),
            ("typdelim", text(",")),
        ])
    });
    let tables = catalog.tables.values().map(|table| {
        let (namespace, name) = apart(&table.name);
        shape.row(&[
            ("oid", number(row_type_number(table))),
            ("typname", text(name)),
            ("typnamespace", number(namespace_number(catalog, namespace))),
            ("typtype", text("c")),
            ("typcategory", text("C")),
            ("typdelim", text(",")),
            ("typrelid", number(table_number(table))),
        ])
    });
    enumerations.chain(tables).collect()
}

fn databases(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(DATABASE);
    vec![shape.row(&[("oid", number(16_384)), ("datname", text(&environment.database))])]
}

fn roles(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(ROLES);
    vec![shape.row(&[("rolname", text(&environment.user)), ("oid", number(OWNER))])]
}

fn users(_: &Catalog, environment: &Environment) -> Vec<Row> {
    let shape = Shape::of(USER);
    vec![shape.row(&[("usename", text(&environment.user))])]
}

fn access_methods(_: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(ACCESS_METHOD);
    let row = |(oid, name, kind): (i128, &str, &str)| {
        shape.row(&[("oid", number(oid)), ("amname", text(name)), ("amtype", text(kind))])
    };
    [(HEAP, "heap", "t"), (BTREE, "btree", "i"), (405, "hash", "i")].into_iter().map(row).collect()
}

fn collations(_: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(COLLATION);
    let row = |(oid, name): (i128, &str)| shape.row(&[("oid", number(oid)), ("collname", text(name))]);
    [(DEFAULT_COLLATION, "default"), (950, "C"), (951, "POSIX")].into_iter().map(row).collect()
}

fn labels(catalog: &Catalog, _: &Environment) -> Vec<Row> {
    let shape = Shape::of(ENUM);
    let mut rows = Vec::new();
    for enumeration in catalog.enumerations.values() {
        for (place, label) in enumeration.labels.iter().enumerate() {
            rows.push(shape.row(&[
                ("oid", number((1 << 28) + 4096 * i128::from(enumeration.id.0) + place as i128)),
                ("enumtypid", number(number_of(enumeration.id.0))),
                ("enumsortorder", crate::value::Datum::Real(place as f64 + 1.0)),
                ("enumlabel", text(label)),
            ]));
        }
    }
    rows
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
        ("backend_start", crate::value::Datum::TimestampZoned(environment.transaction_time)),
        ("xact_start", crate::value::Datum::TimestampZoned(environment.transaction_time)),
    ])]
}
