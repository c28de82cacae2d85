//! The options of a column: `price numeric(10,2) NOT NULL DEFAULT 0 CHECK (price >= 0)`.
//!
//! A column becomes a [`Column`], and its constraints become constraints of the table, as if they had been written behind the columns.
//! Numbers that count by themselves have a sequence behind them, whatever the dialect calls them:
//!
//! ```text
//!   id serial                                 sequence item_id_seq, NOT NULL
//!   id int GENERATED ALWAYS AS IDENTITY       the same, and giving a value is an error
//!   id int AUTO_INCREMENT                     the same; a value that is given moves the sequence on
//! ```

use super::Definition;
use super::constraint::base_name;
use crate::catalog::name::identifier;
use crate::catalog::{Column, ColumnDefault, Enumeration, Table};
use crate::storage::{SequenceId, SequenceRule};
use skew_value::{Collation, Datum, Dialect, EnumerationId, IntegerWidth, SqlError, SqlState, SqlType};
use sqlparser::ast::{
    CheckConstraint, ColumnDef, ColumnOption, ColumnOptionDef, DataType, EnumMember, Expr, ForeignKeyConstraint,
    GeneratedAs, GeneratedExpressionMode, Ident, IdentityPropertyKind, PrimaryKeyConstraint, SequenceOptions,
    TableConstraint, UniqueConstraint, Value,
};
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// The limits of MySQL's and PostgreSQL's rows, so that a definition cannot ask for more than anybody has.
const MOST_COLUMNS: usize = 1600;

impl Definition<'_> {
    /// Appends a column to a table; what its options say about keys is added to `constraints`.
    pub(super) fn add_column(
        &mut self,
        table: &mut Table,
        definition: &ColumnDef,
        constraints: &mut Vec<TableConstraint>,
    ) -> Result<usize, SqlError> {
        let name = identifier(&definition.name, self.dialect);
        if table.find_column(&name, self.dialect).is_some() {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        if table.columns.len() >= MOST_COLUMNS {
            let message = format!("tables can have at most {MOST_COLUMNS} columns");
            return Err(SqlError::new(SqlState("54011"), message));
        }
        let place = table.columns.len();
        let (sql_type, serial) = self.column_type(table, &name, &definition.data_type)?;
        table.columns.push(self.plain_column(name, sql_type));
        if serial {
            self.make_serial(table, place, &definition.name, constraints)?;
        }
        for option in &definition.options {
            self.apply_option(table, place, &definition.name, option, constraints)?;
        }
        Ok(place)
    }

    /// A column without options. MySQL's texts compare without case unless they say otherwise.
    pub(super) fn plain_column(&self, name: String, sql_type: SqlType) -> Column {
        let is_text = matches!(sql_type, SqlType::Text(_) | SqlType::Character(_) | SqlType::Enumeration(_));
        let collation = (is_text && self.dialect == Dialect::MySql).then(|| "utf8mb4_0900_ai_ci".to_owned());
        Column {
            name,
            sql_type,
            nullable: true,
            default: None,
            on_update: None,
            missing: Datum::Null,
            dropped: false,
            collation,
            comment: None,
        }
    }

    /// The type of a column, and whether its name says that it counts by itself.
    pub(super) fn column_type(
        &mut self,
        table: &Table,
        column: &str,
        data_type: &DataType,
    ) -> Result<(SqlType, bool), SqlError> {
        if let DataType::Enum(members, _) = data_type {
            let labels = members.iter().map(enumeration_label).collect::<Result<Vec<String>, SqlError>>()?;
            return Ok((self.inline_enumeration(&table.name, column, labels), false));
        }
        if let DataType::Custom(name, modifiers) = data_type
            && modifiers.is_empty()
        {
            let width = match (name.to_string().to_ascii_lowercase().as_str(), self.dialect) {
                ("smallserial" | "serial2", Dialect::Postgres) => Some(IntegerWidth::Small),
                ("serial" | "serial4", Dialect::Postgres) => Some(IntegerWidth::Normal),
                ("bigserial" | "serial8", Dialect::Postgres) | ("serial", Dialect::MySql) => Some(IntegerWidth::Big),
                _ => None,
            };
            if let Some(width) = width {
                let unsigned = self.dialect == Dialect::MySql;
                return Ok((SqlType::Integer { width, unsigned }, true));
            }
        }
        Ok((self.catalog.sql_type(data_type, self.dialect)?, false))
    }

    /// The enumeration of a column. Tables are renamed and made anew, so its number is part of its name.
    fn inline_enumeration(&mut self, table: &str, column: &str, labels: Vec<String>) -> SqlType {
        let number = self.catalog.fresh_number();
        let (id, name) = (EnumerationId(number), format!("{table}.{column}~{number}"));
        self.catalog.enumerations.insert(name.clone(), Arc::new(Enumeration { name, id, labels }));
        SqlType::Enumeration(id)
    }

    fn make_serial(
        &mut self,
        table: &mut Table,
        place: usize,
        name: &Ident,
        constraints: &mut Vec<TableConstraint>,
    ) -> Result<(), SqlError> {
        let sequence = self.owned_sequence(table, place, &[])?;
        table.columns[place].default = Some(ColumnDefault::Sequence(sequence));
        table.columns[place].nullable = false;
        if self.dialect == Dialect::MySql {
            constraints.push(unique_of(name, None));
        }
        Ok(())
    }

    /// A sequence that counts for a column, named after it.
    pub(super) fn owned_sequence(
        &mut self,
        table: &Table,
        place: usize,
        options: &[SequenceOptions],
    ) -> Result<SequenceId, SqlError> {
        let column = &table.columns[place];
        let greatest = match &column.sql_type {
            SqlType::Integer { width: IntegerWidth::Tiny, unsigned } => {
                if *unsigned {
                    255
                } else {
                    127
                }
            }
            SqlType::Integer { width: IntegerWidth::Small, unsigned } => {
                if *unsigned {
                    65_535
                } else {
                    32_767
                }
            }
            SqlType::Integer { width: IntegerWidth::Medium, unsigned } => {
                if *unsigned {
                    16_777_215
                } else {
                    8_388_607
                }
            }
            SqlType::Integer { width: IntegerWidth::Normal, unsigned } => {
                if *unsigned {
                    4_294_967_295
                } else {
                    2_147_483_647
                }
            }
            SqlType::Integer { width: IntegerWidth::Big, .. } => i64::MAX,
            other => {
                let message = format!("identity column type must be smallint, integer, or bigint, not {other}");
                return Err(SqlError::new(SqlState::INVALID_PARAMETER, message));
            }
        };
        let plain = SequenceRule { start: 1, increment: 1, least: 1, greatest, cycles: false };
        let rule = super::sequence::apply_options(plain, options)?;
        let owner = (table.name.clone(), column.name.clone());
        let stem = format!("{}_{}_seq", base_name(&table.name), column.name);
        let name = match table.name.rsplit_once('.') {
            Some((namespace, _)) => format!("{namespace}.{stem}"),
            None => stem,
        };
        let name = self.free_sequence_name(&name);
        Ok(self.keep_sequence(name, rule, Some(owner)))
    }

    fn apply_option(
        &mut self,
        table: &mut Table,
        place: usize,
        name: &Ident,
        option: &ColumnOptionDef,
        constraints: &mut Vec<TableConstraint>,
    ) -> Result<(), SqlError> {
        match &option.option {
            ColumnOption::Null => table.columns[place].nullable = true,
            ColumnOption::NotNull => table.columns[place].nullable = false,
            ColumnOption::Default(value) => self.set_default(table, place, value)?,
            ColumnOption::PrimaryKey(key) => constraints.push(TableConstraint::PrimaryKey(PrimaryKeyConstraint {
                name: option.name.clone().or(key.name.clone()),
                columns: vec![name.clone().into()],
                ..key.clone()
            })),
            ColumnOption::Unique(unique) => constraints.push(TableConstraint::Unique(UniqueConstraint {
                name: option.name.clone().or(unique.name.clone()),
                columns: vec![name.clone().into()],
                ..unique.clone()
            })),
            ColumnOption::ForeignKey(key) if self.dialect == Dialect::Postgres => {
                constraints.push(TableConstraint::ForeignKey(ForeignKeyConstraint {
                    name: option.name.clone().or(key.name.clone()),
                    columns: vec![name.clone()],
                    ..key.clone()
                }));
            }
            // MySQL reads REFERENCES behind a column and forgets it.
            ColumnOption::ForeignKey(_) => {}
            ColumnOption::Check(check) => constraints.push(TableConstraint::Check(CheckConstraint {
                name: option.name.clone().or(check.name.clone()),
                ..check.clone()
            })),
            ColumnOption::DialectSpecific(tokens) => self.apply_words(table, place, tokens)?,
            ColumnOption::CharacterSet(_) | ColumnOption::Invisible => {}
            ColumnOption::Collation(collation) => {
                let last = collation.0.last().map_or_else(String::new, |part| unquoted(&part.to_string()));
                if self.dialect == Dialect::Postgres && !Collation::is_of_postgres(&last) {
                    let message = format!("collation \"{last}\" for encoding \"UTF8\" does not exist");
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
                }
                table.columns[place].collation = Some(unquoted(&collation.to_string()));
            }
            ColumnOption::Comment(comment) => table.columns[place].comment = Some(comment.clone()),
            ColumnOption::OnUpdate(expression) => {
                table.columns[place].on_update = Some(expression.to_string().into());
            }
            ColumnOption::Generated {
                generated_as, sequence_options, generation_expr, generation_expr_mode, ..
            } => {
                let options = sequence_options.as_deref().unwrap_or_default();
                match generation_expr {
                    Some(expression) => self.set_generated(table, place, expression, *generation_expr_mode)?,
                    None => self.set_identity(table, place, generated_as == &GeneratedAs::Always, options)?,
                }
            }
            ColumnOption::Identity(IdentityPropertyKind::Autoincrement(_)) => {
                self.set_identity(table, place, false, &[])?;
            }
            other => return Err(SqlError::unsupported(format!("the column option {other}"))),
        }
        Ok(())
    }

    /// Words that `sqlparser` leaves to the dialect: AUTO_INCREMENT and MySQL's character options.
    fn apply_words(&mut self, table: &mut Table, place: usize, tokens: &[Token]) -> Result<(), SqlError> {
        let words: Vec<String> = tokens.iter().map(|token| token.to_string().to_ascii_uppercase()).collect();
        match words.iter().map(String::as_str).collect::<Vec<&str>>().as_slice() {
            ["AUTO_INCREMENT" | "AUTOINCREMENT"] => self.set_identity(table, place, false, &[]),
            _ => Err(SqlError::unsupported(format!("the column option {}", words.join(" ")))),
        }
    }

    pub(super) fn set_default(&mut self, table: &mut Table, place: usize, value: &Expr) -> Result<(), SqlError> {
        let text: Arc<str> = value.to_string().into();
        self.check_default(table, place, &text)?;
        table.columns[place].default = Some(ColumnDefault::Expression(text));
        Ok(())
    }

    pub(super) fn set_identity(
        &mut self,
        table: &mut Table,
        place: usize,
        always: bool,
        options: &[SequenceOptions],
    ) -> Result<(), SqlError> {
        let sequence = self.owned_sequence(table, place, options)?;
        let own = self.catalog.sequences.values_mut().find(|known| known.id == sequence);
        own.into_iter().for_each(|known| Arc::make_mut(known).identity = true);
        let default = if always { ColumnDefault::Identity(sequence) } else { ColumnDefault::Sequence(sequence) };
        table.columns[place].default = Some(default);
        table.columns[place].nullable = false;
        Ok(())
    }

    /// The expression is bound when all columns are known, at the end of the table.
    fn set_generated(
        &mut self,
        table: &mut Table,
        place: usize,
        expression: &Expr,
        mode: Option<GeneratedExpressionMode>,
    ) -> Result<(), SqlError> {
        // MySQL's VIRTUAL columns are computed when read; as their expressions are functions of the row, storing them shows the same.
        if self.dialect == Dialect::Postgres && mode != Some(GeneratedExpressionMode::Stored) {
            return Err(SqlError::unsupported("a generated column that is not STORED"));
        }
        table.columns[place].default = Some(ColumnDefault::Generated(expression.to_string().into()));
        Ok(())
    }
}

/// UNIQUE on one column.
fn unique_of(column: &Ident, name: Option<Ident>) -> TableConstraint {
    TableConstraint::Unique(UniqueConstraint {
        name,
        index_name: None,
        index_type_display: sqlparser::ast::KeyOrIndexDisplay::None,
        index_type: None,
        columns: vec![column.clone().into()],
        include: Vec::new(),
        index_options: Vec::new(),
        characteristics: None,
        nulls_distinct: sqlparser::ast::NullsDistinctOption::None,
    })
}

fn enumeration_label(member: &EnumMember) -> Result<String, SqlError> {
    match member {
        EnumMember::Name(label) => Ok(label.clone()),
        EnumMember::NamedValue(..) => Err(SqlError::unsupported("an ENUM with numbers")),
    }
}

fn unquoted(name: &str) -> String {
    name.trim_matches(|character| character == '"' || character == '`' || character == '\'').to_owned()
}

/// The number that an expression writes, with its sign.
pub(super) fn literal_number(expression: &Expr) -> Result<i64, SqlError> {
    let text = match expression {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => Some(text.to_string()),
            _ => None,
        },
        Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Minus, expr } => {
            return literal_number(expr)?.checked_neg().ok_or_else(|| not_a_number(expression));
        }
        _ => None,
    };
    text.and_then(|text| text.parse().ok()).ok_or_else(|| not_a_number(expression))
}

fn not_a_number(expression: &Expr) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, format!("an integer is wanted, not {expression}"))
}
