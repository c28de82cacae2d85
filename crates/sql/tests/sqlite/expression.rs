//! Random expressions of a known type.

use crate::generator::Generator;
use crate::schema::Kind;

impl Generator<'_> {
    /// An expression of a kind, at most so deep.
    pub(crate) fn expression(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 || self.random.chance(25) {
            return self.leaf(kind);
        }
        let depth = depth - 1;
        match (kind, self.random.below(10)) {
            (_, 0) => format!("COALESCE({}, {})", self.expression(kind, depth), self.expression(kind, depth)),
            (_, 1) => format!("NULLIF({}, {})", self.expression(kind, depth), self.expression(kind, depth)),
            (_, 2) => self.case(kind, depth),
            (_, 3) if self.subqueries > 0 => self.scalar_subquery(kind, depth),
            (Kind::Integer, 4) => format!("LENGTH({})", self.expression(Kind::Text, depth)),
            (Kind::Integer, 5) => format!("ABS({})", self.expression(Kind::Integer, depth)),
            (Kind::Integer, 6) => format!("({} / {})", self.expression(kind, depth), self.random.between(1, 5)),
            (Kind::Integer, 7) => format!("({} % {})", self.expression(kind, depth), self.random.between(-5, -1)),
            (Kind::Integer, 8) => format!("(- {})", self.expression(kind, depth)),
            (Kind::Integer, _) => self.arithmetic(kind, kind, depth),
            (Kind::Real, 4) => self.arithmetic(Kind::Integer, kind, depth),
            (Kind::Real, 5) => format!("({} / 4.0E0)", self.expression(kind, depth)),
            (Kind::Real, _) => self.arithmetic(kind, kind, depth),
            (Kind::Text, 4 | 5) => format!("({} || {})", self.expression(kind, depth), self.expression(kind, depth)),
            (Kind::Text, 6) => format!("UPPER({})", self.expression(kind, depth)),
            (Kind::Text, 7) => {
                let (start, length) = (self.random.between(1, 4), self.random.between(0, 3));
                format!("SUBSTR({}, {start}, {length})", self.expression(kind, depth))
            }
            (Kind::Text, 8) => format!("REPLACE({}, 'a', 'bb')", self.expression(kind, depth)),
            (Kind::Text, _) => format!("TRIM({})", self.expression(kind, depth)),
        }
    }

    fn arithmetic(&mut self, left: Kind, right: Kind, depth: usize) -> String {
        let operator = self.random.pick(&["+", "-", "*"]);
        format!("({} {operator} {})", self.expression(left, depth), self.expression(right, depth))
    }

    fn case(&mut self, kind: Kind, depth: usize) -> String {
        let (condition, then) = (self.condition(depth), self.expression(kind, depth));
        let otherwise =
            if self.random.chance(70) { format!("ELSE {} ", self.expression(kind, depth)) } else { String::new() };
        format!("CASE WHEN {condition} THEN {then} {otherwise}END")
    }

    fn leaf(&mut self, kind: Kind) -> String {
        let columns: Vec<String> =
            self.scope.iter().filter(|column| column.kind == kind).map(|column| column.name.clone()).collect();
        if !columns.is_empty() && self.random.chance(70) {
            return self.random.pick(&columns);
        }
        self.literal(kind)
    }

    /// A constant.
    pub(crate) fn literal(&mut self, kind: Kind) -> String {
        match kind {
            _ if self.random.chance(5) => {
                let name = match kind {
                    Kind::Integer => "INTEGER",
                    Kind::Real => "DOUBLE PRECISION",
                    Kind::Text => "TEXT",
                };
                format!("CAST(NULL AS {name})")
            }
            Kind::Integer => self.random.between(-9, 20).to_string(),
            // Quarters are exact in binary, and their sums and products too.
            Kind::Real => format!("{}E0", self.random.between(-16, 40) as f64 / 4.0).replace("-", "- "),
            Kind::Text => format!("'{}'", self.random.pick(&["", "a", "ab", "B", "b a", "c'' d", " x ", "語", "zz"])),
        }
    }

    /// A condition.
    pub(crate) fn condition(&mut self, depth: usize) -> String {
        let deeper = depth.saturating_sub(1);
        match self.random.below(if depth == 0 { 5 } else { 10 }) {
            0 => {
                let kind = self.any_kind();
                let not = self.random.pick(&["", "NOT "]);
                format!("{} IS {not}NULL", self.expression(kind, deeper))
            }
            1 => self.membership(deeper),
            2 => {
                let kind = self.any_kind();
                let (value, low, high) = (self.expression(kind, deeper), self.leaf(kind), self.leaf(kind));
                format!("{value} {}BETWEEN {low} AND {high}", self.random.pick(&["", "NOT "]))
            }
            3 => format!(
                "{} LIKE '{}'",
                self.expression(Kind::Text, deeper),
                self.random.pick(&["a%", "%b%", "_", "b_a", "%"])
            ),
            4 | 5 => self.comparison(deeper),
            6 => format!("NOT ({})", self.condition(deeper)),
            7 if self.subqueries > 0 => self.exists(deeper),
            _ => {
                format!("({} {} {})", self.condition(deeper), self.random.pick(&["AND", "OR"]), self.condition(deeper))
            }
        }
    }

    fn comparison(&mut self, depth: usize) -> String {
        let kind = self.any_kind();
        let operator =
            self.random.pick(&["=", "=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
        format!("{} {operator} {}", self.expression(kind, depth), self.expression(kind, depth))
    }

    fn membership(&mut self, depth: usize) -> String {
        let kind = self.any_kind();
        let not = self.random.pick(&["", "NOT "]);
        let value = self.expression(kind, depth);
        if self.subqueries > 0 && self.random.chance(40) {
            return format!("{value} {not}IN ({})", self.column_subquery(kind, depth));
        }
        let list: Vec<String> = (0..1 + self.random.below(4)).map(|_| self.literal(kind)).collect();
        format!("{value} {not}IN ({})", list.join(", "))
    }

    pub(crate) fn any_kind(&mut self) -> Kind {
        self.random.pick(&[Kind::Integer, Kind::Integer, Kind::Text, Kind::Real])
    }
}
