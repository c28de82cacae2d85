// Two people want one name. Both requests are on their way before the first answer is there.
'use strict';
const assert = require('node:assert');
const { after, before, test } = require('node:test');
const { app, pool, createTable } = require('./app.js');

let server;
before(async () => {
  await createTable();
  server = await new Promise((ready) => { const it = app.listen(0, '127.0.0.1', () => ready(it)); });
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await pool.end();
});

test('a name belongs to one person', async () => {
  const signUp = () => fetch(`http://127.0.0.1:${server.address().port}/members/ann`, { method: 'POST' });
  const answers = await Promise.all([signUp(), signUp()]);
  assert.deepStrictEqual(answers.map((answer) => answer.status).sort(), [201, 409]);
});
