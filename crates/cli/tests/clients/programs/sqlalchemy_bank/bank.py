"""A small bank on SQLAlchemy: accounts, transfers, statements."""

import datetime as dt
from decimal import Decimal

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Numeric, String, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80), unique=True)
    accounts: Mapped[list["Account"]] = relationship(back_populates="owner", cascade="all, delete-orphan")


class Account(Base):
    __tablename__ = "account"
    __table_args__ = (CheckConstraint("balance >= 0", name="no_debts"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("customer.id", ondelete="CASCADE"))
    balance: Mapped[Decimal] = mapped_column(Numeric(12, 2), default=Decimal(0))
    owner: Mapped[Customer] = relationship(back_populates="accounts")


class Transfer(Base):
    __tablename__ = "transfer"
    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    target_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    amount: Mapped[Decimal] = mapped_column(Numeric(12, 2))
    made: Mapped[dt.datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


class TooLittle(Exception):
    pass


def open_account(session: Session, name: str, balance: Decimal) -> Account:
    customer = session.scalars(select(Customer).where(Customer.name == name)).one_or_none() or Customer(name=name)
    account = Account(owner=customer, balance=balance)
    session.add(account)
    session.commit()
    return account


def transfer(session: Session, source_id: int, target_id: int, amount: Decimal) -> None:
    ids = sorted([source_id, target_id])
    accounts = {account.id: account for account in session.scalars(select(Account).where(Account.id.in_(ids)).order_by(Account.id).with_for_update())}
    if accounts[source_id].balance < amount:
        session.rollback()
        raise TooLittle
    accounts[source_id].balance -= amount
    accounts[target_id].balance += amount
    session.add(Transfer(source_id=source_id, target_id=target_id, amount=amount))
    session.commit()


def wealth(session: Session) -> list[tuple[str, Decimal]]:
    query = select(Customer.name, func.sum(Account.balance)).join(Account).group_by(Customer.name).order_by(Customer.name)
    return [tuple(row) for row in session.execute(query)]
