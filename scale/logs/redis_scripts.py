"""What the server of a `RedisLog` is asked: scripts in Lua, each atomic, of the two keys of one stream.

    {prefix}:{STREAM}          a hash: fence, origin, last, closed, touched
    {prefix}:{STREAM}:items    a Redis Stream with the ids 1-0, 2-0, ..., each with the one field d
    {prefix}:open              a sorted set of the streams that may be open, by when they were claimed

The braces around the name keep the keys of a stream on one server of a Redis Cluster. Times are microseconds of the
server. A fence is the time of its claim, if that is above the one before: so no fence of a stream that was forgotten
comes again.
"""

from __future__ import annotations

from hashlib import sha1
from typing import Final, NamedTuple


class Script(NamedTuple):
    """A script, and the digest by which the server knows it."""

    text: str
    digest: str


_TIME: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function whole(number) return string.format('%.0f', number) end
"""


def _script(text: str) -> Script:
    text = f"{_TIME}{text}"
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


CLAIM: Final = _script("""
local before = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
local fence = whole(math.max(now, before + 1))
if before == 0 then redis.call('HSET', KEYS[1], 'origin', fence, 'last', '0') end
redis.call('HSET', KEYS[1], 'fence', fence, 'touched', whole(now))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
redis.call('PUBLISH', KEYS[1], '')
local found = redis.call('HMGET', KEYS[1], 'last', 'closed')
return {fence, found[1], found[2] or '0', redis.call('XLEN', KEYS[2])}
""")
"""ARGV: milliseconds to keep the stream."""

APPEND: Final = _script("""
local found = redis.call('HMGET', KEYS[1], 'fence', 'last', 'closed')
if found[1] ~= ARGV[1] then return {0, 0, 0} end
local last = tonumber(found[2])
local after, count = tonumber(ARGV[2]), #ARGV - 4
if count > 0 and last == after and not found[3] then
    for at = 1, count do
        redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[3], whole(last + at) .. '-0', 'd', ARGV[4 + at])
    end
    redis.call('HSET', KEYS[1], 'last', whole(last + count), 'touched', whole(now))
    redis.call('PUBLISH', KEYS[1], '')
elseif last == after + count then
    redis.call('HSET', KEYS[1], 'touched', whole(now))
else
    return {1, last, found[3] and 1 or 0}
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return {1, last, found[3] and 1 or 0}
""")
"""ARGV: the fence, the number behind which, items to keep, milliseconds to keep, items. Returns what was before."""

CLOSE: Final = _script("""
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'closed', '1', 'touched', whole(now))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('PUBLISH', KEYS[1], '')
return 1
""")
"""ARGV: the fence, milliseconds to keep the stream."""

EXPIRE: Final = _script("""
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('PUBLISH', KEYS[1], '')
""")

LOOK: Final = _script("""
local found = redis.call('HMGET', KEYS[1], 'origin', 'fence', 'last', 'closed', 'touched')
if not found[1] then return nil end
local number, left, size, items = tonumber(ARGV[1]) + 1, tonumber(ARGV[2]), 0, {}
while left > 0 and size < tonumber(ARGV[3]) do
    local some = redis.call('XRANGE', KEYS[2], whole(number) .. '-0', '+', 'COUNT', whole(math.min(left, 16)))
    if #some == 0 then break end
    for _, item in ipairs(some) do
        items[#items + 1] = item
        size = size + #item[2][2]
    end
    number = tonumber(string.match(some[#some][1], '%d+')) + 1
    left = left - #some
end
local idle = whole(math.max(0, now - tonumber(found[5])))
return {found[1], found[2], found[3], found[4] and 1 or 0, idle, redis.call('XLEN', KEYS[2]), items}
""")
"""ARGV: the number behind which, items at most, bytes at about which to stop."""

OPENED: Final = _script("""
redis.call('ZADD', KEYS[1], whole(now), ARGV[1])
return redis.call('ZRANDMEMBER', KEYS[1], 2)
""")
"""Notes a stream that is about to be claimed. Returns two of those that are noted, for somebody to look after them."""

NOT_OPEN: Final = _script("""
for at = 1, #ARGV do
    local noted = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[at]) or whole(now))
    if now - noted > 60000000 then redis.call('ZREM', KEYS[1], ARGV[at]) end
end
""")
"""Removes streams that were found to be closed or gone, but not those that are just being claimed."""
