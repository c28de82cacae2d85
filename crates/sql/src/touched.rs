//! What a bound statement touches, told without running it: for whoever argues about all runs at once.
//!
//! ```text
//!   UPDATE stock SET n = n - k WHERE item = i AND n >= k
//!
//!   table stock   found by its primary key, item = Variable(i), guarded: the row must fulfil more than its key
//!   reads item, n                writes n
//! ```
//!
//! An execution reads the rows that a store has; here are all the rows that it could read, as far as the text tells: *by key* where every
//! column of the primary key or of a unique index is equal to something that is known before the row is looked at, else *by search*, which
//! stands for any rows of the table. What a value is made of is its [`ValueOrigin`]. What is not understood is a name in
//! [`Touches::unsupported`], never left out in silence.

use crate::catalog::{Catalog, ReferentialAction, Table};
use crate::known;
use crate::origin::origin;
use crate::plan::narrow_to;
use crate::storage::{Columns, Lock, Patience};
use crate::tree::change::{Change, Conflict, Insert, Returning, RowSource};
use crate::tree::expression::{Expression, Node, SequenceOperation};
use crate::tree::plan::{Definition, Limit, Plan};
use crate::tree::read::{Access, Read, Values};
use crate::tree::visit;
use skew_value::{Datum, SqlType};
use std::collections::BTreeSet;

pub use crate::origin::keeps_values;

/// How many rows a list of keys may name; longer lists are searches.
const MOST_KEYS: usize = 8;

/// Everything that a statement touches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Touches {
    /// The tables, once for every time that the statement looks at them.
    pub tables: Vec<TableTouch>,
    /// Where the values of its result columns come from.
    pub outputs: Vec<ValueOrigin>,
    /// The least or the greatest value of a column, where that is all it asks for.
    pub extremum: Option<Extremum>,
    /// Whether its result has exactly one row, whatever the tables hold.
    pub one_row: bool,
    /// Whether its only result is how many rows it finds.
    pub counts_rows: bool,
    /// What follows for variables where its only result is true.
    pub tested: TestedVariables,
    /// What it does that is not told here.
    pub unsupported: Vec<String>,
    /// The variables of the program that it uses.
    pub variables: Vec<VariableUse>,
    /// Whether it makes one value of several rows: COUNT, MAX, SUM.
    pub aggregates: bool,
    /// Whether somebody sees a number that a sequence gave to a row.
    pub numbered: bool,
}

/// How a statement uses a variable of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariableUse {
    /// Which one.
    pub slot: usize,
    uses: usize,
    null_tests: usize,
}

impl VariableUse {
    /// Whether its value matters, rather than only whether it is NULL.
    pub fn by_value(&self) -> bool {
        self.uses > self.null_tests
    }
}

/// One look at a table, or one change of it.
#[derive(Clone, PartialEq, Debug)]
pub struct TableTouch {
    /// The name of the table.
    pub table: String,
    /// Which rows.
    pub rows: RowsTouched,
    /// Whether a row must fulfil more than being found so.
    pub guarded: bool,
    /// What its condition says of single columns.
    pub known: KnownOfRows,
    /// The columns whose values matter: in WHERE, in the result, on the right sides of SET.
    pub reads: Vec<String>,
    /// Those of them that decide which rows are meant: in WHERE.
    pub condition: Vec<String>,
    /// What is done with the rows.
    pub kind: TouchKind,
}

/// What is known of the rows that a statement finds or makes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KnownOfRows {
    /// Columns that have a certain value.
    pub equal: Vec<(String, ValueOrigin)>,
    /// Whether rows must fulfil more than that.
    pub more: bool,
    /// Columns that become greater than a variable, by number.
    pub raised: Vec<(String, usize)>,
}

/// The least or the greatest value of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extremum {
    /// The greatest.
    pub greatest: bool,
    /// The column.
    pub column: String,
}

/// What the truth of a condition says about variables, by number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TestedVariables {
    /// Those that are not NULL.
    pub not_null: Vec<usize>,
    /// Those that are NULL.
    pub null: Vec<usize>,
    /// Those that are zero.
    pub zero: Vec<usize>,
    /// Those that are neither zero nor NULL.
    pub not_zero: Vec<usize>,
    /// Whether the condition says nothing else, so that the opposite holds where it is not true.
    pub exact: bool,
}

/// Which rows of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum RowsTouched {
    /// Each of these, by the values of all columns of a key.
    Keys {
        /// The unique index; nothing stands for the primary key.
        index: Option<String>,
        /// The values, in the order of the key's columns.
        keys: Vec<Vec<ValueOrigin>>,
    },
    /// Whatever rows fulfil a condition.
    Search,
}

/// What is done with rows.
#[derive(Clone, PartialEq, Debug)]
pub enum TouchKind {
    /// They are read.
    Read,
    /// They are read and locked: FOR SHARE.
    Share,
    /// They are read and locked: FOR UPDATE.
    Lock,
    /// Columns of them get values.
    Update(Vec<(String, ValueOrigin)>),
    /// They go.
    Delete,
    /// They come into being: the values of all columns, row by row; nothing where a query gives them.
    Insert(Option<Vec<Vec<(String, ValueOrigin)>>>, WhenTaken),
}

/// What an INSERT does where its key is taken.
#[derive(Clone, PartialEq, Debug)]
pub enum WhenTaken {
    /// It fails, and its transaction with it.
    Fails,
    /// Nothing.
    Skips,
    /// The row that is there gets other values.
    Updates {
        /// The columns of it that matter.
        reads: Vec<String>,
        /// The columns that get values.
        writes: Vec<(String, ValueOrigin)>,
    },
}

/// What a value is made of.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueOrigin {
    /// It stands in the text.
    Constant(Datum),
    /// A variable of the program, by number.
    Variable(usize),
    /// A column of the row that the statement found by its key: which of [`Touches::tables`], and its name.
    Column(usize, String),
    /// A function of others, told by a text that is the same for equal functions.
    Computed(String, Vec<ValueOrigin>),
    /// Anything.
    Unknown,
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParentKey {
    /// The columns of the child.
    pub columns: Vec<String>,
    /// The table that they point to.
    pub parent: String,
    /// The columns there.
    pub parent_columns: Vec<String>,
    /// Whether children go or change with their parent.
    pub cascades: bool,
    /// Whether it is looked at when the transaction commits.
    pub deferred: bool,
}

impl Table {
    /// The names of its columns.
    pub fn column_names(&self) -> Vec<String> {
        self.live_columns().map(|(_, column)| column.name.clone()).collect()
    }

    /// The names and types of its columns.
    pub fn column_types(&self) -> Vec<(String, SqlType)> {
        self.live_columns().map(|(_, column)| (column.name.clone(), column.sql_type.clone())).collect()
    }

    /// Whether it has EXCLUDE constraints.
    pub fn excludes(&self) -> bool {
        !self.exclusions.is_empty()
    }

    /// The columns of its primary key; none without one.
    pub fn key_columns(&self) -> Vec<String> {
        self.primary_key.as_ref().map(|key| names(self, &key.columns)).unwrap_or_default()
    }

    /// The columns that change with others of their row, whether or not an UPDATE names them.
    pub fn computed_columns(&self) -> Vec<String> {
        let is_computed = |column: &&crate::catalog::Column| {
            column.on_update.is_some() || matches!(column.default, Some(crate::catalog::ColumnDefault::Generated(_)))
        };
        self.columns.iter().filter(is_computed).map(|column| column.name.clone()).collect()
    }

    /// The columns that get the next number of a sequence where an INSERT leaves them out.
    pub fn numbered_columns(&self) -> Vec<String> {
        use crate::catalog::ColumnDefault::{Identity, Sequence};
        let is_numbered = |column: &&crate::catalog::Column| matches!(column.default, Some(Sequence(_) | Identity(_)));
        let live = self.live_columns().map(|(_, column)| column);
        live.filter(is_numbered).map(|column| column.name.clone()).collect()
    }

    /// Whether some of these columns may hold NULL.
    pub fn may_be_null(&self, columns: &[String]) -> bool {
        self.columns.iter().any(|column| column.nullable && columns.contains(&column.name))
    }

    /// Its unique indexes with their columns; none where an index is over expressions or over some of the rows.
    pub fn unique_keys(&self) -> Vec<(String, Vec<String>)> {
        let unique = self.indexes.iter().filter(|index| index.unique);
        let columns = |index: &crate::catalog::Index| match index.is_plain_unique() {
            true => names(self, &index.plain_columns()),
            false => Vec::new(),
        };
        unique.map(|index| (index.name.clone(), columns(index))).collect()
    }

    /// The columns that each CHECK names.
    pub fn checked_columns(&self) -> Vec<Vec<String>> {
        let names = self.column_names();
        let of = |check: &crate::catalog::Check| {
            let text = check.condition.to_lowercase();
            let letter = |one: char| one.is_alphanumeric() || one == '_';
            let words: Vec<&str> = text.split(|one| !letter(one)).collect();
            let is_named = |name: &&String| match name.chars().all(letter) {
                true => words.contains(&&*name.to_lowercase()),
                false => text.contains(&name.to_lowercase()),
            };
            names.iter().filter(is_named).cloned().collect()
        };
        self.checks.iter().map(of).collect()
    }

    /// Whether there are other ways to its rows than the primary key.
    pub fn has_indexes(&self) -> bool {
        !self.indexes.is_empty()
    }

    /// Whether it has constraints between rows that no key tells.
    pub fn has_exclusions(&self) -> bool {
        !self.exclusions.is_empty()
    }
}

impl Catalog {
    /// The foreign keys of a table.
    pub fn parents_of(&self, table: &Table) -> Vec<ParentKey> {
        let told = |key: &crate::catalog::ForeignKey| {
            let cascades = [key.on_delete, key.on_update].iter().any(|action| *action != ReferentialAction::Refuse);
            let parent_columns = self.tables.get(&key.parent).map(|parent| names(parent, &key.parent_columns));
            let parent_columns = parent_columns.unwrap_or_default();
            let (columns, parent, deferred) = (names(table, &key.columns), key.parent.clone(), key.deferred);
            ParentKey { columns, parent, parent_columns, cascades, deferred }
        };
        table.foreign_keys.iter().map(told).collect()
    }
}

fn names(table: &Table, places: &[usize]) -> Vec<String> {
    let name = |&place: &usize| table.columns.get(place).map(|column| column.name.clone());
    places.iter().filter_map(name).collect()
}

/// What a query touches.
pub(crate) fn of_query(plan: &Plan) -> Touches {
    let mut touches = Touches::default();
    let is_plain = top_read(plan).is_some_and(|read| read.lock != Lock::None && !read.access.is_limited());
    touches.name_locks(plan, usize::from(is_plain), is_plain);
    touches.plan(plan, (0..plan.width()).collect());
    touches.outputs = outputs(plan);
    if filters_last(plan) {
        // What cannot be asked of a row while it is looked for is asked before it is locked.
        touches.tables.iter_mut().for_each(|touch| (touch.guarded, touch.known.more) = (true, true));
    }
    (touches.extremum, touches.one_row) = (known::extremum(plan), known::has_one_row(plan));
    touches.counts_rows = known::counts_rows(plan);
    touches.tested = known::tested(plan);
    touches
}

/// What a change touches, after the common table expressions before it.
pub(crate) fn of_change(definitions: &[(usize, Definition)], change: &Change) -> Touches {
    let mut touches = Touches::default();
    definitions.iter().for_each(|(_, definition)| touches.definition(definition));
    match change {
        Change::Update(update) => {
            let values = update.assignments.iter().map(|(_, value)| value);
            let returned = returned(update.returning.as_ref());
            let used: Vec<&Expression> = values.chain(returned).collect();
            let table = &update.source.table;
            let told = |(place, value): &(usize, Expression)| {
                names(table, &[*place]).pop().map(|name| (name, origin(value, None)))
            };
            let kind = TouchKind::Update(update.assignments.iter().filter_map(told).collect());
            touches.changed(&update.source, &used, kind);
            let raised =
                |(place, value): &(usize, Expression)| Some((names(table, &[*place]).pop()?, known::raised(value)?));
            if let Some(touch) = touches.tables.last_mut() {
                touch.known.raised = update.assignments.iter().filter_map(raised).collect();
            }
        }
        Change::Delete(delete) => {
            let used: Vec<&Expression> = returned(delete.returning.as_ref()).collect();
            touches.changed(&delete.source, &used, TouchKind::Delete);
        }
        Change::Insert(insert) => touches.insert(insert),
    }
    if let Some(returning) = change.returning() {
        touches.outputs = vec![ValueOrigin::Unknown; returning.columns.len()];
    }
    touches
}

fn returned(returning: Option<&Returning>) -> impl Iterator<Item = &Expression> {
    returning.into_iter().flat_map(|returning| &returning.expressions)
}

/// The table that a query is about, where it is about one.
fn top_read(plan: &Plan) -> Option<&Read> {
    match plan {
        Plan::Read(read) => Some(read),
        Plan::Project(input, _) | Plan::Sort(input, _) | Plan::Filter(input, _) | Plan::Cut(input, _) => {
            top_read(input)
        }
        Plan::Lock(locking) => top_read(&locking.input),
        Plan::Limit(input, limit) => top_read(input).filter(|read| is_one_row(read) && keeps_first(limit)),
        _ => None,
    }
}

/// Whether a read finds one row at the most.
fn is_one_row(read: &Read) -> bool {
    matches!(rows_of(read).0, RowsTouched::Keys { keys, .. } if keys.len() == 1)
}

/// Whether the first row is among those that a LIMIT lets through.
fn keeps_first(limit: &Limit) -> bool {
    let is_some = |count: &Expression| matches!(count.node, Node::Constant(Datum::Integer(count)) if count > 0);
    limit.offset.is_none() && limit.count.as_ref().is_none_or(is_some)
}

/// Whether rows of the table that a query is about have to fulfil something once they are found.
fn filters_last(plan: &Plan) -> bool {
    match plan {
        Plan::Filter(..) => true,
        Plan::Project(input, _) | Plan::Sort(input, _) | Plan::Cut(input, _) | Plan::Limit(input, _) => {
            filters_last(input)
        }
        Plan::Lock(locking) => filters_last(&locking.input),
        _ => false,
    }
}

/// Whether a value is a number of a sequence.
fn is_number(value: &Expression) -> bool {
    match &value.node {
        Node::Cast(cast) => is_number(&cast.operand),
        Node::Sequence(call) => matches!(call.operation, SequenceOperation::Next | SequenceOperation::Default(_)),
        _ => false,
    }
}

impl Touches {
    /// Names locks beyond those that are certain to be taken: in subqueries, which may not be asked; over joins and with LIMIT, where a row may
    /// be left out.
    fn name_locks(&mut self, plan: &Plan, certain: usize, alone: bool) {
        let (mut locks, mut reads) = (0, 0);
        visit::parts(
            plan,
            &mut |part| {
                reads += usize::from(read_of(part).is_some());
                locks += usize::from(read_of(part).is_some_and(|read| read.lock != Lock::None));
            },
            &mut |_| {},
        );
        if locks > certain || (alone && reads > 1) {
            self.unsupported.push("a lock in a subquery, over a join or with LIMIT".to_owned());
        }
    }

    /// The reads of a plan of which these columns are needed.
    fn plan(&mut self, plan: &Plan, needed: BTreeSet<usize>) {
        let mut plain = plan.clone();
        unlock(&mut plain);
        narrow_to(&mut plain, needed);
        // The two plans are the same but for locks and columns, so their reads come in the same order.
        let (mut locks, mut found) = (Vec::new(), Vec::new());
        visit::parts(plan, &mut |part| locks.extend(read_of(part).map(|read| (read.lock, read.patience))), &mut |_| {});
        visit::parts(&plain, &mut |part| found.push(part.clone()), &mut |expression| self.note_expression(expression));
        let mut locks = locks.into_iter();
        for part in &found {
            match part {
                Plan::Read(read) => {
                    let (lock, patience) = locks.next().unwrap_or((Lock::None, Patience::Wait));
                    self.read(read, lock, patience);
                }
                Plan::Virtual(_) => self.unsupported.push("a table of the system's catalog".to_owned()),
                Plan::With(with) => {
                    let changes = with.definitions.iter().any(|(_, one)| matches!(one, Definition::Change(_)));
                    self.unsupported.extend(changes.then(|| "a change inside WITH".to_owned()));
                }
                Plan::Aggregate(_) => self.aggregates = true,
                _ => {}
            }
        }
    }

    fn definition(&mut self, definition: &Definition) {
        match definition {
            Definition::Query(plan) => {
                self.name_locks(plan, 0, false);
                self.plan(plan, (0..plan.width()).collect());
            }
            Definition::Recursive { base, step, .. } => {
                self.plan(base, (0..base.width()).collect());
                self.plan(step, (0..step.width()).collect());
            }
            Definition::Change(_) => self.unsupported.push("a change inside WITH".to_owned()),
        }
    }

    fn read(&mut self, read: &Read, lock: Lock, patience: Patience) {
        match patience {
            Patience::Wait => {}
            Patience::Skip => self.unsupported.push("SKIP LOCKED".to_owned()),
            Patience::Refuse => self.unsupported.push("NOWAIT".to_owned()),
        }
        let kind = match lock {
            Lock::None => TouchKind::Read,
            Lock::Share => TouchKind::Share,
            Lock::Update => TouchKind::Lock,
        };
        let reads = match &read.columns {
            Columns::All => read.table.column_names(),
            Columns::Some(places) => live_names(&read.table, places.iter().copied()),
        };
        let ((rows, guarded), known, condition) = (rows_of(read), known::of_read(read), condition_of(read));
        let table = read.table.name.clone();
        self.tables.push(TableTouch { table, rows, guarded, known, reads, condition, kind });
    }

    /// The rows of an UPDATE or DELETE, and whatever else decides about them.
    fn changed(&mut self, source: &RowSource, used: &[&Expression], kind: TouchKind) {
        let all = used.iter().copied().chain(&source.condition);
        let needed: BTreeSet<usize> = all.flat_map(|one| visit::columns(one).own).collect();
        for expression in used {
            self.subqueries(expression);
        }
        let own = source.start..source.start + source.table.columns.len();
        let reads = live_names(&source.table, needed.iter().filter(|at| own.contains(at)).map(|at| at - source.start));
        let table = source.table.name.clone();
        let touch = match target_of(&source.plan).filter(|_| !source.joined) {
            Some((read, limited)) => {
                read.condition.iter().for_each(|condition| self.subqueries(condition));
                let (rows, guarded) = rows_of(read);
                let mut known = known::of_read(read);
                known.more |= limited;
                let condition = condition_of(read);
                TableTouch { table, rows, guarded: guarded || limited, known, reads, condition, kind }
            }
            None => {
                self.name_locks(&source.plan, 1, false);
                self.plan(&source.plan, needed);
                let known = KnownOfRows { more: true, ..KnownOfRows::default() };
                let condition = reads.clone();
                TableTouch { table, rows: RowsTouched::Search, guarded: true, known, reads, condition, kind }
            }
        };
        self.tables.push(touch);
    }

    fn insert(&mut self, insert: &Insert) {
        if insert.copied.is_some() {
            self.unsupported.push("COPY".to_owned());
        }
        returned(insert.returning.as_ref()).for_each(|value| self.subqueries(value));
        let rows = match &insert.source {
            Plan::Values(rows) => {
                let plain = rows.iter().flatten().filter(|value| !is_number(value));
                plain.for_each(|value| self.subqueries(value));
                let mut values = rows.iter().flatten().chain(insert.defaults.iter().map(|(_, value)| value));
                self.numbered |= insert.returning.is_some() && values.any(is_number);
                Some(rows.iter().map(|row| inserted(insert, row)).collect())
            }
            query => {
                self.name_locks(query, 0, false);
                self.plan(query, (0..query.width()).collect());
                None
            }
        };
        let taken = match &insert.conflict {
            Conflict::Refuse => WhenTaken::Fails,
            Conflict::Skip(_) => WhenTaken::Skips,
            Conflict::Replace => {
                self.unsupported.push("REPLACE".to_owned());
                WhenTaken::Fails
            }
            Conflict::Update(update) => {
                let values = update.assignments.iter().map(|(_, value)| value).chain(&update.condition);
                let seen = values.clone().chain(returned(insert.returning.as_ref()));
                let used: BTreeSet<usize> = seen.flat_map(|one| visit::columns(one).own).collect();
                values.for_each(|value| self.subqueries(value));
                if update.condition.is_some() {
                    self.unsupported.push("ON CONFLICT DO UPDATE … WHERE".to_owned());
                }
                let assigned = update.assignments.iter().map(|(place, value)| (*place, origin(value, None)));
                let named = |(place, value)| names(&insert.table, &[place]).pop().map(|name| (name, value));
                let writes = assigned.filter_map(named).collect();
                WhenTaken::Updates { reads: live_names(&insert.table, used.into_iter()), writes }
            }
        };
        self.tables.push(TableTouch {
            table: insert.table.name.clone(),
            rows: RowsTouched::Search,
            guarded: false,
            known: KnownOfRows::default(),
            reads: Vec::new(),
            condition: Vec::new(),
            kind: TouchKind::Insert(rows, taken),
        });
    }

    /// The subqueries of an expression, and what it calls.
    fn subqueries(&mut self, expression: &Expression) {
        let carrier = Plan::Values(vec![vec![expression.clone()]]);
        self.name_locks(&carrier, 0, false);
        self.plan(&carrier, BTreeSet::new());
    }

    fn note_expression(&mut self, expression: &Expression) {
        match &expression.node {
            Node::Variable(slot) => self.variable(*slot).uses += 1,
            Node::IsNull(operand) => {
                if let Node::Variable(slot) = &operand.node {
                    self.variable(*slot).null_tests += 1;
                }
            }
            _ => {}
        }
        let named = match &expression.node {
            Node::Sequence(call) => match call.operation {
                SequenceOperation::Advisory(_) => "an advisory lock",
                SequenceOperation::Next | SequenceOperation::Default(_) => "a sequence outside of an INSERT",
                SequenceOperation::Set => "setval",
                SequenceOperation::Current | SequenceOperation::Last => {
                    self.numbered = true;
                    return;
                }
                SequenceOperation::Settle
                | SequenceOperation::Sleep(_)
                | SequenceOperation::Connection(_)
                | SequenceOperation::Blocked => return,
            },
            Node::UserVariable(_) => "a variable of the session",
            _ => return,
        };
        self.unsupported.push(named.to_owned());
    }
}

impl Touches {
    fn variable(&mut self, slot: usize) -> &mut VariableUse {
        let known = self.variables.iter().position(|variable| variable.slot == slot);
        let place = known.unwrap_or_else(|| {
            self.variables.push(VariableUse { slot, uses: 0, null_tests: 0 });
            self.variables.len() - 1
        });
        &mut self.variables[place]
    }
}

/// The columns of the table that its condition names.
fn condition_of(read: &Read) -> Vec<String> {
    let columns = read.condition.iter().flat_map(|condition| visit::columns(condition).own);
    live_names(&read.table, columns)
}

fn read_of(plan: &Plan) -> Option<&Read> {
    match plan {
        Plan::Read(read) => Some(read),
        _ => None,
    }
}

/// Takes the locks away, so that columns are needed only where somebody looks at them.
fn unlock(plan: &mut Plan) {
    match plan {
        Plan::Read(read) => read.lock = Lock::None,
        Plan::Filter(input, _)
        | Plan::Project(input, _)
        | Plan::Window(input, _)
        | Plan::Distinct(input, _)
        | Plan::Sort(input, _)
        | Plan::Limit(input, _)
        | Plan::Cut(input, _) => unlock(input),
        Plan::Join(join) => {
            unlock(&mut join.left);
            unlock(&mut join.right);
        }
        Plan::Aggregate(aggregation) => unlock(&mut aggregation.input),
        Plan::Lock(locking) => unlock(&mut locking.input),
        Plan::With(with) => unlock(&mut with.body),
        Plan::SetOperation(_) | Plan::Kept(_) | Plan::OneRow | Plan::Virtual(_) => {}
        Plan::Values(_) | Plan::Function(_) | Plan::Common(_) => {}
    }
}

/// The read of the rows that a change is about, and whether not all that it finds are meant.
fn target_of(plan: &Plan) -> Option<(&Read, bool)> {
    match plan {
        Plan::Read(read) => Some((read, false)),
        Plan::Limit(input, _) => target_of(input).map(|(read, _)| (read, true)),
        Plan::Sort(input, _) | Plan::Project(input, _) | Plan::Cut(input, _) => target_of(input),
        _ => None,
    }
}

pub(crate) fn live_names(table: &Table, places: impl Iterator<Item = usize>) -> Vec<String> {
    let live = |place: usize| table.columns.get(place).filter(|column| !column.dropped);
    places.filter_map(live).map(|column| column.name.clone()).collect()
}

/// Which rows a read looks at, and whether its condition says more.
fn rows_of(read: &Read) -> (RowsTouched, bool) {
    let (index, columns, alternatives) = match &read.access {
        Access::Points(alternatives) => {
            let columns = read.table.primary_key.as_ref().map(|key| key.columns.clone()).unwrap_or_default();
            (None, columns, alternatives)
        }
        Access::UniquePoints(place, alternatives) => {
            let index = &read.table.indexes[*place];
            (Some(index.name.clone()), index.plain_columns(), alternatives)
        }
        Access::Scan(_) | Access::KeyRange(_) | Access::IndexRange(..) => return (RowsTouched::Search, true),
    };
    let keys: Option<Vec<Vec<Vec<ValueOrigin>>>> = alternatives.iter().map(|one| combinations(one)).collect();
    let keys: Vec<Vec<ValueOrigin>> = keys.into_iter().flatten().flatten().collect();
    if keys.is_empty() || keys.len() > MOST_KEYS {
        return (RowsTouched::Search, true);
    }
    let conditions = read.condition.clone().map(Expression::conjuncts).unwrap_or_default();
    let only_keys = conditions.iter().all(|one| {
        let found = visit::columns(one);
        let is_of_keys = found.own.iter().all(|column| columns.contains(column));
        !found.subquery && !found.volatile && is_of_keys && names_values(one)
    });
    let guarded = !only_keys || conditions.len() != columns.len();
    (RowsTouched::Keys { index, keys }, guarded)
}

/// Whether a condition only says which values a column has: an equality or a list, and no alternatives with conditions of their own.
fn names_values(condition: &Expression) -> bool {
    match &condition.node {
        Node::Call(call) => call.routine.name == "=",
        Node::InList(_) => true,
        _ => false,
    }
}

/// All keys that have one of the values in each column; nothing if some value is not known from the text.
fn combinations(columns: &[Values]) -> Option<Vec<Vec<ValueOrigin>>> {
    let mut keys = vec![Vec::new()];
    for values in columns {
        let Values::Each(values) = values else { return None };
        let values: Vec<ValueOrigin> = values.iter().map(|value| origin(value, None)).collect();
        if values.contains(&ValueOrigin::Unknown) || keys.len() * values.len() > MOST_KEYS {
            return None;
        }
        let longer = |key: &Vec<ValueOrigin>| -> Vec<Vec<ValueOrigin>> {
            values.iter().map(|value| key.iter().chain([value]).cloned().collect()).collect()
        };
        keys = keys.iter().flat_map(longer).collect();
    }
    Some(keys)
}

/// The values of all columns of a row that is inserted.
fn inserted(insert: &Insert, row: &[Expression]) -> Vec<(String, ValueOrigin)> {
    let given = insert.targets.iter().copied().zip(row);
    let all = given.chain(insert.defaults.iter().map(|(place, value)| (*place, value)));
    all.filter_map(|(place, value)| names(&insert.table, &[place]).pop().map(|name| (name, origin(value, None))))
        .collect()
}

/// Where the columns of a result come from: a row that is found by its key, or no row at all.
fn outputs(plan: &Plan) -> Vec<ValueOrigin> {
    let unknown = || vec![ValueOrigin::Unknown; plan.width()];
    let Plan::Project(input, expressions) = plan else { return unknown() };
    let table = match &**input {
        Plan::OneRow => None,
        // A statement without other reads: its only touch has the number 0.
        Plan::Read(read) if matches!(rows_of(read).0, RowsTouched::Keys { keys, .. } if keys.len() == 1) => {
            Some(&*read.table)
        }
        _ => return unknown(),
    };
    expressions.iter().map(|expression| origin(expression, table)).collect()
}
