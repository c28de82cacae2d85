//! Random queries and changes over random tables.

use crate::random::Random;
use crate::schema::{Kind, Table};

/// A column that expressions may name.
#[derive(Clone)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// A statement and how its answer is compared.
pub(crate) struct Asked {
    pub(crate) sql: String,
    /// Whether the order of rows is part of the answer.
    pub(crate) ordered: bool,
}

pub(crate) struct Generator<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) tables: &'a mut [Table],
    pub(crate) scope: Vec<Named>,
    /// How many subqueries may still be nested.
    pub(crate) subqueries: usize,
    aliases: usize,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(random: &'a mut Random, tables: &'a mut [Table]) -> Generator<'a> {
        Generator { random, tables, scope: Vec::new(), subqueries: 2, aliases: 0 }
    }

    /// Any statement.
    pub(crate) fn statement(&mut self) -> Asked {
        match self.random.below(20) {
            0..=3 => self.unordered_statement(Generator::insert),
            4 | 5 => self.unordered_statement(Generator::update),
            6 => self.unordered_statement(Generator::delete),
            7 => self.set_operation(),
            8 => self.windowed(),
            _ => self.query(),
        }
    }

    fn unordered_statement(&mut self, make: fn(&mut Self) -> String) -> Asked {
        Asked { sql: make(self), ordered: false }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases)
    }

    /// A table under an alias; its columns come into scope.
    fn source(&mut self) -> String {
        let table = self.random.below(self.tables.len());
        let alias = self.alias();
        let columns = self.tables[table].columns.iter();
        let named = columns.map(|column| Named { name: format!("{alias}.{}", column.name), kind: column.kind });
        let named: Vec<Named> = named.collect();
        let name = self.tables[table].name.clone();
        if self.subqueries > 0 && self.random.chance(15) {
            return self.derived(&name, &alias, named);
        }
        self.scope.extend(named);
        format!("{name} AS {alias}")
    }

    /// A subquery in FROM with a column of each of the table's, and one more.
    fn derived(&mut self, table: &str, alias: &str, named: Vec<Named>) -> String {
        let outer = std::mem::replace(&mut self.scope, named.clone());
        self.subqueries -= 1;
        let (extra, condition) = (self.expression(Kind::Integer, 1), self.condition(1));
        self.subqueries += 1;
        self.scope = outer;
        let inner = format!("SELECT *, {extra} AS extra FROM {table} AS {alias} WHERE {condition}");
        self.scope.extend(named);
        self.scope.push(Named { name: format!("{alias}.extra"), kind: Kind::Integer });
        format!("({inner}) AS {alias}")
    }

    fn from(&mut self) -> String {
        let mut from = self.source();
        while self.random.chance(35) {
            let right = self.source();
            from = match self.random.below(8) {
                0 => format!("{from} CROSS JOIN {right}"),
                1 => format!("{from}, {right}"),
                join => {
                    let words = ["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"][join - 1];
                    // Conditions of a full join must be simple enough for a merge in some databases: equality, as people write it.
                    let condition = if words == "FULL JOIN" || self.random.chance(60) {
                        self.equality()
                    } else {
                        self.condition(1)
                    };
                    format!("{from} {words} {right} ON {condition}")
                }
            };
            if from.contains(", ") {
                break;
            }
        }
        from
    }

    fn equality(&mut self) -> String {
        let integers: Vec<String> =
            self.scope.iter().filter(|column| column.kind == Kind::Integer).map(|column| column.name.clone()).collect();
        format!("{} = {}", integers[integers.len() - 1], integers[0])
    }

    fn query(&mut self) -> Asked {
        self.scope.clear();
        let with = self.random.chance(8);
        let from = self.from();
        let condition = if self.random.chance(75) { format!(" WHERE {}", self.condition(3)) } else { String::new() };
        let mut sql =
            if self.random.chance(30) { self.grouped(&from, &condition) } else { self.plain(&from, &condition) };
        if with {
            sql = format!("WITH w AS ({sql}) SELECT * FROM w");
        }
        self.ordered(sql)
    }

    fn plain(&mut self, from: &str, condition: &str) -> String {
        let columns = self.some_expressions(2);
        let distinct = self.random.pick(&["", "", "", "DISTINCT "]);
        format!("SELECT {distinct}{columns} FROM {from}{condition}")
    }

    fn some_expressions(&mut self, depth: usize) -> String {
        let count = 1 + self.random.below(3);
        let columns = (0..count).map(|place| {
            let kind = self.any_kind();
            format!("{} AS e{place}", self.expression(kind, depth))
        });
        columns.collect::<Vec<_>>().join(", ")
    }

    fn grouped(&mut self, from: &str, condition: &str) -> String {
        let column = self.random.pick(&self.scope);
        let aggregates: Vec<String> =
            (0..1 + self.random.below(3)).map(|place| format!("{} AS e{place}", self.aggregate())).collect();
        let aggregates = aggregates.join(", ");
        if self.random.chance(25) {
            return format!("SELECT {aggregates} FROM {from}{condition}");
        }
        let having = if self.random.chance(30) {
            format!(" HAVING {} > {}", self.aggregate_count(), self.random.between(0, 2))
        } else {
            String::new()
        };
        format!("SELECT {} AS g, {aggregates} FROM {from}{condition} GROUP BY {}{having}", column.name, column.name)
    }

    fn aggregate_count(&mut self) -> String {
        (self.random.pick(&["COUNT(*)", "COUNT(DISTINCT 1)"])).to_owned()
    }

    fn aggregate(&mut self) -> String {
        let number = self.random.pick(&[Kind::Integer, Kind::Integer, Kind::Real]);
        let any = self.any_kind();
        match self.random.below(7) {
            0 => "COUNT(*)".to_owned(),
            1 => format!("COUNT({})", self.expression(any, 1)),
            2 => format!("COUNT(DISTINCT {})", self.expression(any, 1)),
            3 => format!("SUM({})", self.expression(number, 1)),
            4 => format!("AVG({})", self.expression(number, 1)),
            5 => format!("MIN({})", self.expression(any, 1)),
            _ => format!("MAX({})", self.expression(any, 1)),
        }
    }

    /// Sometimes in an order, and then sometimes only a part: all columns are in the order, so what is cut off is the same.
    fn ordered(&mut self, sql: String) -> Asked {
        if self.random.chance(50) {
            return Asked { sql, ordered: false };
        }
        let count = 1 + self.random.below(3);
        let wrapped = format!("SELECT * FROM ({sql}) AS q");
        let columns = top_level_columns(&sql);
        let keys = (1..=columns).map(|place| {
            let direction = self.random.pick(&["ASC NULLS FIRST", "DESC NULLS LAST", "ASC NULLS LAST"]);
            format!("{place} {direction}")
        });
        let keys: Vec<String> = keys.collect();
        let limit = if self.random.chance(40) {
            format!(" LIMIT {count} OFFSET {}", self.random.below(3))
        } else {
            String::new()
        };
        Asked { sql: format!("{wrapped} ORDER BY {}{limit}", keys.join(", ")), ordered: true }
    }

    fn set_operation(&mut self) -> Asked {
        let kinds = [self.any_kind(), self.any_kind()];
        let operator = self.random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
        let mut side = || {
            self.scope.clear();
            let from = self.source();
            let condition = self.condition(2);
            let columns = kinds.map(|kind| self.expression(kind, 2));
            format!("SELECT {} AS e0, {} AS e1 FROM {from} WHERE {condition}", columns[0], columns[1])
        };
        let (left, right) = (side(), side());
        self.ordered(format!("{left} {operator} {right}"))
    }

    /// Window functions over an order without ties.
    fn windowed(&mut self) -> Asked {
        let keyed: Vec<usize> = (0..self.tables.len()).filter(|&table| self.tables[table].key > 0).collect();
        let Some(&table) = keyed.first() else { return self.query() };
        let table = &self.tables[table];
        let keys: Vec<&str> = table.columns[..table.key].iter().map(|column| column.name.as_str()).collect();
        let keys = keys.join(", ");
        let name = table.name.clone();
        let columns = table
            .columns
            .iter()
            .map(|column| Named { name: format!("{}.{}", table.name, column.name), kind: column.kind });
        self.scope = columns.collect();
        let partition = self.random.pick(&self.scope).name;
        let frame =
            self.random.pick(&["", "", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING"]);
        let partition = if self.random.chance(60) { format!("PARTITION BY {partition} ") } else { String::new() };
        let value = self.expression(Kind::Integer, 1);
        let function = match self.random.below(6) {
            0 => "ROW_NUMBER()".to_owned(),
            1 => "RANK()".to_owned(),
            2 => format!("LAG({value})"),
            3 => format!("LEAD({value}, 2)"),
            4 => format!("COUNT({value})"),
            _ => format!("SUM({value})"),
        };
        let framed = function.starts_with("COUNT") || function.starts_with("SUM");
        let frame = if framed { frame } else { "" };
        let sql = format!("SELECT {keys}, {function} OVER ({partition}ORDER BY {keys}{frame}) AS e0 FROM {name}");
        Asked { sql, ordered: false }
    }

    /// A query of one column in which the columns outside may be named.
    pub(crate) fn column_subquery(&mut self, kind: Kind, depth: usize) -> String {
        self.inside(|inside| {
            let from = inside.source();
            format!("SELECT {} FROM {from} WHERE {}", inside.expression(kind, depth), inside.condition(depth))
        })
    }

    pub(crate) fn scalar_subquery(&mut self, kind: Kind, depth: usize) -> String {
        self.inside(|inside| {
            let outer = inside.scope.len();
            let from = inside.source();
            let condition = inside.condition(depth);
            // An aggregate over columns of the outer query alone would be one of the outer query.
            inside.scope.drain(..outer);
            let aggregate = inside.random.pick(&["MIN", "MAX"]);
            format!("(SELECT {aggregate}({}) FROM {from} WHERE {condition})", inside.expression(kind, depth))
        })
    }

    pub(crate) fn exists(&mut self, depth: usize) -> String {
        self.inside(|inside| {
            let from = inside.source();
            format!("EXISTS (SELECT 1 FROM {from} WHERE {})", inside.condition(depth))
        })
    }

    fn inside(&mut self, make: impl FnOnce(&mut Self) -> String) -> String {
        self.subqueries -= 1;
        let outer = self.scope.clone();
        let made = make(self);
        self.scope = outer;
        self.subqueries += 1;
        made
    }

    fn insert(&mut self) -> String {
        let table = self.random.below(self.tables.len());
        self.scope.clear();
        let rows: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.new_row(table)).collect();
        let table = &self.tables[table];
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let (name, key, keyed) = (table.name.clone(), names[..table.key].join(", "), table.key > 0);
        let last = names[names.len() - 1].to_owned();
        let insert = format!("INSERT INTO {name} ({}) VALUES {}", names.join(", "), rows.join(", "));
        match self.random.below(6) {
            0 if keyed => format!("{insert} ON CONFLICT ({key}) DO NOTHING"),
            1 if keyed => format!("{insert} ON CONFLICT ({key}) DO UPDATE SET {last} = EXCLUDED.{last}"),
            2 => format!("{insert} RETURNING {last}"),
            _ => insert,
        }
    }

    fn new_row(&mut self, table: usize) -> String {
        let mut values = Vec::new();
        for place in 0..self.tables[table].columns.len() {
            let kind = self.tables[table].columns[place].kind;
            let fresh = place == 0 && self.random.chance(80);
            values.push(if fresh {
                self.tables[table].next_id += 1;
                self.tables[table].next_id.to_string()
            } else if place < self.tables[table].key {
                self.random.between(1, 6).to_string()
            } else {
                self.literal(kind)
            });
        }
        format!("({})", values.join(", "))
    }

    fn update(&mut self) -> String {
        let (name, place) = self.changed_table();
        let columns = &self.tables[place].columns[self.tables[place].key..];
        let column = self.random.pick(columns);
        let (set, kind) = (column.name.clone(), column.kind);
        let returning = self.random.pick(&["", "", " RETURNING *"]);
        let condition = self.condition(2);
        // A subquery in SET would see, in SQLite alone, the rows that the same statement has changed already.
        self.subqueries = 0;
        format!("UPDATE {name} SET {set} = {} WHERE {condition}{returning}", self.expression(kind, 2))
    }

    fn delete(&mut self) -> String {
        let (name, _) = self.changed_table();
        format!("DELETE FROM {name} WHERE {} AND {}", self.condition(2), self.condition(1))
    }

    /// A table whose columns are in scope under their own names.
    fn changed_table(&mut self) -> (String, usize) {
        let place = self.random.below(self.tables.len());
        let table = &self.tables[place];
        let named = table
            .columns
            .iter()
            .map(|column| Named { name: format!("{}.{}", table.name, column.name), kind: column.kind });
        self.scope = named.collect();
        (self.tables[place].name.clone(), place)
    }
}

/// How many columns the outermost SELECT has: their aliases are numbered.
fn top_level_columns(sql: &str) -> usize {
    let end = sql.find(" FROM ").unwrap_or(sql.len());
    // Subqueries have FROM too, but only the outermost list names its columns e0, e1, …, and g.
    let numbered = (0..).take_while(|place| sql.contains(&format!(" AS e{place}"))).count();
    let grouped = usize::from(sql[..end].contains(" AS g,"));
    numbered + grouped
}
