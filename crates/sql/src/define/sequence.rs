//! Sequences, enumerations and namespaces.
//!
//! A sequence in the catalog is a name, a number and a rule; where it stands is the store's business, because values that were handed
//! out are not taken back by a rollback.

use super::Definition;
use super::column::literal_number;
use crate::catalog::name::identifier;
use crate::catalog::{Enumeration, Sequence};
use crate::storage::{SequenceId, SequenceRule};
use skew_value::{EnumerationId, IntegerWidth, SqlError, SqlState, SqlType};
use sqlparser::ast::{
    AlterType, AlterTypeAddValue, AlterTypeAddValuePosition, AlterTypeOperation, DataType, ObjectName, SchemaName,
    SequenceOptions, UserDefinedTypeRepresentation,
};
use std::sync::Arc;

impl Definition<'_> {
    pub(super) fn create_sequence(
        &mut self,
        name: &ObjectName,
        if_not_exists: bool,
        data_type: Option<&DataType>,
        options: &[SequenceOptions],
        owner: Option<&ObjectName>,
    ) -> Result<&'static str, SqlError> {
        let name = self.catalog.resolve(name, self.dialect)?;
        if if_not_exists && self.has_relation(&name) {
            return Ok("CREATE SEQUENCE");
        }
        self.refuse_duplicate(&name)?;
        let greatest = match data_type.map(|data_type| self.catalog.sql_type(data_type, self.dialect)).transpose()? {
            Some(SqlType::Integer { width: IntegerWidth::Small, .. }) => i64::from(i16::MAX),
            Some(SqlType::Integer { width: IntegerWidth::Normal, .. }) => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        let plain = SequenceRule { start: 1, increment: 1, least: 1, greatest, cycles: false };
        let rule = apply_options(plain, options)?;
        let owner = owner.map(|owner| self.owning_column(owner)).transpose()?.flatten();
        self.keep_sequence(name, rule, owner);
        Ok("CREATE SEQUENCE")
    }

    /// OWNED BY table.column, or NONE.
    fn owning_column(&self, owner: &ObjectName) -> Result<Option<(String, String)>, SqlError> {
        let idents: Vec<String> =
            owner.0.iter().filter_map(|part| part.as_ident()).map(|ident| identifier(ident, self.dialect)).collect();
        match idents.as_slice() {
            [none] if none.eq_ignore_ascii_case("none") => Ok(None),
            [.., table, column] => {
                let table = self.catalog.expect_table(table)?;
                table.expect_column(column, self.dialect)?;
                Ok(Some((table.name.clone(), column.clone())))
            }
            _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option")
                .with_hint("specify OWNED BY table.column or OWNED BY NONE")),
        }
    }

    /// Puts a sequence into the catalog.
    pub(super) fn keep_sequence(
        &mut self,
        name: String,
        rule: SequenceRule,
        owner: Option<(String, String)>,
    ) -> SequenceId {
        let id = SequenceId(self.catalog.fresh_number());
        self.catalog.sequences.insert(name.clone(), Arc::new(Sequence { name, id, rule, owner, identity: false }));
        id
    }

    pub(super) fn free_sequence_name(&self, name: &str) -> String {
        let taken = |name: &str| self.has_relation(name) || self.catalog.sequences.contains_key(name);
        let numbered = (1..).map(|number| format!("{name}{number}"));
        std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }

    pub(super) fn create_type(
        &mut self,
        name: &ObjectName,
        representation: Option<&UserDefinedTypeRepresentation>,
    ) -> Result<&'static str, SqlError> {
        let name = self.catalog.resolve(name, self.dialect)?;
        let Some(UserDefinedTypeRepresentation::Enum { labels }) = representation else {
            return Err(SqlError::unsupported("CREATE TYPE other than AS ENUM"));
        };
        if self.catalog.enumerations.contains_key(&name) {
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists")));
        }
        let labels = labels.iter().map(|label| label.value.clone()).collect();
        let id = EnumerationId(self.catalog.fresh_number());
        self.catalog.enumerations.insert(name.clone(), Arc::new(Enumeration { name, id, labels }));
        Ok("CREATE TYPE")
    }

    pub(super) fn alter_type(&mut self, alter: &AlterType) -> Result<&'static str, SqlError> {
        let name = self.catalog.resolve(&alter.name, self.dialect)?;
        let Some(enumeration) = self.catalog.enumerations.get(&name) else {
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")));
        };
        let mut enumeration = enumeration.as_ref().clone();
        match &alter.operation {
            AlterTypeOperation::AddValue(add) => add_label(&mut enumeration, add)?,
            AlterTypeOperation::Rename(rename) => {
                self.catalog.enumerations.remove(&name);
                enumeration.name = identifier(&rename.new_name, self.dialect);
            }
            // The labels stand in rows as text.
            AlterTypeOperation::RenameValue(_) => return Err(SqlError::unsupported("ALTER TYPE … RENAME VALUE")),
        }
        self.catalog.enumerations.insert(enumeration.name.clone(), Arc::new(enumeration));
        Ok("ALTER TYPE")
    }

    pub(super) fn create_schema(&mut self, name: &SchemaName, if_not_exists: bool) -> Result<&'static str, SqlError> {
        let name = match name {
            SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => {
                crate::catalog::name::parts(name, self.dialect)?.1
            }
            SchemaName::UnnamedAuthorization(user) => identifier(user, self.dialect),
        };
        self.create_namespace(name, if_not_exists)?;
        Ok("CREATE SCHEMA")
    }

    pub(super) fn create_database(&mut self, name: &ObjectName, if_not_exists: bool) -> Result<&'static str, SqlError> {
        let name = crate::catalog::name::parts(name, self.dialect)?.1;
        self.create_namespace(name, if_not_exists)?;
        Ok("CREATE DATABASE")
    }

    fn create_namespace(&mut self, name: String, if_not_exists: bool) -> Result<(), SqlError> {
        let exists = name == "public" || self.catalog.namespaces.contains(&name);
        match (exists, if_not_exists) {
            (true, true) => {}
            (true, false) => {
                return Err(SqlError::new(SqlState("42P06"), format!("schema \"{name}\" already exists")));
            }
            (false, _) => self.catalog.namespaces.push(name),
        }
        Ok(())
    }
}

fn add_label(enumeration: &mut Enumeration, add: &AlterTypeAddValue) -> Result<(), SqlError> {
    let label = &add.value.value;
    if enumeration.labels.contains(label) {
        return match add.if_not_exists {
            true => Ok(()),
            false => Err(SqlError::new(SqlState::DUPLICATE_OBJECT, format!("enum label \"{label}\" already exists"))),
        };
    }
    let place_of = |neighbour: &str| {
        enumeration.labels.iter().position(|known| known == neighbour).ok_or_else(|| {
            SqlError::new(SqlState::INVALID_PARAMETER, format!("\"{neighbour}\" is not an existing enum label"))
        })
    };
    let place = match &add.position {
        None => enumeration.labels.len(),
        Some(AlterTypeAddValuePosition::Before(neighbour)) => place_of(&neighbour.value)?,
        Some(AlterTypeAddValuePosition::After(neighbour)) => place_of(&neighbour.value)? + 1,
    };
    enumeration.labels.insert(place, label.clone());
    Ok(())
}

/// A rule with the options of a statement; bounds and start follow the direction, as PostgreSQL has it.
pub(super) fn apply_options(plain: SequenceRule, options: &[SequenceOptions]) -> Result<SequenceRule, SqlError> {
    let mut rule = plain;
    let (mut least, mut greatest, mut start) = (None, None, None);
    for option in options {
        match option {
            SequenceOptions::IncrementBy(step, _) => rule.increment = literal_number(step)?,
            SequenceOptions::MinValue(bound) => least = bound.as_ref().map(literal_number).transpose()?,
            SequenceOptions::MaxValue(bound) => greatest = bound.as_ref().map(literal_number).transpose()?,
            SequenceOptions::StartWith(value, _) => start = Some(literal_number(value)?),
            // The parser's flag is the NO before CYCLE.
            SequenceOptions::Cycle(no) => rule.cycles = !*no,
            // How many values a session takes at once changes nothing that is promised.
            SequenceOptions::Cache(_) => {}
        }
    }
    let up = rule.increment > 0;
    rule.least = least.unwrap_or(if up { rule.least } else { rule.greatest.saturating_neg() - 1 });
    rule.greatest = greatest.unwrap_or(if up { rule.greatest } else { -1 });
    rule.start = start.unwrap_or(if up { rule.least } else { rule.greatest });
    check_rule(&rule)?;
    Ok(rule)
}

fn check_rule(rule: &SequenceRule) -> Result<(), SqlError> {
    let invalid = |message: String| Err(SqlError::new(SqlState::INVALID_PARAMETER, message));
    if rule.increment == 0 {
        return invalid("INCREMENT must not be zero".to_owned());
    }
    if rule.least >= rule.greatest {
        return invalid(format!("MINVALUE ({}) must be less than MAXVALUE ({})", rule.least, rule.greatest));
    }
    if rule.start < rule.least {
        return invalid(format!("START value ({}) cannot be less than MINVALUE ({})", rule.start, rule.least));
    }
    if rule.start > rule.greatest {
        return invalid(format!("START value ({}) cannot be greater than MAXVALUE ({})", rule.start, rule.greatest));
    }
    Ok(())
}
