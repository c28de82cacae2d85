"""Wallets with SQLAlchemy and its default pool of connections. A wallet never goes below zero."""

import os

from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

engine = create_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"))
FIXED = os.environ.get("FIXED") == "1"


class Base(DeclarativeBase):
    pass


class Wallet(Base):
    __tablename__ = "wallet"
    id: Mapped[int] = mapped_column(primary_key=True)
    cents: Mapped[int]


class Payment(Base):
    __tablename__ = "payment"
    id: Mapped[int] = mapped_column(primary_key=True)
    wallet_id: Mapped[int]
    cents: Mapped[int]


def pay(wallet_id, cents):
    """Takes money out of a wallet, if there is enough. With FIXED=1 the wallet is locked while it is looked at."""
    with Session(engine) as session, session.begin():
        query = select(Wallet).where(Wallet.id == wallet_id)
        wallet = session.scalars(query.with_for_update() if FIXED else query).one()
        if wallet.cents < cents:
            return False
        wallet.cents -= cents
        session.add(Payment(wallet_id=wallet_id, cents=cents))
        return True


def spent(wallet_id):
    """What was paid from a wallet, and what is left in it."""
    with Session(engine) as session:
        paid = session.scalars(select(Payment.cents).where(Payment.wallet_id == wallet_id)).all()
        return sum(paid), session.get(Wallet, wallet_id).cents
