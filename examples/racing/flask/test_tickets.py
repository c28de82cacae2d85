"""Two people buy the last ticket. Neither request waits for the other one's answer, so they can race."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tickets import app, pool


@pytest.fixture
def last_ticket():
    with pool.connection() as connection:
        connection.execute("DROP TABLE IF EXISTS stock, sale")
        connection.execute("CREATE TABLE stock (show TEXT PRIMARY KEY, tickets INT NOT NULL)")
        connection.execute("CREATE TABLE sale (id SERIAL PRIMARY KEY, show TEXT NOT NULL)")
        connection.execute("INSERT INTO stock VALUES ('matinee', 1)")
    yield
    pool.close()


def buy(_):
    return app.test_client().post("/buy").status_code


def test_the_last_ticket_is_sold_once(last_ticket):
    with ThreadPoolExecutor(max_workers=2) as people:
        answers = list(people.map(buy, range(2)))
    assert sorted(answers) == [200, 409]
