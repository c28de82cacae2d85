//! Catalogs of things that never exist here: policies, publications, partitions, foreign servers, ….
//!
//! Clients look for them and must find none; a missing catalog would be an error to them. Only what is truly always empty stands
//! here: a catalog whose rows Skew merely does not know is better refused than told to be empty.

use super::{Listed, nothing};

/// The tables of this file.
pub(super) const TABLES: &[Listed] = &[
    Listed { name: "pg_auth_members", shape: "roleid oid, member oid, grantor oid, admin_option bool", rows: nothing },
    Listed { name: "pg_db_role_setting", shape: "setdatabase oid, setrole oid, setconfig text[]", rows: nothing },
    Listed {
        name: "pg_default_acl",
        shape: "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype letter, defaclacl text[]",
        rows: nothing,
    },
    Listed {
        name: "pg_event_trigger",
        shape: "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled letter, evttags text[]",
        rows: nothing,
    },
    Listed {
        name: "pg_foreign_data_wrapper",
        shape: "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl text[], fdwoptions text[]",
        rows: nothing,
    },
    Listed {
        name: "pg_foreign_server",
        shape: "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, srvacl text[], \
    srvoptions text[]",
        rows: nothing,
    },
    Listed { name: "pg_foreign_table", shape: "ftrelid oid, ftserver oid, ftoptions text[]", rows: nothing },
    Listed {
        name: "pg_init_privs",
        shape: "objoid oid, classoid oid, objsubid int, privtype letter, initprivs text[]",
        rows: nothing,
    },
    Listed { name: "pg_largeobject_metadata", shape: "oid oid, lomowner oid, lomacl text[]", rows: nothing },
    Listed {
        name: "pg_matviews",
        shape: "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, ispopulated bool, \
    definition text",
        rows: nothing,
    },
    Listed {
        name: "pg_partitioned_table",
        shape: "partrelid oid, partstrat letter, partnatts small, partdefid oid, partattrs int2vector, partclass oidvector, \
            partcollation oidvector, partexprs text",
        rows: nothing,
    },
    Listed {
        name: "pg_policies",
        shape: "schemaname name, tablename name, policyname name, permissive text, roles name[], cmd text, qual text, \
            with_check text",
        rows: nothing,
    },
    Listed {
        name: "pg_policy",
        shape: "oid oid, polname name, polrelid oid, polcmd letter, polpermissive bool, polroles oid[], polqual text, \
            polwithcheck text",
        rows: nothing,
    },
    Listed {
        name: "pg_prepared_xacts",
        shape: "transaction oid, gid text, prepared time, owner name, database name",
        rows: nothing,
    },
    Listed {
        name: "pg_publication",
        shape: "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, pubdelete bool, \
            pubtruncate bool, pubviaroot bool",
        rows: nothing,
    },
    Listed { name: "pg_publication_namespace", shape: "oid oid, pnpubid oid, pnnspid oid", rows: nothing },
    Listed {
        name: "pg_publication_rel",
        shape: "oid oid, prpubid oid, prrelid oid, prqual text, prattrs int2vector",
        rows: nothing,
    },
    Listed {
        name: "pg_publication_tables",
        shape: "pubname name, schemaname name, tablename name, attnames name[], rowfilter text",
        rows: nothing,
    },
    Listed { name: "pg_replication_origin", shape: "roident oid, roname text", rows: nothing },
    Listed {
        name: "pg_replication_slots",
        shape: "slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active bool, \
            active_pid int, xmin oid, catalog_xmin oid, restart_lsn text, confirmed_flush_lsn text, wal_status text, \
            safe_wal_size big, two_phase bool",
        rows: nothing,
    },
    Listed {
        name: "pg_rewrite",
        shape: "oid oid, rulename name, ev_class oid, ev_type letter, ev_enabled letter, is_instead bool, ev_qual text, \
    ev_action text",
        rows: nothing,
    },
    Listed {
        name: "pg_rules",
        shape: "schemaname name, tablename name, rulename name, definition text",
        rows: nothing,
    },
    Listed {
        name: "pg_seclabel",
        shape: "objoid oid, classoid oid, objsubid int, provider text, label text",
        rows: nothing,
    },
    Listed {
        name: "pg_seclabels",
        shape: "objoid oid, classoid oid, objsubid int, objtype text, objnamespace oid, objname text, provider text, \
            label text",
        rows: nothing,
    },
    Listed {
        name: "pg_shdepend",
        shape: "dbid oid, classid oid, objid oid, objsubid int, refclassid oid, refobjid oid, deptype letter",
        rows: nothing,
    },
    Listed { name: "pg_shdescription", shape: "objoid oid, classoid oid, description text", rows: nothing },
    Listed { name: "pg_shseclabel", shape: "objoid oid, classoid oid, provider text, label text", rows: nothing },
    Listed {
        name: "pg_statistic_ext",
        shape: "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int, stxkeys int2vector, \
            stxkind letter[], stxexprs text",
        rows: nothing,
    },
    Listed {
        name: "pg_subscription",
        shape: "oid oid, subdbid oid, subskiplsn text, subname name, subowner oid, subenabled bool, subbinary bool, \
            substream bool, subtwophasestate letter, subdisableonerr bool, subconninfo text, subslotname name, \
            subsynccommit text, subpublications text[]",
        rows: nothing,
    },
    Listed {
        name: "pg_subscription_rel",
        shape: "srsubid oid, srrelid oid, srsubstate letter, srsublsn text",
        rows: nothing,
    },
    Listed {
        name: "pg_transform",
        shape: "oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc",
        rows: nothing,
    },
    Listed {
        name: "pg_trigger",
        shape: "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype small, tgenabled letter, \
            tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, \
            tginitdeferred bool, tgnargs small, tgattr int2vector, tgargs bytes, tgqual text, tgoldtable name, \
            tgnewtable name",
        rows: nothing,
    },
    Listed { name: "pg_user_mapping", shape: "oid oid, umuser oid, umserver oid, umoptions text[]", rows: nothing },
    Listed {
        name: "pg_user_mappings",
        shape: "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions text[]",
        rows: nothing,
    },
];
