"""SQLAlchemy, on psycopg 3 and on psycopg2: create_all, the ORM with relationships, rollback, reflection, Core upserts."""

import datetime as dt
import os
import sys
from decimal import Decimal

from sqlalchemy import (JSON, Boolean, Column, Date, DateTime, ForeignKey, Integer, LargeBinary, MetaData, Numeric, String, Table, Text,
                        UniqueConstraint, create_engine, delete, func, insert, inspect, select, text, update)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload


class Base(DeclarativeBase):
    pass


membership = Table(
    "membership", Base.metadata,
    Column("author_id", ForeignKey("author.id", ondelete="CASCADE"), primary_key=True),
    Column("club_id", ForeignKey("club.id", ondelete="CASCADE"), primary_key=True),
)


class Author(Base):
    __tablename__ = "author"
    __table_args__ = (UniqueConstraint("name", "born", name="author_once"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60), index=True)
    born: Mapped[dt.date | None] = mapped_column(Date)
    joined: Mapped[dt.datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    notes: Mapped[dict | None] = mapped_column(JSON)
    works: Mapped[list["Work"]] = relationship(back_populates="author", cascade="all, delete-orphan", order_by="Work.title")
    clubs: Mapped[list["Club"]] = relationship(secondary=membership, back_populates="members")


class Work(Base):
    __tablename__ = "work"
    id: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    title: Mapped[str] = mapped_column(Text)
    price: Mapped[Decimal | None] = mapped_column(Numeric(8, 2))
    cover: Mapped[bytes | None] = mapped_column(LargeBinary)
    printed: Mapped[bool] = mapped_column(Boolean, default=True)
    author: Mapped[Author] = relationship(back_populates="works")


class Club(Base):
    __tablename__ = "club"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30), unique=True)
    members: Mapped[list[Author]] = relationship(secondary=membership, back_populates="clubs")


def objects(engine):
    with Session(engine) as session:
        club = Club(name="Ålesund läser")
        ibsen = Author(name="Henrik Ibsen", born=dt.date(1828, 3, 20), notes={"plays": [1, None, "två"]}, clubs=[club])
        ibsen.works = [Work(title="Vildanden", price=Decimal("12.50"), cover=b"\x00\xff"), Work(title="Brand", price=None, printed=False)]
        session.add_all([ibsen, Author(name="Nobody"), Author(name="Sigrid Undset", born=dt.date(1882, 5, 20), clubs=[club])])
        session.commit()
        assert ibsen.id and ibsen.joined.tzinfo is not None
    with Session(engine) as session:
        found = session.scalars(select(Author).options(selectinload(Author.works)).where(Author.name.like("Henrik%"))).one()
        assert [(work.title, work.price, work.cover, work.printed) for work in found.works] == \
            [("Brand", None, None, False), ("Vildanden", Decimal("12.50"), b"\x00\xff", True)]
        assert found.notes == {"plays": [1, None, "två"]} and found.clubs[0].name == "Ålesund läser"
        assert len(found.clubs[0].members) == 2
        found.works.pop(0)
        found.works[0].price += Decimal("0.25")
        session.commit()
        assert session.scalar(select(func.count()).select_from(Work)) == 1
        assert session.scalar(select(Work.price)) == Decimal("12.75")


def rollbacks(engine):
    with Session(engine) as session:
        session.add(Author(name="Henrik Ibsen", born=dt.date(1828, 3, 20)))
        try:
            session.commit()
            raise AssertionError("the same author twice")
        except IntegrityError as error:
            assert "author_once" in str(error)
            session.rollback()
        session.execute(delete(membership))
        session.rollback()
        with session.begin_nested() as savepoint:
            session.execute(update(Author).values(name="gone"))
            savepoint.rollback()
        assert session.scalar(select(func.count()).select_from(Author).where(Author.name == "gone")) == 0
        assert session.scalar(select(func.count()).select_from(membership)) == 2
        session.commit()


def queries(engine):
    with Session(engine) as session:
        rows = session.execute(select(Author.name, func.count(Work.id)).outerjoin(Work).group_by(Author.name).order_by(Author.name)).all()
        assert [tuple(row) for row in rows] == [("Henrik Ibsen", 1), ("Nobody", 0), ("Sigrid Undset", 0)], rows
        newest = select(func.max(Author.born)).scalar_subquery()
        assert session.scalar(select(Author.name).where(Author.born == newest)) == "Sigrid Undset"
        locked = session.scalars(select(Author).where(Author.name == "Nobody").with_for_update()).one()
        session.delete(locked)
        session.commit()
        assert session.scalars(select(Author.name).order_by(Author.name.desc()).limit(1).offset(1)).one() == "Henrik Ibsen"
        numbered = select(Author.name, func.row_number().over(order_by=Author.name).label("place")).subquery()
        assert session.execute(select(numbered.c.place).where(numbered.c.name == "Sigrid Undset")).scalar_one() == 2


def core(engine):
    metadata = MetaData()
    stock = Table("stock", metadata, Column("sku", String(10), primary_key=True), Column("amount", Integer, nullable=False),
                  Column("tags", postgresql.ARRAY(Text)), Column("more", postgresql.JSONB))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(stock), [{"sku": f"s{number}", "amount": number, "tags": ["a", "b"], "more": {"n": number}} for number in range(50)])
        upsert = postgresql.insert(stock).values(sku="s1", amount=5)
        upsert = upsert.on_conflict_do_update(index_elements=["sku"], set_={"amount": stock.c.amount + upsert.excluded.amount})
        connection.execute(upsert)
        changed = connection.execute(update(stock).where(stock.c.amount < 5).values(amount=0).returning(stock.c.sku))
        assert sorted(changed.scalars()) == ["s0", "s2", "s3", "s4"]
        assert connection.execute(select(stock.c.tags, stock.c.more["n"].as_integer()).where(stock.c.sku == "s1")).one() == (["a", "b"], 1)
    with engine.connect() as connection:
        assert connection.execute(select(func.sum(stock.c.amount))).scalar_one() == sum(range(5, 50)) + 6
        assert connection.execute(text("SELECT :a || :b"), {"a": "x", "b": "y"}).scalar_one() == "xy"
    metadata.drop_all(engine)


def reflection(engine):
    inspector = inspect(engine)
    assert set(inspector.get_table_names()) == {"author", "work", "club", "membership"}, inspector.get_table_names()
    columns = {column["name"]: column for column in inspector.get_columns("work")}
    assert not columns["title"]["nullable"] and columns["price"]["nullable"]
    assert (columns["price"]["type"].precision, columns["price"]["type"].scale) == (8, 2)
    assert inspector.get_pk_constraint("work")["constrained_columns"] == ["id"]
    key = inspector.get_foreign_keys("work")[0]
    assert (key["constrained_columns"], key["referred_table"], key["referred_columns"]) == (["author_id"], "author", ["id"]), key
    assert [unique["name"] for unique in inspector.get_unique_constraints("author")] == ["author_once"]
    assert "ix_author_name" in [index["name"] for index in inspector.get_indexes("author")]
    reflected = MetaData()
    reflected.reflect(engine)
    assert set(reflected.tables) == {"author", "work", "club", "membership"}
    assert isinstance(reflected.tables["author"].c.name.type, String) and reflected.tables["author"].c.name.type.length == 60
    assert isinstance(reflected.tables["author"].c.joined.type, DateTime) and reflected.tables["author"].c.joined.type.timezone
    with engine.connect() as connection:
        assert connection.execute(select(reflected.tables["club"].c.name)).scalars().all() == ["Ålesund läser"]


def main():
    drivers = sys.argv[1:] or ["psycopg", "psycopg2"]
    for driver in drivers:
        url = os.environ["DATABASE_URL"].replace("postgresql://", f"postgresql+{driver}://")
        engine = create_engine(url, pool_size=1, max_overflow=0)
        Base.metadata.create_all(engine)
        objects(engine)
        rollbacks(engine)
        queries(engine)
        core(engine)
        reflection(engine)
        Base.metadata.drop_all(engine)
        assert inspect(engine).get_table_names() == []
        engine.dispose()
    print("ok SQLAlchemy")


if __name__ == "__main__":
    main()
