//! Functions and procedures as PostgreSQL has them: PL/pgSQL and SQL between dollars, as the tree that SQL/PSM has, too.
//!
//! ```text
//!   CREATE FUNCTION withdraw(acct int, amount int DEFAULT 10) RETURNS int LANGUAGE plpgsql AS $$
//!   DECLARE bal account.balance%TYPE;                          `header`: the name, parameters, what is returned, where the body is
//!   BEGIN
//!     SELECT balance INTO STRICT bal FROM account …;           `body`: blocks, branches, loops
//!     IF bal < amount THEN RETURN 0; END IF;                   `statement`: what a line does
//!     …
//!   END $$;
//! ```
//!
//! A function is a transaction like a procedure. What it returns is an OUT parameter behind the others, called `result`, that a call may leave out; what
//! RETURN QUERY returns are rows that go to the caller. What the tree cannot say (a handler that goes on after an error, dynamic SQL, cursors) is
//! refused by name and place, as not supported.
//!
//! | PL/pgSQL | in the tree |
//! |---|---|
//! | `EXIT`, `CONTINUE` without a label | LEAVE and ITERATE of the loop around, which gets a label that nobody types |
//! | `RETURN x` | SET result = x, and LEAVE of the body |
//! | `PERFORM …` | SELECT … INTO nothing |
//! | `FOUND` | whether the last statement touched or found a row |
//! | `RAISE EXCEPTION`, `ASSERT` | SIGNAL |
//! | a handler that ends in RAISE | nothing: an error aborts the transaction anyway |

mod body;
mod header;
mod statement;

pub(crate) use header::definition;
