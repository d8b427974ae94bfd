-- Text: building, formatting, patterns, sorting, packing, and an error that is caught (setjmp in the loaded library).

local words = {}
local seed = 42
local function random(limit)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % limit
end

local syllables = { "ka", "lo", "mi", "ren", "su", "to", "vel", "an", "dri", "os" }
for i = 1, 20000 do
    local parts = {}
    for j = 1, 2 + random(3) do
        parts[j] = syllables[1 + random(#syllables)]
    end
    words[i] = table.concat(parts)
end
local text = table.concat(words, " ")
print("length", #text)

local counts = {}
for word in text:gmatch("%a+") do
    counts[word] = (counts[word] or 0) + 1
end
local names = {}
for word in pairs(counts) do
    names[#names + 1] = word
end
table.sort(names, function(a, b)
    if counts[a] ~= counts[b] then
        return counts[a] > counts[b]
    end
    return a < b
end)
for i = 1, 10 do
    print(string.format("%3d %-12s %q", counts[names[i]], names[i], names[i]:upper():reverse()))
end

local replaced, times = text:gsub("(%a)(%a*)os", "%2-%1")
print("replaced", times, #replaced, replaced:sub(1, 60))
print("found", text:find("renka", 1, true), text:find("v%a-l%s"))

local packed = string.pack("<i4 d s2 z", -7, 0.1, "tenon", "joint")
print("packed", #packed, string.unpack("<i4 d s2 z", packed))
print("utf8", utf8.len("Zapfen und Nut: ¼ ☃"), utf8.char(0x2603, 0x1d11e))
print("number", tostring(1e15), tostring(2^53), tostring(-0.0), 7 // 2, 7.5 % -2, math.maxinteger)

local fine, message = pcall(function()
    error({ code = "caught" })
end)
print("error", fine, message.code, select(2, pcall(error, "text", 0)))
print("nested", pcall(string.rep, "x", -1), pcall(string.rep))

local hash = 5381
for i = 1, #replaced do
    hash = (hash * 33 ~ replaced:byte(i)) & 0xffffffff
end
print(string.format("hash %08x", hash))
