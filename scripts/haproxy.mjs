// @ts-check
/** What every HAProxy of ours is told, whatever stands behind it. */

export const HAPROXY_DEFAULTS = `
global
  maxconn 2000
defaults
  mode http
  timeout connect 2s
  timeout check 2s
  timeout client 60s
  timeout server 60s
  option redispatch
  retries 3`;

/** `/ready` decides. */
export const HAPROXY_REPLICAS = `
backend replicas
  balance roundrobin
  option httpchk GET /ready
  http-check expect status 200`;
