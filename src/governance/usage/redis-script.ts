/**
 * The one step: all counters are looked at before one of them is written. A counter is a hash with the start of its window,
 * and either `used` or one field per subject; it expires with its window. Answers 0, or which charge had no room. The same
 * rules as `exhausted` in core/ceiling.ts, also in that a clock which goes back keeps the window open.
 *
 * KEYS: the counters. ARGV: the instant, then for each counter its kind, limit, window and subject (empty = none).
 */
export const COUNT_SCRIPT = `
local at = tonumber(ARGV[1])
local open = {}
for i, key in ipairs(KEYS) do
  local kind, limit, window, subject = ARGV[4 * i - 2], tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i]), ARGV[4 * i + 1]
  local start = tonumber(redis.call('HGET', key, 'start') or '')
  open[i] = start ~= nil and not (at - start >= window)
  local room = limit > 0
  if open[i] and not (kind == 'subjects' and subject ~= '' and redis.call('HEXISTS', key, 's:' .. subject) == 1) then
    local used = kind == 'subjects' and redis.call('HLEN', key) - 1 or tonumber(redis.call('HGET', key, 'used') or '0')
    room = used < limit
  end
  if not room then return i end
end
for i, key in ipairs(KEYS) do
  local kind, window, subject = ARGV[4 * i - 2], tonumber(ARGV[4 * i]), ARGV[4 * i + 1]
  if not open[i] then
    redis.call('DEL', key)
    redis.call('HSET', key, 'start', ARGV[1])
    redis.call('PEXPIRE', key, string.format('%.0f', math.max(1, window)))
  end
  if kind == 'calls' then
    redis.call('HINCRBY', key, 'used', 1)
  elseif subject ~= '' then
    redis.call('HSET', key, 's:' .. subject, '1')
  end
end
return 0
`;
