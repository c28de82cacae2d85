// People sign up with Express and a pool of connections. A name belongs to one of them.
'use strict';
const express = require('express');
const { Pool } = require('pg');

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
// With FIXED=1 the database holds that names are unique, whatever the application has seen.
const UNIQUE = process.env.FIXED === '1' ? ' UNIQUE' : '';

async function createTable() {
  await pool.query('DROP TABLE IF EXISTS member');
  await pool.query(`CREATE TABLE member (id SERIAL PRIMARY KEY, name TEXT NOT NULL${UNIQUE})`);
}

const app = express();
app.post('/members/:name', async (request, response) => {
  const { name } = request.params;
  const { rows } = await pool.query('SELECT id FROM member WHERE name = $1', [name]);
  if (rows.length > 0) return response.status(409).send('taken');
  try {
    await pool.query('INSERT INTO member (name) VALUES ($1)', [name]);
    response.status(201).send('welcome');
  } catch (error) {
    if (error.code !== '23505') throw error;
    response.status(409).send('taken');
  }
});

module.exports = { app, pool, createTable };
