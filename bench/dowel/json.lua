-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
local byte, sub = string.byte, string.sub
local text, at
local function skip()
    while at <= #text and byte(text, at) <= 32 do at = at + 1 end
end
local function read_string()
    local start = at + 1
    at = start
    while byte(text, at) ~= 34 do at = at + 1 end
    at = at + 1
    return sub(text, start, at - 2)
end
local function digit()
    local b = byte(text, at)
    return b and b >= 48 and b <= 57 and b - 48
end
local function read_number()
    local whole, scale = 0.0, 1.0
    local d = digit()
    while d do
        whole = whole * 10.0 + d
        at = at + 1
        d = digit()
    end
    if byte(text, at) == 46 then
        at = at + 1
        d = digit()
        while d do
            scale = scale / 10.0
            whole = whole + d * scale
            at = at + 1
            d = digit()
        end
    end
    return whole
end
local read_value
local function read_members(stop)
    local first, last
    at = at + 1
    skip()
    while byte(text, at) ~= stop do
        local name
        if stop == 125 then
            name = read_string()
            skip()
            at = at + 1
        end
        local v = read_value()
        if name then v = {kind = 5, number = 0.0, text = name, first = v} end
        if last then last.next = v else first = v end
        last = v
        skip()
        if byte(text, at) == 44 then at = at + 1 end
        skip()
    end
    at = at + 1
    return first
end
function read_value()
    skip()
    local letter = byte(text, at)
    if letter == 123 then return {kind = 3, number = 0.0, text = "", first = read_members(125)} end
    if letter == 91 then return {kind = 4, number = 0.0, text = "", first = read_members(93)} end
    if letter == 34 then return {kind = 2, number = 0.0, text = read_string()} end
    if letter == 116 then
        at = at + 4
        return {kind = 0, number = 1.0, text = ""}
    end
    return {kind = 1, number = read_number(), text = ""}
end
local function sum(v)
    local all, part = v.number, v.first
    while part do
        all = all + sum(part)
        part = part.next
    end
    return all + #v.text
end
local parts = {}
for i = 0, 1999 do
    parts[#parts + 1] = '{"id": ' .. i .. ', "name": "n' .. i * 7 .. '", "tags": [1, 2.5, 3], "ok": true}'
end
text = "[" .. table.concat(parts, ", ") .. "]"
local all = 0.0
for _ = 1, 20 do
    at = 1
    all = all + sum(read_value())
end
print(string.format("%d", all))
