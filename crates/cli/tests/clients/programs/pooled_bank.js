// A web application with a pool of connections and a race: two requests at the same time take money out of one account.
//
//   node pooled_bank.js            the race; the pool gives the connection of the set-up to the first request
//   node pooled_bank.js settled    says where the set-up ends
'use strict';
const http = require('node:http');
const { Pool } = require('pg');

const pool = new Pool({ connectionString: process.env.DATABASE_URL });

async function withdraw(amount) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { rows } = await client.query('SELECT balance FROM account WHERE id = 1');
    const paid = rows[0].balance >= amount ? amount : 0;
    if (paid > 0) {
      await client.query('UPDATE account SET balance = $1 WHERE id = 1', [rows[0].balance - paid]);
    }
    await client.query('COMMIT');
    return paid;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    return 0;
  } finally {
    client.release();
  }
}

function post(port) {
  return fetch(`http://127.0.0.1:${port}/withdraw`, { method: 'POST' }).then((answer) => answer.json());
}

async function main() {
  await pool.query('CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)');
  await pool.query('INSERT INTO account VALUES (1, 100)');
  if (process.argv[2] === 'settled') {
    await pool.query('SELECT skew_settle()');
  }
  const server = http.createServer((_request, response) => {
    withdraw(60).then((paid) => response.end(JSON.stringify({ paid })));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const answers = await Promise.all([post(server.address().port), post(server.address().port)]);
  server.closeAllConnections();
  server.close();
  const paid = answers.reduce((sum, answer) => sum + answer.paid, 0);
  const { rows } = await pool.query('SELECT balance FROM account WHERE id = 1');
  await pool.end();
  process.exit(rows[0].balance === 100 - paid ? 0 : 1);
}

main();
