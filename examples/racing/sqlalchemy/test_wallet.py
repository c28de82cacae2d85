"""Two payments from one wallet at the same time."""

import threading

import pytest
from sqlalchemy.orm import Session
from wallet import Base, Wallet, engine, pay, spent


@pytest.fixture
def wallet():
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add(Wallet(id=1, cents=100))
    return 1


def test_no_payment_is_forgotten(wallet):
    threads = [threading.Thread(target=pay, args=(wallet, 40)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spent(wallet) == (80, 20)
