"""A ticket shop on Flask. POST /buy sells one ticket while there are any."""

import os

from flask import Flask
from psycopg_pool import ConnectionPool

# With FIXED=1 whoever reads the stock keeps its row until the sale is committed.
LOCK = " FOR UPDATE" if os.environ.get("FIXED") == "1" else ""

app = Flask(__name__)
pool = ConnectionPool(os.environ["DATABASE_URL"], min_size=2, open=True)


@app.post("/buy")
def buy():
    with pool.connection() as connection:
        left = connection.execute(f"SELECT tickets FROM stock WHERE show = 'matinee'{LOCK}").fetchone()[0]
        if left == 0:
            return "sold out", 409
        connection.execute("UPDATE stock SET tickets = %s WHERE show = 'matinee'", (left - 1,))
        connection.execute("INSERT INTO sale (show) VALUES ('matinee')")
    return "sold", 200
