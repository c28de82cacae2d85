"""Ordinary tests of the bank, one after the other on one connection: they pass on every database, however weak."""

import os
from decimal import Decimal

import pytest
from bank import Account, Base, Customer, TooLittle, Transfer, open_account, transfer, wealth
from sqlalchemy import create_engine, func, inspect, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session


@pytest.fixture(scope="session")
def engine():
    engine = create_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"), pool_size=1, max_overflow=0)
    yield engine
    engine.dispose()


@pytest.fixture
def session(engine):
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        yield session
        session.rollback()
    Base.metadata.drop_all(engine)


@pytest.fixture
def accounts(session):
    return [open_account(session, name, Decimal(balance)).id for name, balance in [("Ann", 100), ("Bob", 20), ("Ann", 5)]]


def test_money_moves(session, accounts):
    transfer(session, accounts[0], accounts[1], Decimal("30.25"))
    assert wealth(session) == [("Ann", Decimal("74.75")), ("Bob", Decimal("50.25"))]
    assert session.scalar(select(Transfer.made)).tzinfo is not None


def test_money_that_is_not_there_does_not_move(session, accounts):
    with pytest.raises(TooLittle):
        transfer(session, accounts[1], accounts[0], Decimal(21))
    assert session.get(Account, accounts[1]).balance == 20
    assert session.scalar(select(func.count()).select_from(Transfer)) == 0


def test_many_transfers_add_up(session, accounts):
    for turn in range(20):
        transfer(session, accounts[turn % 2], accounts[(turn + 1) % 3], Decimal("0.50"))
    assert sum(money for _, money in wealth(session)) == 125
    assert session.scalar(select(func.sum(Transfer.amount))) == 10


def test_debts_are_refused(session, accounts):
    session.get(Account, accounts[2]).balance = Decimal(-1)
    with pytest.raises(IntegrityError, match="no_debts"):
        session.commit()
    session.rollback()
    assert session.get(Account, accounts[2]).balance == 5


def test_a_customer_has_one_name(session, accounts):
    session.add(Customer(name="Ann"))
    with pytest.raises(IntegrityError):
        session.commit()
    session.rollback()
    assert session.scalars(select(Customer.name).order_by(Customer.name)).all() == ["Ann", "Bob"]


def test_a_customer_leaves_with_all_accounts(session, accounts):
    session.delete(session.scalars(select(Customer).where(Customer.name == "Ann")).one())
    session.commit()
    assert session.scalars(select(Account.id)).all() == [accounts[1]]


def test_a_savepoint_takes_back_a_part(session, accounts):
    session.execute(text("UPDATE account SET balance = balance + 1"))
    with session.begin_nested() as part:
        session.execute(text("DELETE FROM account"))
        part.rollback()
    session.commit()
    assert wealth(session) == [("Ann", Decimal(107)), ("Bob", Decimal(21))]


def test_the_tables_are_what_they_should_be(engine, session):
    assert sorted(inspect(engine).get_table_names()) == ["account", "customer", "transfer"]
    assert [check["name"] for check in inspect(engine).get_check_constraints("account")] == ["no_debts"]
