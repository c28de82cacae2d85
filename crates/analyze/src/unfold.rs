//! From procedures to templates: every path, with what is known of keys on the way.
//!
//! ```text
//!   IF … THEN … ELSE                both, whatever the condition says
//!   WHILE, LOOP, REPEAT, FOR        0, 1 and 2 rounds; what a loop sets has any value where a round begins (`live`)
//!   UPDATE … WHERE key AND more     it fits; or it does not: the read stays, the write goes
//!   UPDATE … WHERE key              the same where rows come and go; where they do not, a row is there for all or for nobody, which `search` decides
//!   IF ROW_COUNT() = 0, NOT FOUND   only where the change by key before it went so
//!   SELECT … INTO c                 c is what was read; or, where no row was found, what c was before
//!   INSERT … ON CONFLICT            both ways
//!   a foreign key that is deferred  looks at its parent behind the last statement
//!   SIGNAL, ROLLBACK                nothing: a transaction that does not commit leaves nothing and has seen nothing that counts
//!   INSERT that meets its key       nothing, for the same reason: the error ends the transaction
//! ```
//!
//! More paths than there are only make the answer more careful, fewer would make it wrong: a write that is left out lets schedules happen
//! that it would have forbidden. A statement whose key is NULL finds nothing. Paths that have come to one step with the same operations, and with the
//! same values of all variables that still matter, are one path.

use crate::effect::{EXISTENCE, EffectTarget, Happens, LockStrength, RowEffect};
use crate::live::LiveVariables;
use crate::template::{Chunk, ColumnSet, EXISTS, RowOperation, Template, TermId, TermNode};
use crate::transaction::{TransactionFlow, TransactionStep, Transactions, constant, is_plain};
use rustc_hash::FxHashSet;
use skew_program::FlowAction;
use skew_sql::touched::ValueOrigin;
use skew_value::Datum;
use std::collections::{BTreeMap, BTreeSet};

/// How many templates a program may have.
const MOST_TEMPLATES: usize = 1_000;
/// How many paths a procedure may have.
const MOST_PATHS: usize = 20_000;
/// How often a loop goes round.
const ROUNDS: usize = 2;
/// How many columns a table may have.
const MOST_COLUMNS: usize = 120;

/// How statements become operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnfoldOptions {
    /// Whether conflicts are about columns rather than whole rows.
    pub cells: bool,
    /// Whether an UPDATE is one statement rather than a read and then a write.
    pub atomic: bool,
    /// Whether a key that was looked up is a function of the row it was found in, rather than anything.
    pub functional: bool,
}

impl Default for UnfoldOptions {
    fn default() -> UnfoldOptions {
        UnfoldOptions { cells: true, atomic: true, functional: true }
    }
}

/// What the templates of a program have in common.
#[derive(Clone, Debug)]
pub(crate) struct Vocabulary {
    /// The tables by number; entries of unique indexes have tables of their own.
    pub(crate) tables: Vec<String>,
    columns: BTreeMap<String, Vec<String>>,
    parents: BTreeMap<String, Vec<(String, Vec<usize>)>>,
    /// Keys by number, the primary key first.
    keys: Vec<Option<String>>,
    /// The columns that somebody writes.
    written: BTreeSet<(String, String)>,
    /// Tables whose rows come into being or go.
    unstable: BTreeSet<String>,
    /// Tables whose rows go.
    losing: BTreeSet<String>,
    /// The columns of the primary keys.
    key_columns: BTreeMap<String, Vec<String>>,
    /// The rows that the text begins with.
    given_rows: BTreeSet<(String, Vec<String>)>,
}

/// Templates, the columns that were taken for functions of their rows, and the rows that were taken to be there.
pub(crate) struct Unfolded {
    pub(crate) templates: Vec<Template>,
    pub(crate) functions: BTreeSet<String>,
    pub(crate) given: BTreeSet<String>,
}

/// Why a program could not be unfolded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooMany(pub String);

impl Vocabulary {
    pub(crate) fn of(transactions: &Transactions) -> Vocabulary {
        let (mut tables, mut keys) = (BTreeSet::new(), BTreeSet::from([None]));
        let (mut written, mut unstable, mut losing) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let steps = transactions.procedures.iter().flat_map(|procedure| &procedure.steps);
        for effect in steps.flat_map(|step| step.ways.iter().flatten()) {
            tables.insert(effect.table.clone());
            if let EffectTarget::Key(key, _) = &effect.target {
                keys.insert(key.clone());
            }
            written.extend(effect.writes.iter().map(|column| (effect.table.clone(), column.clone())));
            if effect.writes.contains(EXISTENCE) {
                unstable.insert(effect.table.clone());
                if !effect.inserts {
                    losing.insert(effect.table.clone());
                }
            }
        }
        let (columns, parents) = (transactions.columns.clone(), transactions.parents.clone());
        let (key_columns, given_rows) = (transactions.keys.clone(), transactions.given_rows.clone());
        let (tables, keys) = (tables.into_iter().collect(), keys.into_iter().collect());
        Vocabulary { tables, columns, parents, keys, written, unstable, losing, key_columns, given_rows }
    }

    fn table(&self, name: &str) -> usize {
        self.tables.iter().position(|known| known == name).unwrap_or_default()
    }

    fn bits(&self, table: &str, columns: &BTreeSet<String>, cells: bool) -> ColumnSet {
        let all = self.columns.get(table);
        let bit = |column: &String| match column.as_str() {
            EXISTENCE => EXISTS,
            _ if !cells => EXISTS << 1,
            name => all.and_then(|all| all.iter().position(|known| known == name)).map_or(0, |place| 2 << place),
        };
        columns.iter().map(bit).fold(0, |all, bit| all | bit)
    }

    /// The name of a row that the text begins with, and that stays; nothing for other rows.
    fn given_row(&self, template: &Template, row: TermId) -> Option<String> {
        let TermNode::Row(table, 0, terms) = &template.terms[row] else { return None };
        let constant = |term: &TermId| match &template.terms[*term] {
            TermNode::Constant(text) => Some(text.clone()),
            _ => None,
        };
        let table = self.tables.get(*table).filter(|table| !self.unstable.contains(*table))?;
        let key = (table.clone(), terms.iter().map(constant).collect::<Option<Vec<String>>>()?);
        let stays =
            self.key_columns.get(table)?.iter().all(|column| !self.written.contains(&(table.clone(), column.clone())));
        (stays && self.given_rows.contains(&key)).then_some(key.0)
    }

    fn is_function(&self, table: &str, column: &str) -> bool {
        !self.unstable.contains(table) && !self.written.contains(&(table.to_owned(), column.to_owned()))
    }
}

/// The templates of all procedures.
pub(crate) fn unfold(
    transactions: &Transactions,
    vocabulary: &Vocabulary,
    options: UnfoldOptions,
) -> Result<Unfolded, TooMany> {
    if let Some((table, _)) = vocabulary.columns.iter().find(|(_, columns)| columns.len() > MOST_COLUMNS) {
        return Err(TooMany(format!("the table {table} has more than {MOST_COLUMNS} columns")));
    }
    let mut unfolded = Unfolded { templates: Vec::new(), functions: BTreeSet::new(), given: BTreeSet::new() };
    for (number, procedure) in transactions.procedures.iter().enumerate() {
        let (live, done, functions) = (LiveVariables::of(procedure), Vec::new(), BTreeSet::new());
        let mut paths = Paths { procedure, vocabulary, options, number, live, done, functions };
        let start = paths.start();
        paths.follow(start)?;
        unfolded.templates.append(&mut paths.done);
        unfolded.functions.append(&mut paths.functions);
        if unfolded.templates.len() > MOST_TEMPLATES {
            return Err(TooMany(format!("the procedures have more than {MOST_TEMPLATES} different paths")));
        }
    }
    for template in &unfolded.templates {
        let given = (0..template.terms.len()).filter_map(|row| vocabulary.given_row(template, row));
        unfolded.given.extend(given);
    }
    complete(&mut unfolded.templates);
    Ok(unfolded)
}

/// Gives every row the columns that others look up in such a row, so that what two instances have to agree on is a term of both.
fn complete(templates: &mut [Template]) {
    let mut looked_up: BTreeSet<(usize, usize)> = BTreeSet::new();
    for template in templates.iter() {
        for node in &template.terms {
            if let TermNode::Lookup(column, row) = node
                && let TermNode::Row(table, ..) = template.terms[*row]
            {
                looked_up.insert((table, *column));
            }
        }
    }
    for template in templates {
        for row in 0..template.terms.len() {
            let TermNode::Row(table, ..) = template.terms[row] else { continue };
            for (_, column) in looked_up.iter().filter(|(known, _)| *known == table) {
                template.term(TermNode::Lookup(*column, row));
            }
        }
    }
}

/// A path on its way.
#[derive(Clone, PartialEq, Eq, Hash)]
struct OpenPath {
    at: usize,
    variables: BTreeMap<usize, TermId>,
    rounds: BTreeMap<usize, usize>,
    fresh: usize,
    template: Template,
    /// What the commit does.
    at_commit: Vec<Chunk>,
    /// Variables that hold how many rows a change touched, and whether there was one; 0 is the last change.
    counts: BTreeMap<usize, bool>,
}

struct Paths<'a> {
    procedure: &'a TransactionFlow,
    vocabulary: &'a Vocabulary,
    options: UnfoldOptions,
    number: usize,
    live: LiveVariables,
    done: Vec<Template>,
    functions: BTreeSet<String>,
}

/// Steps.
impl Paths<'_> {
    fn start(&self) -> OpenPath {
        let template = Template {
            procedure: self.number,
            terms: Vec::new(),
            optional: Vec::new(),
            needs: Vec::new(),
            chunks: Vec::new(),
        };
        let (variables, rounds, at_commit) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let counts = BTreeMap::new();
        let mut path = OpenPath { at: 0, variables, rounds, fresh: 0, template, at_commit, counts };
        for (slot, _) in &self.procedure.given {
            let term = path.free();
            path.variables.insert(*slot, term);
        }
        path
    }

    fn follow(&mut self, start: OpenPath) -> Result<(), TooMany> {
        let mut open = vec![start];
        let mut known: FxHashSet<OpenPath> = FxHashSet::default();
        while let Some(mut path) = open.pop() {
            path.variables.retain(|slot, _| self.live.matters(path.at, *slot));
            if !known.insert(path.clone()) {
                continue;
            }
            if known.len() > MOST_PATHS {
                return Err(TooMany(format!("{} has more than {MOST_PATHS} paths", self.procedure.name)));
            }
            self.live.any_value(path.at).for_each(|slot| path.set_to_any(slot));
            if self.live.begins_loop(path.at) {
                path.counts.clear();
            }
            match self.procedure.steps.get(path.at) {
                None => self.close(path),
                Some(step) if step.action == FlowAction::End => self.close(path),
                Some(step) => open.extend(self.step(step, path)),
            }
        }
        Ok(())
    }

    fn close(&mut self, path: OpenPath) {
        let mut template = path.template;
        template.chunks.extend(path.at_commit);
        if !template.chunks.is_empty() && !self.done.iter().any(|known| known.is_like(&template)) {
            self.done.push(template);
        }
    }

    fn step(&mut self, step: &TransactionStep, path: OpenPath) -> Vec<OpenPath> {
        let mut paths = Vec::new();
        for way in &step.ways {
            let mut started = path.clone();
            if !matches!(step.action, FlowAction::Branch(_)) && (!way.is_empty() || step.action == FlowAction::Run) {
                started.counts.remove(&0);
            }
            started.template.chunks.push(Chunk { step: path.at, operations: Vec::new(), at_commit: false });
            let mut variants = vec![(started, None)];
            for effect in way.iter().filter(|effect| !effect.at_commit) {
                variants = variants.into_iter().flat_map(|(one, row)| self.effect(effect, one, row)).collect();
            }
            for (mut variant, row) in variants {
                variant.counted(step, way);
                variant.split_reads();
                if !self.options.atomic {
                    variant.split_updates();
                }
                variant.template.chunks.retain(|chunk| !chunk.operations.is_empty());
                for later in self.commits(way, variant) {
                    self.act(step, later, row, &mut paths);
                }
            }
        }
        paths
    }

    /// The ways in which the commit can do what a statement leaves to it. The rows are those that the statement has named.
    fn commits(&self, way: &[RowEffect], path: OpenPath) -> Vec<OpenPath> {
        let mut paths = vec![path];
        for effect in way.iter().filter(|effect| effect.at_commit) {
            let left = |mut path: OpenPath| {
                let done = path.template.chunks.len();
                path.template.chunks.push(Chunk { step: path.at, operations: Vec::new(), at_commit: true });
                self.effect(effect, path, None).into_iter().map(move |(mut path, _)| {
                    let later = path.template.chunks.split_off(done);
                    path.at_commit.extend(later.into_iter().filter(|chunk| !chunk.operations.is_empty()));
                    path
                })
            };
            paths = paths.into_iter().flat_map(left).collect();
        }
        paths
    }

    /// What comes after a statement, whose row is known where there was one.
    fn act(&mut self, step: &TransactionStep, mut path: OpenPath, row: Option<TermId>, paths: &mut Vec<OpenPath>) {
        let here = path.at;
        path.at += 1;
        match &step.action {
            FlowAction::Run | FlowAction::End => paths.push(path),
            FlowAction::Into(slots) => {
                path.count_into(step, slots);
                self.into(step, slots, row, path, paths);
            }
            FlowAction::Clear(slot) => {
                path.variables.remove(slot);
                path.counts.remove(slot);
                paths.push(path);
            }
            FlowAction::Count(slot) => {
                path.set_to_any(*slot);
                match path.counts.get(&0).copied() {
                    Some(count) => path.counts.insert(*slot, count),
                    None => path.counts.remove(slot),
                };
                paths.push(path);
            }
            FlowAction::Branch(otherwise) => {
                let (may_hold, may_fail) = path.tests(step);
                paths.extend(may_fail.then(|| path.clone().jump(here, *otherwise)).flatten());
                paths.extend(may_hold.then_some(path));
            }
            FlowAction::Jump(to) => paths.extend(path.jump(here, *to)),
            FlowAction::Next(slots, done) => {
                paths.extend(path.clone().jump(here, *done));
                slots.clone().for_each(|slot| path.set_to_any(slot));
                path.counts.retain(|slot, _| *slot != 0 && !slots.contains(slot));
                paths.push(path);
            }
            FlowAction::Abort => {}
        }
    }

    /// SELECT … INTO and SET.
    fn into(
        &mut self,
        step: &TransactionStep,
        slots: &[usize],
        row: Option<TermId>,
        mut path: OpenPath,
        paths: &mut Vec<OpenPath>,
    ) {
        let (before, known, after) = (path.clone(), path.template.terms.len(), path.at);
        let mut is_anything = true;
        for (slot, output) in slots.iter().zip(&step.outputs) {
            if !self.live.matters(after, *slot) {
                continue;
            }
            let term = match output {
                ValueOrigin::Column(_, column) => self.column(step, column, row, &mut path),
                other => self.value(other, &mut path),
            };
            is_anything &=
                term.is_some_and(|term| term >= known && matches!(path.template.terms[term], TermNode::Free(_)));
            match term {
                Some(term) => path.variables.insert(*slot, term),
                None => path.variables.remove(slot),
            };
        }
        // No row was found: the variables keep what they had, which is something, too.
        if !is_anything && !step.ways.iter().all(Vec::is_empty) {
            paths.push(before);
        }
        paths.push(path);
    }

    /// The value of a column of a row that was read.
    fn column(
        &mut self,
        step: &TransactionStep,
        column: &str,
        row: Option<TermId>,
        path: &mut OpenPath,
    ) -> Option<TermId> {
        let table = step.result_table.as_deref().unwrap_or_default();
        let place = self.vocabulary.columns.get(table).and_then(|all| all.iter().position(|known| known == column));
        match (row, place) {
            (Some(row), Some(place)) if self.is_function_of(step, row, &path.template, column) => {
                self.functions.insert(format!("{table}.{column}"));
                Some(path.template.term(TermNode::Lookup(place, row)))
            }
            _ => Some(path.free()),
        }
    }

    /// Whether a column never changes in a row that a statement found, by its primary key and looking nowhere else. Under another key another row
    /// may stand later.
    fn is_function_of(&self, step: &TransactionStep, row: TermId, template: &Template, column: &str) -> bool {
        let table = step.result_table.as_deref().unwrap_or_default();
        let rows = |way: &Vec<RowEffect>| way.iter().filter(|effect| !effect.table.contains('@')).count();
        let is_primary = matches!(template.terms[row], TermNode::Row(_, 0, _));
        is_primary && step.ways.iter().all(|way| rows(way) == 1) && self.vocabulary.is_function(table, column)
    }

    /// A value; nothing for NULL.
    fn value(&self, origin: &ValueOrigin, path: &mut OpenPath) -> Option<TermId> {
        match origin {
            ValueOrigin::Constant(Datum::Null) => None,
            ValueOrigin::Constant(value) if is_plain(value) => {
                Some(path.template.term(TermNode::Constant(constant(value))))
            }
            // 1 and 1.0 are equal, and written differently.
            ValueOrigin::Constant(_) => Some(path.free()),
            // How many rows the last change touched is in no variable of the procedure.
            ValueOrigin::Variable(0) => Some(path.free()),
            ValueOrigin::Variable(slot) => path.variables.get(slot).copied(),
            ValueOrigin::Computed(text, arguments) => {
                let arguments: Option<Vec<TermId>> = arguments.iter().map(|one| self.value(one, path)).collect();
                Some(match arguments {
                    Some(arguments) => path.template.term(TermNode::Computed(text.clone(), arguments)),
                    // A function of NULL may be anything.
                    None => path.free(),
                })
            }
            ValueOrigin::Column(..) | ValueOrigin::Unknown => Some(path.free()),
        }
    }
}

/// Effects.
impl Paths<'_> {
    /// The ways in which an effect can go, each with the row that the statement is about.
    fn effect(&self, effect: &RowEffect, mut path: OpenPath, row: Option<TermId>) -> Vec<(OpenPath, Option<TermId>)> {
        let vocabulary = self.vocabulary;
        let table = vocabulary.table(&effect.table);
        let target = match &effect.target {
            EffectTarget::Search => None,
            EffectTarget::Key(key, values) => match self.row(effect, key.as_ref(), values, &mut path) {
                // A key with NULL in it finds nothing and is equal to nothing.
                None => return vec![(path, row)],
                found => found,
            },
        };
        let cells = self.options.cells;
        let reads = match cells || effect.looks || effect.writes.is_empty() {
            true => vocabulary.bits(&effect.table, &effect.reads, cells),
            false => vocabulary.bits(&effect.table, &effect.reads, cells) & EXISTS,
        };
        let writes = vocabulary.bits(&effect.table, &effect.writes, cells);
        let inserts_once = effect.inserts && !vocabulary.losing.contains(&effect.table);
        let (lock, inserts, looking) = (effect.lock, effect.inserts, effect.looking);
        let operation = RowOperation { table, row: target, reads, writes, lock, inserts, inserts_once, looking };
        let told = target.filter(|_| !effect.table.contains('@')).or(row);
        self.happening(effect, operation, path).into_iter().map(|path| (path, told)).collect()
    }

    fn happening(&self, effect: &RowEffect, operation: RowOperation, path: OpenPath) -> Vec<OpenPath> {
        let does = operation.writes != 0 || operation.lock != LockStrength::None;
        let touches = |path: OpenPath, count: Option<bool>| match effect.changes_rows() {
            true => path.touching(count),
            false => path,
        };
        let Some(row) = operation.row.filter(|_| does && effect.happens != Happens::Always) else {
            let count = operation.row.map(|_| true);
            return vec![touches(path.with(operation), count)];
        };
        let only_read = RowOperation { writes: 0, lock: LockStrength::None, ..operation.clone() };
        let mut paths = Vec::new();
        let by_other_key = matches!(path.template.terms[row], TermNode::Row(_, key, _) if key != 0);
        if by_other_key || self.vocabulary.unstable.contains(&effect.table) {
            paths.push(touches(path.clone().with(only_read), Some(false)));
            paths.push(touches(path.with(operation), Some(true)));
            return paths;
        }
        let mut there = path;
        self.is_optional(&effect.table, row, &mut there.template);
        // Where nothing but its absence keeps a row from being touched, this is the path of both.
        let mut is_touched = !there.template.optional.contains(&row);
        if effect.happens == Happens::IfFits {
            is_touched = true;
            paths.push(touches(there.clone().with(only_read), Some(false)));
        }
        paths.push(touches(there.with(operation), is_touched.then_some(true)));
        paths
    }

    /// A row may be missing, unless the text begins with it; it is if its parent is.
    fn is_optional(&self, table: &str, row: TermId, template: &mut Template) {
        if template.optional.contains(&row) || self.vocabulary.given_row(template, row).is_some() {
            return;
        }
        template.optional.push(row);
        let TermNode::Row(_, 0, terms) = template.terms[row].clone() else { return };
        let parents = self.vocabulary.parents.get(table).into_iter().flatten();
        // Nobody touches the others, and where rows come and go a parent may have been there at another time.
        let concerned = parents.filter(|(parent, _)| {
            self.vocabulary.tables.contains(parent) && !self.vocabulary.unstable.contains(parent)
        });
        for (parent, places) in concerned {
            let key = places.iter().map(|place| terms[*place]).collect();
            let parent_row = template.term(TermNode::Row(self.vocabulary.table(parent), 0, key));
            template.needs.push((row, parent_row));
        }
    }

    /// The row with a key; nothing if a part of the key is NULL.
    fn row(
        &self,
        effect: &RowEffect,
        key: Option<&String>,
        values: &[ValueOrigin],
        path: &mut OpenPath,
    ) -> Option<TermId> {
        let table = self.vocabulary.table(&effect.table);
        let mut terms = Vec::new();
        for value in values {
            let term = match self.value(value, path) {
                Some(term) => term,
                None if effect.inserts && !effect.table.contains('@') => path.free(),
                None => return None,
            };
            terms.push(self.independent(term, table, path));
        }
        let key = self.vocabulary.keys.iter().position(|known| known.as_ref() == key).unwrap_or_default();
        Some(path.template.term(TermNode::Row(table, key, terms)))
    }

    /// What was looked up is anything, and something else in every table, where keys are not taken for functions.
    fn independent(&self, term: TermId, table: usize, path: &mut OpenPath) -> TermId {
        match path.template.terms[term] {
            TermNode::Lookup(..) if !self.options.functional => {
                path.template.term(TermNode::Free(1_000_000 + term * 1_000 + table))
            }
            _ => term,
        }
    }
}

impl OpenPath {
    fn free(&mut self) -> TermId {
        self.fresh += 1;
        self.template.term(TermNode::Free(self.fresh))
    }

    fn set_to_any(&mut self, slot: usize) {
        let term = self.free();
        self.variables.insert(slot, term);
    }

    fn with(mut self, operation: RowOperation) -> OpenPath {
        if let Some(chunk) = self.template.chunks.last_mut() {
            chunk.operations.push(operation);
        }
        self
    }

    /// The last change touched a row, or none, or that is not known.
    fn touching(mut self, count: Option<bool>) -> OpenPath {
        match count {
            Some(count) => self.counts.insert(0, count),
            None => self.counts.remove(&0),
        };
        self
    }

    /// What is known of the count after a statement that went one of its ways: ON CONFLICT DO NOTHING has touched nothing. Of several rows, and where
    /// rows of another table decide, nothing is known.
    fn counted(&mut self, step: &TransactionStep, way: &[RowEffect]) {
        if matches!(step.action, FlowAction::Branch(_)) {
            return;
        }
        let changes = way.iter().filter(|effect| effect.changes_rows() || effect.decides()).count();
        let is_skipped = step.ways.len() == 2 && !way.is_empty() && way.iter().all(RowEffect::is_forgotten);
        if is_skipped {
            self.counts.insert(0, false);
        } else if changes != 1 && !way.is_empty() {
            self.counts.remove(&0);
        }
    }

    /// SET n = ROW_COUNT(), and whatever else goes into variables; a query may tell whether it found something.
    fn count_into(&mut self, step: &TransactionStep, slots: &[usize]) {
        let last = self.counts.get(&0).copied();
        for (slot, output) in slots.iter().zip(&step.outputs) {
            match last.filter(|_| *output == ValueOrigin::Variable(0)) {
                Some(count) => self.counts.insert(*slot, count),
                None => self.counts.remove(slot),
            };
        }
        self.counts.remove(&0);
    }

    /// Whether a condition can be true, and whether it can be something else, by what is known of counts.
    fn tests(&self, step: &TransactionStep) -> (bool, bool) {
        let known = |slots: &[usize], wanted: bool| {
            let said: Vec<bool> = slots.iter().filter_map(|slot| self.counts.get(slot)).map(|one| *one == wanted).collect();
            (said.contains(&false), said.len() == slots.len() && said.iter().all(|one| *one))
        };
        let (zero, not_zero) = (known(&step.tested.zero, false), known(&step.tested.not_zero, true));
        let is_about_counts = !step.tested.zero.is_empty() || !step.tested.not_zero.is_empty();
        let always = is_about_counts && step.tested.exact && zero.1 && not_zero.1;
        (!(zero.0 || not_zero.0), !always)
    }

    /// Goes on elsewhere; backwards only so often.
    fn jump(mut self, from: usize, to: usize) -> Option<OpenPath> {
        if to <= from {
            let rounds = self.rounds.entry(from).or_default();
            *rounds += 1;
            if *rounds > ROUNDS {
                return None;
            }
        }
        self.at = to;
        Some(self)
    }

    /// A statement that locks some rows and only looks at others may wait in between: it looks first, then it locks. A search that locks does both:
    /// a row that did not fit is passed over as it was, and a row that was waited for is looked at once more.
    fn split_reads(&mut self) {
        let Some(chunk) = self.template.chunks.last_mut() else { return };
        let locks = |operation: &RowOperation| operation.writes != 0 || operation.lock != LockStrength::None;
        let searches = |operation: &&RowOperation| operation.row.is_none() && operation.reads != 0;
        let (locking, mut looking): (Vec<RowOperation>, Vec<RowOperation>) =
            std::mem::take(&mut chunk.operations).into_iter().partition(locks);
        let looked = |one: &RowOperation| RowOperation {
            writes: 0,
            lock: LockStrength::None,
            inserts: false,
            inserts_once: false,
            ..one.clone()
        };
        looking.extend(locking.iter().filter(searches).map(looked));
        if looking.is_empty() || locking.is_empty() {
            chunk.operations = if looking.is_empty() { locking } else { looking };
            return;
        }
        chunk.operations = looking;
        let step = chunk.step;
        self.template.chunks.push(Chunk { step, operations: locking, at_commit: false });
    }

    /// Takes the last statement apart: first it reads, then it writes what it may have written.
    fn split_updates(&mut self) {
        let Some(chunk) = self.template.chunks.last_mut() else { return };
        let is_both = |operation: &RowOperation| operation.writes != 0 && operation.reads & !EXISTS != 0;
        let mut written = Chunk { step: chunk.step, operations: Vec::new(), at_commit: false };
        for operation in chunk.operations.iter_mut().filter(|operation| is_both(operation)) {
            written.operations.push(RowOperation { reads: 0, ..operation.clone() });
            operation.writes = 0;
        }
        if !written.operations.is_empty() {
            self.template.chunks.push(written);
        }
    }
}
